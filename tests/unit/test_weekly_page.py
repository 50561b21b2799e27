"""The page on fifty-two weeks: what it says of blocks, and that its example is a series that goes on."""

from __future__ import annotations

import json
import re
from pathlib import Path

from dpsel import _core_calls

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "learn" / "weekly.md").read_text(encoding="utf-8")


def test_the_blocks_are_those_of_the_plan() -> None:
    plan = _core_calls.series_plan(
        epsilon=4.0, delta=1e-6, rho=None, releases=52, max_items_per_user=10, waits=True
    )
    said = re.search(r"Blocks begin with the releases ([\d,\s]+) and", PAGE)
    assert said
    assert [int(number) for number in said[1].split(",")] == json.loads(plan)["blocks"]


def test_the_docstring_says_the_same_blocks() -> None:
    from dpsel import Series

    said = re.search(r"releases ([\d,\s]+) and so on", Series.create.__doc__ or "")
    assert said
    assert re.findall(r"\d+", said[1]) == ["1", "3", "5", "9", "17", "33"]
