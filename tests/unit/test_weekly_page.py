"""The page on fifty-two weeks: what it says of blocks, and that its example is a series that goes on."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import dpsel
from dpsel import _core_calls

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "learn" / "weekly.md").read_text(encoding="utf-8")


def blocks() -> list[int]:
    """The first releases of the blocks of fifty-two weeks."""
    plan = _core_calls.series_plan(
        epsilon=4.0, delta=1e-6, rho=None, releases=52, max_items_per_user=10, waits=True
    )
    found: list[int] = json.loads(plan)["blocks"]
    return found


def test_the_blocks_are_those_of_the_plan() -> None:
    said = re.search(r"when a block begins: with release ([\d,\sor]+) of 52", PAGE)
    assert said
    assert [int(number) for number in re.findall(r"\d+", said[1])] == blocks()
    # Whoever comes with the release after the first of a block waits for the next one.
    longest = max(after - before - 1 for before, after in pairwise(blocks()))
    assert f"{['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven'][longest]} releases" in PAGE


def test_the_docstring_says_the_first_blocks_and_how_long_they_get() -> None:
    said = re.search(r"releases ([\d,\s]+) and so on", dpsel.Series.create.__doc__ or "")
    assert said
    assert [int(number) for number in re.findall(r"\d+", said[1])] == blocks()[:5]
    lengths = [after - before for before, after in pairwise([*blocks(), 53])]
    assert max(lengths) == -(-52 // 7)


def test_the_worked_year_has_the_weeks_that_its_program_prints() -> None:
    """The figures are of one run of minutes; the ways and the weeks are those of the program."""
    from benches import series

    head, _, *rows = (line.strip("| ").split(" | ") for line in re.findall(r"^\|.*\|$", PAGE, re.MULTILINE))
    assert tuple(map(int, head[1:])) == series.SHOWN
    known = [[int(number.replace(",", "")) for number in row[1:]] for row in rows]
    assert len(rows) == 5
    assert [each == sorted(each) for each in known] == [True] * 5
    assert known[0][-1] > known[3][-1] > known[2][-1]
