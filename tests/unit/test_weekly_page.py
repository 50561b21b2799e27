"""The page on weekly releases: its table, and the guarantee of its total."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dpsel

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "learn" / "weekly.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
APPROX, ZCDP = dpsel.ApproxDP(epsilon=4.0, delta=1e-6), dpsel.ZCDP(rho=0.3, delta=1e-7)


@pytest.mark.parametrize(("dates", "approx", "zcdp"), ROWS)
def test_the_table_is_what_the_plan_says(dates, approx, zcdp) -> None:
    for year, users in ((APPROX, approx), (ZCDP, zcdp)):
        share = dpsel.Budget(year).share(int(dates))
        (row,) = dpsel.plan(privacy=share, max_items_per_user=10, items_per_user=5).rows
        assert row["users_for_95"] == int(users)


def test_both_totals_give_what_the_page_says() -> None:
    assert len(ROWS) == 4
    assert ZCDP.to_approx_dp(delta=APPROX.delta, releases=52).epsilon <= APPROX.epsilon
