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
#: Users, each with items of its own, in one run: so many trials, half of them with the user.
TRIALS, ITEMS = 80_000, 9
#: Samples see no smaller delta.
EPSILON, DELTA = 2.0, 0.05
FALSE_ALARM = 1e-6


def published(plan: str, releases: int, held: list[tuple[int, int]], seed: int) -> np.ndarray:
    """The numbers of all items in all releases, with the same rows in each."""
    draw = Random(seed)
    secret, state, numbers = draw.randbytes(32), None, []
    for number in range(releases):
        source = _core.Source.pairs(held)
        named = [(0, item) for item in range(TRIALS * ITEMS)] if number == 0 else None
        made = _core.count_series_release(plan, secret, state, draw.randbytes(32), source, COLUMNS, [], named)
        state = made.state
        items, users = made.items.to_columns()
        assert items == list(range(TRIALS * ITEMS))
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
    return (shift @ np.linalg.solve(decode, numbers)).reshape(TRIALS, ITEMS).sum(axis=1)


def refuted(likely: np.ndarray, rare: np.ndarray, limit: float) -> float:
    """The largest epsilon that the samples of the event at a limit refute at this delta."""
    hits, misses = int(np.sum(likely >= limit)), int(np.sum(rare >= limit))
    above = proportion_above(hits, len(likely), FALSE_ALARM / 2)
    below = proportion_below(misses, len(rare), FALSE_ALARM / 2)
    return math.log((above - DELTA) / below)


@pytest.mark.long("an audit of 80,000 users")
@pytest.mark.parametrize(("window", "each", "of_one"), [(1, 3, False), (3, 3, False), (1, 1, True)])
def test_an_audit_comes_near_the_claim_and_does_not_pass_it(window, each, of_one) -> None:
    releases = each
    plan = _core.count_series_plan(
        epsilon=EPSILON,
        delta=DELTA,
        rho=None,
        releases=releases,
        window=window,
        max_items_per_user=ITEMS,
        max_releases_per_item=each,
        is_of_one_release=of_one,
    )
    half = TRIALS // 2
    held = [(item // ITEMS, item) for item in range(half * ITEMS)]
    found = statistic(plan, published(plan, releases, held, seed=window))
    with_user, without_user = found[:half], found[half:]
    stated = json.loads(plan)
    # The square of the norm of a user, by which the statistic moves.
    weights = np.array(stated["weights"]) / stated["weights"][0]
    norm = ITEMS * sum(weights[: release + 1].sum() ** 2 for release in range(releases))
    mu = stated["certificate"]["mu"]
    # The event whose probabilities differ most at this epsilon.
    far = norm * (0.5 + EPSILON / mu**2)
    for likely, rare, limit in ((with_user, without_user, far), (-without_user, -with_user, far - norm)):
        assert 0.8 * EPSILON < refuted(likely, rare, limit) <= EPSILON
