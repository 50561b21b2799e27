"""``dpsel plan-size``."""

from __future__ import annotations

import json

import pytest

import dpsel


def test_the_plan_is_that_of_the_library(dpsel_run) -> None:
    run = dpsel_run(
        *("plan-size", "--rows", "1e8,2000000000", "--memory-limit", "4GiB", "--text-bytes", "9"),
        *("--scattered", "--json"),
    )
    assert run.code == 0, run.err
    expected = dpsel.plan_size([10**8, 2 * 10**9], memory_limit="4GiB", text_bytes=9, scattered=True)
    assert json.loads(run.out)["rows"] == expected.rows
    shown = dpsel_run("plan-size", "--rows", "100")
    assert shown.code == 0, shown.err
    assert "memory" in shown.out


@pytest.mark.parametrize("rows", ["0", "1.5", "1.5e0", "nan", "1e999", "many"])
def test_a_number_of_rows_is_whole(dpsel_run, rows) -> None:
    run = dpsel_run("plan-size", "--rows", rows)
    assert run.code == 2, run.out
    assert "is not a list of whole numbers above 0 such as 1e8,1e9" in run.err
