"""Plans of size: what a table of so many rows takes."""

from __future__ import annotations

import json

import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError


def test_rows_go_to_the_disk_at_half_of_the_limit() -> None:
    plan = dpsel.plan_size([1, 10**8, 10**9], memory_limit="4GiB")
    assert [row["place"] for row in plan.rows] == ["memory", "memory", "disk"]
    small, middle, large = plan.rows
    for name in ("scratch_sips", "scratch_steered"):
        assert small[name] == middle[name] == 0 < large[name]
    assert middle["memory"] == middle["memory_of_all_rows"] < large["memory"] == 4 << 30
    assert large["memory_of_all_rows"] == 10 * middle["memory_of_all_rows"]
    # The disk takes longer than ten times the rows in memory, and scored rounds longer than three plain ones.
    for name in ("seconds_sips", "seconds_steered"):
        assert large[name] > 10 * middle[name]
    assert large["seconds_steered"] > large["seconds_sips"]
    assert small["least_limit"] == middle["least_limit"] == 0 < 64 << 20 < large["least_limit"] < 2 << 30
    assert dpsel.plan_size(10**7, memory_limit="64MiB").rows[0]["least_limit"] == 64 << 20
    without = dpsel.plan_size(10**9).rows[0]
    assert (without["place"], without["memory"]) == ("memory", large["memory_of_all_rows"])


def test_a_small_limit_has_less_room_for_rows() -> None:
    rows = [(8 << 20) // 17, (12 << 20) // 17, (24 << 20) // 17]
    for limit, places in [("64MiB", "memory disk disk"), ("128MiB", "memory memory memory")]:
        plan = dpsel.plan_size(rows, memory_limit=limit)
        assert [row["place"] for row in plan.rows] == places.split()


def test_texts_take_more() -> None:
    options = {"rows": 10**9, "memory_limit": "1GiB"}
    plain, texts = dpsel.plan_size(**options).rows[0], dpsel.plan_size(**options, text_bytes=20).rows[0]
    assert texts["memory_of_all_rows"] > plain["memory_of_all_rows"]
    assert texts["scratch_sips"] - plain["scratch_sips"] == 20 * 10**9


def test_scattered_rows_take_more_of_the_disk() -> None:
    options = {"rows": 10**9, "memory_limit": "1GiB"}
    plain, apart = dpsel.plan_size(**options).rows[0], dpsel.plan_size(**options, scattered=True).rows[0]
    for name in ("scratch_sips", "scratch_steered"):
        assert 2 * plain[name] < apart[name] < 3 * plain[name]
    for name in ("seconds_sips", "seconds_steered"):
        assert plain[name] < apart[name] < 2 * plain[name]
    assert plain["memory_of_all_rows"] == apart["memory_of_all_rows"]


def test_no_figure_that_is_more_than_nothing_is_shown_as_nothing() -> None:
    shown = str(dpsel.plan_size([1000, 10**9], memory_limit="1GiB"))
    assert "0.0" not in shown.split()
    assert "< 0.1" in shown
    small = next(line for line in shown.splitlines() if line.strip().startswith("1,000 "))
    assert small.split().count("0") == 3, "no scratch and no limit"
    assert small.split().count("s") == 2
    assert "min" in shown


def test_a_plan_is_a_table_and_json() -> None:
    plan = dpsel.plan_size(10**9, memory_limit=1 << 30)
    assert json.loads(plan.to_json())["rows"] == plan.rows
    assert "1,000,000,000" in str(plan)
    assert "disk" in str(plan)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": 0}, "rows must be"),
        ({"rows": 1, "memory_limit": (64 << 20) - 1}, "memory_limit must be at least 64 MiB, got 63.99"),
        ({"rows": 1, "memory_limit": "much"}, "memory_limit must be a number of bytes"),
        ({"rows": 1, "text_bytes": -1}, "text_bytes must be"),
        ({"rows": 1, "text_bytes": True}, "text_bytes must be"),
        ({"rows": 1, "scattered": 1}, "scattered must be True or False, got int"),
    ],
)
def test_what_is_out_of_range_is_refused(options, words) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        dpsel.plan_size(**options)
