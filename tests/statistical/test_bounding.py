"""Bounding keeps a uniformly random set of each user's items, independently for every user."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import dpsel
from false_alarm import ALPHA
from support import released, rounds_of, select
from weak import WEAK

pytestmark = [pytest.mark.statistical, WEAK]

ITEMS, KEPT = 10, 3


def kept_counts(users: int, items: np.ndarray) -> np.ndarray:
    """How many users kept each item: counts whose noise is nothing beside their spread."""
    data = pa.table({"user": np.repeat(np.arange(users), len(items)), "item": np.tile(items, users)})
    release = select(
        data,
        privacy=dpsel.ApproxDP(epsilon=50.0, delta=0.01),
        max_items_per_user=KEPT,
        mechanism=dpsel.CountLaplace(),
        with_weights=True,
        key=None,
    )
    assert rounds_of(release)[0].scale < 0.1
    counts = released(release)["weight"].to_numpy()
    assert len(counts) == len(items)
    return counts


@pytest.mark.parametrize("users", [6_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_every_item_is_kept_equally_often(users) -> None:
    counts = kept_counts(users, np.arange(ITEMS))
    assert abs(counts.sum() - users * KEPT) < 10
    chance = KEPT / ITEMS
    # Sampling without replacement: the cells are less spread than independent ones by (1 - p) m / (m - 1).
    statistic = ((counts - users * chance) ** 2).sum() / (users * chance * (1 - chance)) * (ITEMS - 1) / ITEMS
    assert stats.chi2.sf(statistic, ITEMS - 1) > ALPHA
    # Too even is as wrong as too uneven: users who choose together, or in turn.
    assert stats.chi2.cdf(statistic, ITEMS - 1) > ALPHA


def test_which_items_are_kept_changes_with_the_key() -> None:
    one_user = [tuple(np.flatnonzero(_kept_by_one_user())) for _ in range(40)]
    assert len(set(one_user)) > 5


def _kept_by_one_user() -> np.ndarray:
    """Twenty users share each of ten groups of items; only the last user's choice is looked at."""
    crowd = pa.table({"user": np.arange(500), "item": np.arange(500) % ITEMS})
    lone = pa.table({"user": np.full(ITEMS, 500), "item": np.arange(ITEMS)})
    release = select(
        pa.concat_tables([crowd, lone]),
        privacy=dpsel.ApproxDP(epsilon=50.0, delta=0.01),
        max_items_per_user=KEPT,
        mechanism=dpsel.CountLaplace(),
        with_weights=True,
        key=None,
    )
    return released(release)["weight"].to_numpy() > 500 // ITEMS + 0.5
