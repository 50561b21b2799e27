"""An audit of `dpsel.CountSeries`: what its numbers let anybody conclude, against what it claims."""

from __future__ import annotations

import json
import math
from random import Random

import numpy as np
import pytest

from dpsel import _core
from dpsel.auditing._bounds import proportion_above, proportion_below

COLUMNS = json.dumps({"user": "user", "items": ["item"]})
#: Users, each with an item of its own, in one run: so many trials.
TRIALS = 60_000
EPSILON, DELTA = 1.0, 0.01
FALSE_ALARM = 1e-6


def published(plan: str, releases: int, held: list[tuple[int, int]], seed: int) -> np.ndarray:
    """The numbers of all items in all releases; the same rows in each."""
    draw = Random(seed)
    secret, state, numbers = draw.randbytes(32), None, []
    for number in range(releases):
        source = _core.Source.pairs(held)
        named = [(0, item) for item in range(2 * TRIALS)] if number == 0 else None
        made = _core.count_series_release(plan, secret, state, draw.randbytes(32), source, COLUMNS, [], named)
        state = made.state
        items, users = made.items.to_columns()
        assert items == list(range(2 * TRIALS))
        numbers.append(users)
    return np.array(numbers, dtype=float)


def statistic(plan: str, numbers: np.ndarray) -> np.ndarray:
    """What tells most of a user that counted in all releases: its shift, times the noisy values."""
    found = json.loads(plan)
    releases = found["asked"]["releases"]
    toeplitz = lambda column: np.array(  # noqa: E731
        [
            [column[t - s] if 0 <= t - s < len(column) else 0.0 for s in range(releases)]
            for t in range(releases)
        ]
    )
    decode = toeplitz(np.array(found["decode"]) / found["decode"][0])
    weights = toeplitz(np.array(found["weights"]) / found["weights"][0])
    shift = weights.sum(axis=1)
    return shift @ np.linalg.solve(decode, numbers)


def refuted(likely: np.ndarray, rare: np.ndarray) -> float:
    """The largest epsilon that the samples refute at this delta: an event is chosen on one half of them."""
    half = len(likely) // 2
    best, at = -math.inf, 0.0
    for limit in np.quantile(likely[:half], np.linspace(0.01, 0.99, 99)):
        gain = np.mean(likely[:half] >= limit) - DELTA
        chance = np.mean(rare[:half] >= limit)
        if gain > 0 and chance > 200 / half and math.log(gain / chance) > best:
            best, at = math.log(gain / chance), limit
    hits, misses = int(np.sum(likely[half:] >= at)), int(np.sum(rare[half:] >= at))
    trials = len(likely) - half
    above = proportion_above(hits, trials, FALSE_ALARM / 2)
    below = proportion_below(misses, trials, FALSE_ALARM / 2)
    return math.log((above - DELTA) / below)


@pytest.mark.long(reason="an audit of 60,000 trials in each world")
@pytest.mark.parametrize(("window", "each", "of_one"), [(1, 3, False), (3, 3, False), (1, 1, True)])
def test_an_audit_comes_near_the_claim_and_does_not_pass_it(window, each, of_one) -> None:
    releases = each
    plan = _core.count_series_plan(
        epsilon=EPSILON,
        delta=DELTA,
        rho=None,
        releases=releases,
        window=window,
        max_items_per_user=1,
        max_releases_per_item=each,
        is_of_one_release=of_one,
    )
    # Whoever holds an item of the first half is there in one world, and not in the other.
    numbers = published(plan, releases, [(user, user) for user in range(TRIALS)], seed=window)
    found = statistic(plan, numbers)
    with_user, without_user = found[:TRIALS], found[TRIALS:]
    for likely, rare in ((with_user, without_user), (-without_user, -with_user)):
        assert 0.8 * EPSILON < refuted(likely, rare) <= EPSILON
