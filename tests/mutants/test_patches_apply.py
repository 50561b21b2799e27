"""Every planted bug still fits the sources, so that the mutation run can not rot unseen."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


def _load():
    spec = importlib.util.spec_from_file_location("planted", FOLDER / "mutants.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.MUTANTS


MUTANTS = _load()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_patch_applies_once(mutant) -> None:
    assert (ROOT / mutant.file).read_text().count(mutant.find) == 1
    assert mutant.find != mutant.replace
    for test in mutant.tests:
        assert test.startswith("cargo:") or (ROOT / test.split("::")[0]).is_file(), test


def test_there_are_enough_of_them() -> None:
    assert len(MUTANTS) >= 20
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
