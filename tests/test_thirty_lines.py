"""The page "dpsel in thirty lines" shows code that is tested, and its release is that of the core."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from reference import noise, prf, thirty_lines
from support import KEY

PAGE = Path(__file__).resolve().parents[1] / "docs" / "learn" / "thirty-lines.md"
BLOCKS = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_page_shows_the_file_and_the_functions() -> None:
    core, pieces, _ = BLOCKS
    _, _, below = inspect.getsource(thirty_lines).split('"""', 2)
    assert core == below.lstrip("\n")
    assert pieces == f"{inspect.getsource(prf.noise_word)}\n\n{inspect.getsource(noise.at_least)}"


def test_thirty_lines_are_thirty() -> None:
    assert sum(1 for line in BLOCKS[0].splitlines() if line.strip()) <= 30


def test_the_page_runs() -> None:
    core, _, used = BLOCKS
    exec(compile(core + used, str(PAGE), "exec"), {})  # noqa: S102 - our own example


@pytest.mark.parametrize(
    "mechanism", [dpsel.Sips(), dpsel.Sips(rounds=1), dpsel.WeightedGaussian()], ids=repr
)
@given(
    rows=st.lists(st.tuples(st.integers(0, 30), st.sampled_from("abcdefgh")), max_size=120),
    limit=st.integers(1, 5),
    key=st.binary(min_size=32, max_size=32),
)
def test_the_release_is_that_of_the_core(mechanism, rows, limit, key) -> None:
    release = dpsel.select_partitions(
        rows or [(0, "a")],
        privacy=dpsel.ApproxDP(epsilon=8.0, delta=0.001),
        max_items_per_user=limit,
        mechanism=mechanism,
        insecure_test_key=key,
    )
    rounds = [(each["noise"]["sigma"], each["threshold"]) for each in release.report["calibration"]["rounds"]]
    assert thirty_lines.select(rows or [(0, "a")], rounds, limit, key) == set(release.items)


def test_another_key_makes_another_release() -> None:
    """Otherwise the comparison above would say nothing of noise."""
    rows = [(user, f"item {item}") for user in range(12) for item in range(40)]
    found = [
        thirty_lines.select(rows, [(1.0, 2 * thirty_lines.UNIT)], 40, key) for key in (KEY, bytes([1]) * 32)
    ]
    assert found[0] != found[1]
