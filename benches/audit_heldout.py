"""Held-out selections with known guarantees: written before the audit's code was read, and then tried once.

They are in the lists of ``audit_selections.py``. Figures are those of one event or one pair of tables at the
claimed epsilon, in closed form, so they are bounds from below. A delta of 1 is that of the limit of
large tables.
"""

from __future__ import annotations

import math
import zlib
from collections import defaultdict

import dpsel
from benches.audit_figures import gaussian_delta, laplace_tail, normal_tail, of_counts
from benches.audit_selections import (
    DELTA,
    EPSILON,
    _random,
    _upper,
    broken,
    chance,
    counts_of,
    laplace,
    select,
    sets_of,
    threshold,
)

#: The threshold for Laplace noise and users of one item.
AT = threshold(1 / EPSILON, 1)
#: So many users make an item nearly certain.
MANY = 20


def noisy_of_one(rows):
    """The noisy counts above the threshold, of users of one item."""
    noisy = {item: n + laplace(1 / EPSILON) for item, n in counts_of(rows, 1).items()}
    return {item: n for item, n in noisy.items() if n >= AT}


def hashed(value, cells):
    return zlib.crc32(str(value).encode()) % cells


def sigma_of(epsilon: float, delta: float) -> float:
    """The deviation of Gaussian noise on one number that a user moves by 1."""
    low, high = 0.01, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(epsilon, 1 / middle) > delta else (low, middle)
    return high


# Broken: noise of another scale or shape.


@broken(bound=4, delta=of_counts(2, threshold(2, 4), 4))
def laplace_noise_for_the_euclidean_norm(rows):
    """The scale grows with the root of the number of items."""
    return set(select(rows, 4, math.sqrt(4) / EPSILON, threshold(2 / EPSILON, 4)))


ONE_SIDED_AT = 1 + math.ceil(-math.log(DELTA) / EPSILON)


# Items of as many users as the threshold always come out.
@broken(delta=1 - math.exp(-EPSILON))
def geometric_noise_of_one_sign(rows):
    """The noise is 0, 1, 2, ..., so that nobody is suppressed."""
    p = 1 - math.exp(-EPSILON)
    counts = counts_of(rows, 1).items()
    return [i for i, n in counts if n + int(math.log(1 - _random.random()) / math.log(1 - p)) >= ONE_SIDED_AT]


CUT_OFF = 2.0


# Items of 5 users always come out, those of 4 unless the noise is below -1.
@broken(delta=(math.exp(-1) - math.exp(-CUT_OFF)) / (2 * (1 - math.exp(-CUT_OFF))))
def laplace_noise_cut_off_at_two(rows):
    """With noise between -2 and 2 an item of one user never reaches 4."""

    def noise():
        while abs(drawn := laplace(1 / EPSILON)) > CUT_OFF:
            pass
        return drawn

    return [item for item, n in counts_of(rows, 1).items() if n + noise() >= 2 + CUT_OFF - 1]


SWAPPED_EPSILON = 0.3
SWAPPED = dpsel.ApproxDP(epsilon=SWAPPED_EPSILON, delta=0.05)
SWAPPED_AT = 6


def _geometric_tail(ratio: float, x: int) -> float:
    """The probability that two-sided geometric noise is at least ``x``."""
    return ratio**x / (1 + ratio) if x >= 0 else 1 - ratio ** (1 - x) / (1 + ratio)


_RATIO = 1 - math.exp(-SWAPPED_EPSILON)


@broken(
    privacy=SWAPPED,
    delta=max(
        _geometric_tail(_RATIO, SWAPPED_AT - n - 1)
        - math.exp(SWAPPED_EPSILON) * _geometric_tail(_RATIO, SWAPPED_AT - n)
        for n in range(1, 12)
    ),
)
def geometric_noise_with_the_opposite_rate(rows):
    """The ratio of the geometric law is 1 - e^-epsilon instead of e^-epsilon."""

    def noise():
        return int(math.log(1 - _random.random()) / math.log(_RATIO))

    return [item for item, n in counts_of(rows, 1).items() if n + noise() - noise() >= SWAPPED_AT]


def _median(chance_of_one: float) -> float:
    return chance_of_one**2 * (3 - 2 * chance_of_one)


@broken(delta=_median(chance(4)) - math.exp(EPSILON) * _median(chance(3)))
def median_of_three_noises(rows):
    """As if noise that is drawn three times were still noise for epsilon."""
    counts = counts_of(rows, 1).items()
    return [item for item, n in counts if sorted(n + laplace(1 / EPSILON) for _ in range(3))[1] >= AT]


def _relative(users: int) -> float:
    return laplace_tail((AT - users) / (0.2 * users))


@broken(delta=max(_relative(n + 1) - math.exp(EPSILON) * _relative(n) for n in range(1, 8)))
def noise_in_proportion_to_the_count(rows):
    return [item for item, n in counts_of(rows, 1).items() if n + laplace(0.2 * n) >= AT]


@broken(delta=1 / 16)
def noise_of_four_random_bits(rows):
    """An item of one user is never released, one of two with a chance of 1/16."""

    def noise():
        tail = (_random.randrange(8) + 0.5) / 8
        return math.log(tail) if _random.random() < 1 / 2 else -math.log(tail)

    return [item for item, n in counts_of(rows, 1).items() if n + noise() >= AT]


NO_NOISE = 8


@broken(delta=1 - chance(NO_NOISE - 1))
def no_noise_for_items_of_eight_users(rows):
    counts = counts_of(rows, 1).items()
    return [item for item, n in counts if n >= NO_NOISE or n + laplace(1 / EPSILON) >= AT]


HIGH = dpsel.ApproxDP(epsilon=4.0, delta=0.02)
HIGH_VARIANCE = sigma_of(4.0, DELTA / 2) ** 2


@broken(privacy=HIGH, delta=gaussian_delta(4.0, 1 / HIGH_VARIANCE))
def variance_for_deviation(rows):
    """Numbers are published, too."""
    noisy = {item: n + _random.gauss(0, HIGH_VARIANCE) for item, n in counts_of(rows, 1).items()}
    return {item: n for item, n in noisy.items() if n >= 1 + HIGH_VARIANCE * _upper(DELTA / 2)}


CLASSICAL = dpsel.ApproxDP(epsilon=8.0, delta=0.02)
CLASSICAL_SIGMA = math.sqrt(2 * math.log(1.25 / DELTA)) / 8


@broken(privacy=CLASSICAL, delta=gaussian_delta(8.0, 1 / CLASSICAL_SIGMA))
def classical_gaussian_noise_at_a_large_epsilon(rows):
    """The formula with 1.25 / delta holds for epsilon below 1 only. Numbers are published, too."""
    noisy = {item: n + _random.gauss(0, CLASSICAL_SIGMA) for item, n in counts_of(rows, 1).items()}
    return {item: n for item, n in noisy.items() if n >= 1 + CLASSICAL_SIGMA * _upper(1e-6)}


# Broken: the threshold.


SOME_SIGMA = sigma_of(EPSILON, DELTA / 2)
EIGHT_AT = 1 + math.sqrt(8) * SOME_SIGMA * _upper(DELTA / 2)


@broken(bound=8, delta=1 - (1 - DELTA / 2) ** 8)
def delta_for_each_item_of_a_user(rows):
    """Half of delta is for the noise; the other half is not divided among eight items."""
    sigma = math.sqrt(8) * SOME_SIGMA
    return {item for item, n in counts_of(rows, 8).items() if n + _random.gauss(0, sigma) >= EIGHT_AT}


WEIGHTED_AT = 1 + SOME_SIGMA * _upper(DELTA / 2)


@broken(bound=30, delta=1 - (1 - normal_tail((WEIGHTED_AT - 1 / math.sqrt(30)) / SOME_SIGMA)) ** 30)
def weighted_gaussian_with_the_threshold_of_one_item(rows):
    """Thirty items of weight 1 / sqrt(30) each need a higher threshold than one of weight 1."""
    weights = defaultdict(float)
    for items in sets_of(rows, 30).values():
        for item in items:
            weights[item] += 1 / math.sqrt(len(items))
    return [item for item, weight in weights.items() if weight + _random.gauss(0, SOME_SIGMA) >= WEIGHTED_AT]


@broken(delta=laplace_tail(-math.log10(2 * DELTA)))
def threshold_with_the_decimal_logarithm(rows):
    return select(rows, 1, 1 / EPSILON, 1 - math.log10(2 * DELTA) / EPSILON)


# An item of 20 users, and then an item of a new user beside it: the mean falls from 20 to 10.5.
@broken(delta=1 / 2 - math.exp(EPSILON) * (1 - laplace_tail((21 / 2) - 20)))
def threshold_at_the_mean_count(rows):
    counts = counts_of(rows, 1)
    at = max(AT, sum(counts.values()) / max(1, len(counts)))
    return [item for item, n in counts.items() if n + laplace(1 / EPSILON) >= at]


@broken(privacy=dpsel.PureDP(epsilon=1.0), delta=DELTA)
def pure_claim_for_unknown_items(rows):
    """What comes out shows that somebody has it; no epsilon allows that without a delta."""
    return select(rows, 1, 1 / EPSILON, AT)
