"""More items than the public list has are refused before a budget pays."""

from __future__ import annotations

import polars as pl
import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError


@pytest.mark.parametrize("domain", [["tea"], ["tea", "tea"], pl.Series(["tea"]), []])
def test_k_beyond_the_domain_costs_nothing(domain):
    budget = dpsel.Budget(dpsel.PureDP(epsilon=1.0))
    rows = [(user, "tea") for user in range(500)]
    for data, names in (
        (rows, {}),
        (pl.DataFrame(rows, schema=["u", "i"], orient="row"), {"user": "u", "item": "i"}),
    ):
        with pytest.raises(InvalidParameterError, match=r"^k = 5, but the list has [01] distinct items?"):
            dpsel.select_top_k(data, k=5, domain=domain, privacy=budget.share(4), **names)
    assert budget.spent == ()
