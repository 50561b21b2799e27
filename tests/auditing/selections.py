"""Selections as people write them: one that is right, and what goes wrong with others."""

from __future__ import annotations

import math
import random
from collections import defaultdict

#: What all of them claim, for users of at most so many items.
EPSILON, DELTA, LIMIT = 2.0, 0.02, 2

#: Noise that does not change from run to run, so that a test fails always or never.
_random = random.Random()


def start_again() -> None:
    """Let the noise of the next test not depend on which tests ran before."""
    _random.seed(20_261_122)


def sets_of(rows, limit=LIMIT):
    sets = defaultdict(set)
    for user, item in rows:
        sets[user].add(item)
    return {user: _random.sample(sorted(items), min(limit, len(items))) for user, items in sets.items()}


def threshold(scale: float, limit: int) -> float:
    """For noise of this scale, with at most `limit` items of one user that nobody else has."""
    share = 1 - (1 - DELTA) ** (1 / limit)
    return 1 - scale * math.log(2 * share)


def noisy(counts, scale, at):
    return [i for i, n in counts.items() if n + laplace(scale) >= at]


def laplace(scale: float) -> float:
    return scale * (_random.expovariate(1) - _random.expovariate(1))


def counted(sets):
    counts: dict[int, int] = defaultdict(int)
    for items in sets.values():
        for item in items:
            counts[item] += 1
    return counts


SCALE = LIMIT / EPSILON


def correct(rows):
    return noisy(counted(sets_of(rows)), SCALE, threshold(SCALE, LIMIT))


def half_the_noise(rows):
    """Scale and threshold fit each other, but not epsilon."""
    return noisy(counted(sets_of(rows)), SCALE / 2, threshold(SCALE / 2, LIMIT))


def threshold_without_the_count(rows):
    """Forgets that an item of one user has weight 1 already."""
    return noisy(counted(sets_of(rows)), SCALE, threshold(SCALE, LIMIT) - 1)


def threshold_for_one_item(rows):
    """Forgets that a user may have several items that nobody else has."""
    return noisy(counted(sets_of(rows)), SCALE, threshold(SCALE, 1))


def rows_instead_of_users(rows):
    counts = defaultdict(int)
    for _, item in rows:
        counts[item] += 1
    return noisy(counts, SCALE, threshold(SCALE, LIMIT))


def no_limit(rows):
    return noisy(counted(sets_of(rows, limit=10**9)), SCALE, threshold(SCALE, LIMIT))


def coarse_weights(rows):
    """Weights 1/k rounded up to whole numbers, two of which add up to 2."""
    weights: dict[int, float] = defaultdict(float)
    for items in sets_of(rows).values():
        for item in items:
            weights[item] += math.ceil(1 / len(items))
    share = max(1 / k - math.log(2 * (1 - (1 - DELTA) ** (1 / k))) / EPSILON for k in range(1, LIMIT + 1))
    return noisy(weights, 1 / EPSILON, share)


def true_counts(rows):
    """No noise at all; users have two items."""
    return [item for item, count in counted(sets_of(rows)).items() if count >= 11]


def shared_noise(rows):
    """One draw for all items, which come out as text."""
    noise = laplace(SCALE)
    at = threshold(SCALE, LIMIT)
    return [str(item) for item, count in counted(sets_of(rows)).items() if count + noise >= at]


def noise_shared_by_kind(rows):
    """Right for whole numbers of Python; all others share the draw of their type."""
    noises: dict = defaultdict(lambda: laplace(SCALE))
    at = threshold(SCALE, LIMIT)
    counts = counted(sets_of(rows))
    return [i for i, n in counts.items() if n + noises[i if type(i) is int else type(i)] >= at]


def ordered_by_count(rows):
    """The items are right, but their order is that of the true counts."""
    counts = counted(sets_of(rows))
    return sorted(noisy(counts, SCALE, threshold(SCALE, LIMIT)), key=lambda item: (-counts[item], item))


def told_counts(rows):
    """The items are right, with true counts."""
    counts = counted(sets_of(rows))
    return [(item, counts[item]) for item in noisy(counts, SCALE, threshold(SCALE, LIMIT))]


def ordered_by_noise(rows):
    """Order and counts are those of the noise that decided."""
    at = threshold(SCALE, LIMIT)
    found = {item: count + laplace(SCALE) for item, count in counted(sets_of(rows)).items()}
    return sorted(((i, n) for i, n in found.items() if n >= at), key=lambda pair: -pair[1])


def nothing_is_hidden(rows):
    return {item for _, item in rows}


BROKEN = [
    true_counts,
    shared_noise,
    noise_shared_by_kind,
    ordered_by_count,
    told_counts,
    half_the_noise,
    threshold_without_the_count,
    threshold_for_one_item,
    rows_instead_of_users,
    no_limit,
    coarse_weights,
    nothing_is_hidden,
]
