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
    "dpsel.accounting._cost",
    "dpsel.accounting._groups",
    "dpsel.accounting._privacy",
    "dpsel.auditing",
    "dpsel.budget",
    "dpsel.budget._budget",
    "dpsel.budget._ledger",
    "dpsel.comparison",
    "dpsel.comparison._bound",
    "dpsel.comparison._result",
    "dpsel.comparison._run",
    "dpsel.exceptions",
    "dpsel.item_table",
    "dpsel.mechanisms",
    "dpsel.mechanisms._adaptive",
    "dpsel.mechanisms._additive",
    "dpsel.mechanisms._base",
    "dpsel.mechanisms._exponential",
    "dpsel.mechanisms._greedy",
    "dpsel.mechanisms._noisy_counts",
    "dpsel.mechanisms._one_item",
    "dpsel.mechanisms._permute_flip",
    "dpsel.mechanisms._policies",
    "dpsel.mechanisms._rounds",
    "dpsel.mechanisms._unknown_domain",
    "dpsel.planning",
    "dpsel.planning._explain",
    "dpsel.planning._selection",
    "dpsel.planning._top_k",
    "dpsel.release",
    "dpsel.release._card",
    "dpsel.release._check",
    "dpsel.release._contents",
    "dpsel.release._item_set",
    "dpsel.release._report",
    "dpsel.release._selection",
    "dpsel.release._top_k",
    "dpsel.selection",
    "dpsel.testing._replay",
    "dpsel.testing._strategies",
    "dpsel.top_k",
    "dpsel.top_k._counts",
    "dpsel.top_k._rows",
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
