"""Every public name has an example, and every example runs."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

import dpsel

MODULES = [
    "dpsel",
    "dpsel.accounting",
    "dpsel.auditing",
    "dpsel.budget",
    "dpsel.exceptions",
    "dpsel.item_table",
    "dpsel.mechanisms",
    "dpsel.planning",
    "dpsel.release",
    "dpsel.report",
    "dpsel.selection",
    "dpsel.testing._replay",
    "dpsel.testing._strategies",
    "dpsel.typing",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    found = doctest.testmod(importlib.import_module(name), optionflags=flags)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("name", [name for name in dpsel.__all__ if not name.startswith("_")])
def test_every_public_name_has_an_example(name):
    member = getattr(dpsel, name)
    doc = inspect.getdoc(member) or ""
    is_parent = name == "DpselError"
    assert ">>>" in doc or is_parent
