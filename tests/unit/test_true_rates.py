"""The model of `Steered` with true rates is `Steered`, but for the rates."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import polars as pl
import pytest
from benches import true_rates
from benches.releases import DELTAS, Data

import dpsel

EPSILON, LIMIT, KEYS = 6.0, 30, range(1, 9)


@pytest.fixture(scope="module")
def data() -> Data:
    draw = np.random.default_rng(5)
    user = np.repeat(np.arange(3_000), draw.choice((1, 5, 20, 60), 3_000))
    table = pl.DataFrame({"user": user, "item": np.minimum(draw.pareto(0.5, len(user)), 1e6).astype(int)})
    table = table.unique(maintain_order=True)
    return Data("made", table, table)


def test_with_its_rules_the_model_releases_what_steered_does(data):
    """Means of eight runs; single ones are within 4 % of each other."""
    releases = [
        dpsel.select_partitions(
            data.table,
            user="user",
            item="item",
            privacy=dpsel.ApproxDP(epsilon=EPSILON, delta=DELTAS[EPSILON]),
            max_items_per_user=LIMIT,
            mechanism=dpsel.Steered(),
            insecure_test_key=bytes([key]) * 32,
        )
        for key in KEYS
    ]
    found = true_rates.rules(EPSILON, LIMIT)
    rows = true_rates.kept(data, LIMIT, found)
    modelled = [true_rates.released(rows, found, true_rates.by_noisy_scores, seed) for seed in KEYS]
    assert fmean(modelled) == pytest.approx(fmean(map(len, releases)), rel=0.02)


def test_true_rates_are_worth_something(data):
    found = true_rates.rules(EPSILON, LIMIT)
    rows = true_rates.kept(data, LIMIT, found)
    noisy = true_rates.released(rows, found, true_rates.by_noisy_scores)
    assert true_rates.size(data, EPSILON, LIMIT) > 1.02 * noisy
