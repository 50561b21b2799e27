"""Items come out as often as the exact probability says, at weights around the threshold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import dpsel
from false_alarm import ALPHA
from reference import mechanisms as reference
from reference.noise import TAILS, UNIT
from support import items_of, rounds_of, select
from weak import WEAK

pytestmark = [pytest.mark.statistical, WEAK]

PRIVACY = dpsel.ApproxDP(epsilon=1.5, delta=0.02)
LEVELS = 12

SIZES = [pytest.param(600, id="quick"), pytest.param(40_000, id="long", marks=pytest.mark.slow)]


def exact(case, rounds, weight: int) -> float:
    """Chance that an item of this weight in every round is released in some round."""
    tail = TAILS[reference.DEFINITIONS[case.name].noise]
    kept_back = 1
    for round_ in rounds:
        kept_back *= 1 - tail(round_.threshold - min(weight, cutoff(round_)), round_.scale)
    return float(1 - kept_back)


def cutoff(round_) -> int:
    """The most weight that an item can have: a policy stops there."""
    if not isinstance(round_.weighting, dict):
        return LEVELS * UNIT
    (parameters,) = round_.weighting.values()
    return parameters["cutoff"]


def frequency_table(per_level: int) -> pa.Table:
    """`per_level` items with n users each, n = 1..LEVELS; every user has one item."""
    levels = np.repeat(np.arange(1, LEVELS + 1), per_level)
    items = np.repeat(np.arange(len(levels)), levels)
    return pa.table({"user": np.arange(len(items)), "item": items})


@pytest.mark.parametrize("size", SIZES)
def test_release_frequency_is_the_exact_probability(case, size) -> None:
    """Rounds are independent too: noise used twice would show as too few releases."""
    if case.name == "steered":
        pytest.skip("weights follow the scores; see test_steered.py")
    release = select(
        frequency_table(size), privacy=PRIVACY, max_items_per_user=1, mechanism=case.mechanism, key=None
    )
    found = np.asarray(items_of(release)) // size
    for level in range(LEVELS):
        chance = exact(case, rounds_of(release), (level + 1) * UNIT)
        count = int((found == level).sum())
        assert stats.binomtest(count, size, min(chance, 1.0)).pvalue > ALPHA, f"{level + 1} users"


def test_novel_items_come_out_at_most_delta_often(case) -> None:
    """At a large delta: lone users with their own items, the event whose chance delta bounds."""
    users = 20_000
    delta, bound = 0.02, 4
    data = pa.table({"user": np.repeat(np.arange(users), bound), "item": np.arange(users * bound)})
    release = select(
        data,
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=delta),
        max_items_per_user=bound,
        mechanism=case.mechanism,
        key=None,
    )
    exposed = len({item // bound for item in items_of(release)})
    assert stats.binomtest(exposed, users, delta, alternative="greater").pvalue > ALPHA
