"""Every public name has an example, and every example runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import dpsel

PACKAGE = Path(dpsel.__file__).parent
#: All modules with an example.
MODULES = sorted(
    ".".join(("dpsel", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


#: Their examples are whole audits.
LONG = [pytest.mark.long("audits")]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=LONG if "auditing" in name else []) for name in MODULES]
)
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
