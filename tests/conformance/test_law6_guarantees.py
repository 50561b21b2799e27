"""Law 6: every mechanism says what it guarantees, from which source, and where the proof is."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import dpsel
from mechanisms import EVERY, MECHANISMS
from support import report_of, select, table

ROOT = Path(__file__).resolve().parents[2]


def guarantee(case) -> dict:
    report = select(
        table([]),
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        max_items_per_user=case.bound(3),
        mechanism=case.mechanism,
    )
    return report_of(report)["guarantee"]


def test_the_report_states_the_guarantee(case) -> None:
    stated = guarantee(case)
    assert stated.keys() >= {"statement", "neighbours", "source", "proof"}
    assert all(isinstance(text, str) and len(text) > 10 for text in stated.values())
    assert "one user" in stated["neighbours"]


def test_the_proof_is_there(case) -> None:
    page = ROOT / guarantee(case)["proof"].split("#")[0]
    assert page.is_file()
    assert "docs/algorithms" in page.as_posix()
    assert len(page.read_text().split()) > 100


def test_mechanisms_are_frozen_values(case) -> None:
    assert dataclasses.is_dataclass(case.mechanism)
    assert case.mechanism == dataclasses.replace(case.mechanism)
    assert hash(case.mechanism) == hash(dataclasses.replace(case.mechanism))
    for field in dataclasses.fields(case.mechanism):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(case.mechanism, field.name, 1)


def test_every_public_mechanism_goes_through_this_suite() -> None:
    """The registries of Rust and Python list the same mechanisms, and the conformance tests run for each."""
    registry = (ROOT / "rust/core/src/mechanisms/registry.rs").read_text()
    shipped = set(re.findall(r'^    "\w+" => (\w+)(?:<\w+>)?,$', registry, re.MULTILINE))
    assert shipped == {type(case.mechanism).__name__ for case in EVERY}


def test_auto_says_what_it_chose_and_why() -> None:
    release = select(
        table([]), privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=3, mechanism="auto"
    )
    report = report_of(release)
    assert report["request"]["mechanism"]["name"] in {case.name for case in MECHANISMS}
    assert report["chosen"]
