"""Selections with known guarantees: broken ones as people write them, and sound ones.

Each takes rows (user, item). All noise comes from one generator, which tests seed. Broken ones are registered
with what they need at least: the delta at the claimed epsilon, or the epsilon at the claimed delta. That is
the exact figure of some tables. 1.0 is the limit of large tables.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import dpsel
from benches.audit_figures import laplace_tail, normal_tail, of_counts

if TYPE_CHECKING:
    from collections.abc import Callable

#: The usual claim.
EPSILON, DELTA = 1.0, 0.02
USUAL = dpsel.ApproxDP(epsilon=EPSILON, delta=DELTA)
#: The published cutoff of greedy filling is just below a whole number of users at this delta.
GREEDY = dpsel.ApproxDP(epsilon=1.0, delta=math.exp(-3.95) / 2)

#: Thresholds on true counts.
SOME, MANY = 10, 25

_random = random.Random()  # noqa: S311 - noise that can be drawn again
BROKEN: list[Selection] = []
SOUND: list[Selection] = []


@dataclass(frozen=True)
class Selection:
    """A function, its claim, and what it really needs: ``epsilon`` or ``delta``; 0 for what is not known."""

    function: Callable[..., Any]
    privacy: Any
    bound: int
    epsilon: float = 0.0
    delta: float = 0.0
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def excess(self) -> float:
        """By which factor e^epsilon or delta is above the claim."""
        claimed = getattr(self.privacy, "delta", 0.0)
        by_delta = self.delta / claimed if claimed else (math.inf if self.delta else 0.0)
        by_epsilon = math.exp(self.epsilon - self.privacy.epsilon) if self.epsilon else 0.0
        return max(by_delta, by_epsilon)


def seed(number: int) -> None:
    """Start the noise again."""
    _random.seed(number)


def broken(bound: int = 1, privacy: Any = USUAL, *, epsilon: float = 0.0, delta: float = 0.0, **options: Any):
    """Register a broken selection with what it needs at least."""

    def register(function):
        BROKEN.append(Selection(function, privacy, bound, epsilon, delta, tuple(options.items())))
        return function

    return register


def sound(bound: int = 1, privacy: Any = USUAL, **options: Any):
    """Register a sound selection."""

    def register(function):
        SOUND.append(Selection(function, privacy, bound, options=tuple(options.items())))
        return function

    return register


def sets_of(rows, limit):
    sets = defaultdict(set)
    for user, item in rows:
        sets[user].add(item)
    return {
        user: _random.sample(sorted(items), limit) if len(items) > limit else items
        for user, items in sets.items()
    }


def counts_of(rows, limit):
    counts: dict[Any, int] = defaultdict(int)
    for items in sets_of(rows, limit).values():
        for item in items:
            counts[item] += 1
    return counts


def laplace(scale: float) -> float:
    return scale * (_random.expovariate(1) - _random.expovariate(1))


def share_of(delta: float, limit: int) -> float:
    """The probability for each of ``limit`` items that uses up delta."""
    return 1 - (1 - delta) ** (1 / limit)


def threshold(scale: float, limit: int, delta: float = DELTA) -> float:
    """For Laplace noise and users of at most ``limit`` items that nobody else has."""
    return 1 - scale * math.log(2 * share_of(delta, limit))


def chance(users: int) -> float:
    """The probability that an item of so many users comes out, with noise and threshold for one item."""
    return laplace_tail(threshold(1 / EPSILON, 1) - users)


def select(rows, limit, scale, at):
    return [item for item, n in counts_of(rows, limit).items() if n + laplace(scale) >= at]


# Broken: no noise.


@broken(delta=1.0)
def true_counts(rows):
    return [item for item, n in counts_of(rows, 1).items() if n >= SOME]


@broken(bound=3, delta=1.0)
def true_counts_of_three_items(rows):
    return {item for item, n in counts_of(rows, 3).items() if n >= MANY}


@broken(bound=3, delta=1.0)
def noise_of_a_fixed_seed(rows):
    fixed = random.Random(7)  # noqa: S311 - as people do
    return [item for item, n in sorted(counts_of(rows, 3).items()) if n + fixed.gauss(0, 3) >= SOME]


@broken(delta=chance(SOME))
def small_counts_left_out_first(rows):
    """Items of few users are left out, by true counts; the others are likely."""
    at = threshold(1 / EPSILON, 1)
    return [i for i, n in counts_of(rows, 1).items() if n >= SOME and n + laplace(1 / EPSILON) >= at]


# Broken: too little noise.


@broken(delta=of_counts(1 / 1.3, threshold(1 / 1.3, 1)))
def noise_too_small_by_1_3(rows):
    scale = 1 / EPSILON / 1.3
    return select(rows, 1, scale, threshold(scale, 1))


@broken(bound=3, delta=of_counts(3 / 1.3, threshold(3 / 1.3, 3), 3))
def noise_too_small_by_1_3_for_three_items(rows):
    scale = 3 / EPSILON / 1.3
    return select(rows, 3, scale, threshold(scale, 3))


@broken(bound=2, delta=of_counts(2 / 1.3, threshold(2, 2), 2))
def noise_too_small_by_1_3_with_the_old_threshold(rows):
    return select(rows, 2, 2 / EPSILON / 1.3, threshold(2 / EPSILON, 2))


@broken(bound=3, delta=of_counts(1, threshold(1, 3), 3))
def scale_for_one_item(rows):
    """The scale forgets that a user has three items: epsilon is three times too large."""
    return select(rows, 3, 1 / EPSILON, threshold(1 / EPSILON, 3))


@broken(bound=3, delta=of_counts(1, threshold(1, 3), 3, then=(3, threshold(3, 3))))
def scale_of_the_data(rows):
    """The scale follows the largest number of items that a user has."""
    sets = sets_of(rows, 3)
    scale = max((len(items) for items in sets.values()), default=1) / EPSILON
    return select(rows, 3, scale, threshold(scale, 3))


# Broken: the threshold.


@broken(delta=DELTA * math.e)
def threshold_without_the_count(rows):
    return select(rows, 1, 1 / EPSILON, threshold(1 / EPSILON, 1) - 1)


@broken(bound=3, delta=1 - (1 - DELTA) ** 3)
def threshold_for_one_item(rows):
    return select(rows, 3, 3 / EPSILON, threshold(3 / EPSILON, 1))


@broken(delta=1.3 * DELTA)
def threshold_for_a_larger_delta(rows):
    return select(rows, 1, 1 / EPSILON, threshold(1 / EPSILON, 1, 1.3 * DELTA))


@broken(delta=0.5)
def threshold_of_the_number_of_users(rows):
    users = max(1, len({user for user, _ in rows}))
    return select(rows, 1, 1 / EPSILON, threshold(1 / EPSILON, 1, 1 / (2 * users)))


# Broken: users are not bounded.


@broken(delta=1.0)
def rows_instead_of_users(rows):
    counts = defaultdict(int)
    for _, item in rows:
        counts[item] += 1
    return [i for i, n in counts.items() if n + laplace(1 / EPSILON) >= threshold(1 / EPSILON, 1)]


@broken(bound=2, delta=1.0)
def no_limit(rows):
    return select(rows, 10**9, 2 / EPSILON, threshold(2 / EPSILON, 2))


@broken(delta=1.0)
def only_neighbouring_rows_are_counted_once(rows):
    counts, before = defaultdict(int), None
    for row in rows:
        if row != before:
            counts[row[1]] += 1
        before = row
    return [i for i, n in counts.items() if n + laplace(1 / EPSILON) >= threshold(1 / EPSILON, 1)]


# Broken: noise is shared.


# Of two items of four users, the one with a user more comes out alone.
@broken(delta=chance(5) - chance(4))
def one_noise_for_all_items(rows):
    noise = laplace(1 / EPSILON)
    return [i for i, n in counts_of(rows, 1).items() if n + noise >= threshold(1 / EPSILON, 1)]


@broken(bound=3, delta=laplace_tail((threshold(3, 3) - 14) / 3) - laplace_tail((threshold(3, 3) - 13) / 3))
def one_noise_for_all_items_as_text(rows):
    noise = laplace(3 / EPSILON)
    return [str(i) for i, n in counts_of(rows, 3).items() if n + noise >= threshold(3 / EPSILON, 3)]


@broken(delta=chance(5) - chance(4))
def noise_repeated_every_fourth_item(rows):
    noise = [laplace(1 / EPSILON) for _ in range(4)]
    counts = sorted(counts_of(rows, 1).items())
    at = threshold(1 / EPSILON, 1)
    return [i for place, (i, n) in enumerate(counts) if n + noise[place % 4] >= at]


@broken(delta=chance(5) - chance(4))
def noise_repeated_for_numpy_integers(rows):
    """Each call draws anew, but items of NumPy's type get the noise of their type."""
    noises: dict[Any, float] = defaultdict(lambda: laplace(1 / EPSILON))
    at = threshold(1 / EPSILON, 1)
    return [i for i, n in counts_of(rows, 1).items() if n + noises[i if type(i) is int else type(i)] >= at]


@broken(delta=chance(5) - chance(4))
def noise_repeated_for_texts(rows):
    noises: dict[Any, float] = defaultdict(lambda: laplace(1 / EPSILON))
    at = threshold(1 / EPSILON, 1)
    counts = counts_of(rows, 1)
    return [i for i, n in counts.items() if n + noises[len(i) if isinstance(i, str) else i] >= at]


# Broken: what is told beside the items.


@broken(delta=1.0)
def ordered_by_true_counts(rows):
    counts = counts_of(rows, 1)
    at = threshold(1 / EPSILON, 1)
    chosen = [item for item, n in counts.items() if n + laplace(1 / EPSILON) >= at]
    return sorted(chosen, key=lambda item: (-counts[item], item))


@broken(delta=1.0)
def with_true_counts(rows):
    at = threshold(1 / EPSILON, 1)
    return {i: n for i, n in counts_of(rows, 1).items() if n + laplace(1 / EPSILON) >= at}


# From four users to five, the item comes out, and its number is at least 4.67.
@broken(delta=chance(5) * laplace_tail(4.67 - 5) - math.e * chance(4) * laplace_tail(4.67 - 4))
def counts_that_cost_nothing(rows):
    """The items and their counts have independent noise, each for the whole epsilon."""
    at = threshold(1 / EPSILON, 1)
    counts = counts_of(rows, 1)
    return [(i, n + laplace(1 / EPSILON)) for i, n in counts.items() if n + laplace(1 / EPSILON) >= at]


@broken(bound=2, epsilon=2.0, privacy=dpsel.PureDP(epsilon=1.0), domain=4)
def top_of_a_list_with_too_little_noise(rows):
    """Noise for one item, and the user moves two of four counts: the order moves by 2 epsilon."""
    counts = counts_of(rows, 2)
    noisy = {item: counts.get(item, 0) + laplace(1 / EPSILON) for item in range(4)}
    return sorted(noisy, key=noisy.get, reverse=True)[:2]


#: Less than a fourth of the variance that rho = 0.25 asks for with two items.
SMALL_SIGMA = math.sqrt(2) / 1.5
#: The claim implies a delta of 0.0294 at this epsilon, and the factor is that of this delta.
ZCDP_EPSILON, ZCDP_DELTA = 1.7717, 0.029393


def _upper(chance: float) -> float:
    """The normal quantile of 1 - chance."""
    return NormalDist().inv_cdf(1 - chance)


GAUSSIAN_AT = 1 + SMALL_SIGMA * _upper(share_of(DELTA, 2))


@broken(
    bound=2,
    privacy=dpsel.ZCDP(rho=0.25, delta=DELTA),
    delta=DELTA / ZCDP_DELTA * of_counts(SMALL_SIGMA, GAUSSIAN_AT, 2, epsilon=ZCDP_EPSILON, tail=normal_tail),
)
def gaussian_noise_for_one_item(rows):
    sigma, at = SMALL_SIGMA, GAUSSIAN_AT
    return [item for item, n in counts_of(rows, 2).items() if n + _random.gauss(0, sigma) >= at]


# Both items have four users; one user goes from the second to the first: only the first comes out.
@broken(
    neighbours="swap",
    delta=chance(5) * (1 - chance(4)) - math.e * chance(4) * (1 - chance(5)),
)
def laplace_noise_for_add_remove_under_swaps(rows):
    """Two counts move, and the noise is for one."""
    return select(rows, 1, 1 / EPSILON, threshold(1 / EPSILON, 1))


# A lower bound from samples of `dpsel audit`, with a chance of error of 1e-6.
@broken(bound=4, privacy=GREEDY, delta=0.032)
def greedy_as_published(rows):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mechanism = dpsel.GreedyFrequency(calibration="published")
        return dpsel.select_partitions(rows, privacy=GREEDY, max_items_per_user=4, mechanism=mechanism).items


@sound()
def laplace_noise(rows):
    return select(rows, 1, 1 / EPSILON, threshold(1 / EPSILON, 1))


@sound(bound=3)
def laplace_noise_for_three_items(rows):
    return {str(item) for item in select(rows, 3, 3 / EPSILON, threshold(3 / EPSILON, 3))}


@sound(bound=2)
def geometric_noise(rows):
    p = 1 - math.exp(-EPSILON / 2)
    # P[1 + noise >= t] = e^(-(t - 1) epsilon / 2) / (1 + e^(-epsilon / 2)).
    at = 1 + math.ceil(-math.log(share_of(DELTA, 2) * (2 - p)) * 2 / EPSILON)

    def noise():
        return int(math.log(1 - _random.random()) / math.log(1 - p))

    return [i for i, n in counts_of(rows, 2).items() if n + noise() - noise() >= at]


@sound(bound=2, privacy=dpsel.ZCDP(rho=0.25, delta=DELTA))
def gaussian_noise(rows):
    sigma = 2.0
    at = 1 + sigma * _upper(share_of(DELTA, 2))
    return [item for item, n in counts_of(rows, 2).items() if n + _random.gauss(0, sigma) >= at]


@sound()
def counts_and_order_after_noise(rows):
    at = threshold(1 / EPSILON, 1)
    noisy = [(item, n + laplace(1 / EPSILON)) for item, n in counts_of(rows, 1).items()]
    return sorted(((item, n) for item, n in noisy if n >= at), key=lambda pair: -pair[1])


@sound(bound=3, privacy=dpsel.PureDP(epsilon=1.0), domain=4)
def top_of_a_list(rows):
    counts = counts_of(rows, 3)
    noisy = {item: counts.get(item, 0) + laplace(3 / EPSILON) for item in range(4)}
    return sorted(noisy, key=noisy.get, reverse=True)[:2]


@sound(privacy=dpsel.PureDP(epsilon=0.5))
def nothing(rows):
    return {item for _, item in rows if item is None}


@sound(neighbours="swap")
def laplace_noise_and_the_number_of_users(rows):
    """Half the epsilon, because a swap moves two counts. Everybody may know how many users there are."""
    at = threshold(2 / EPSILON, 1)
    return [*select(rows, 1, 2 / EPSILON, at), f"{len({user for user, _ in rows})} users"]


@sound(bound=3)
def weighted_laplace_of_dpsel(rows):
    return dpsel.select_partitions(
        rows, privacy=USUAL, max_items_per_user=3, mechanism=dpsel.WeightedLaplace()
    ).items


@sound(bound=4, privacy=GREEDY)
def greedy_of_dpsel(rows):
    return dpsel.select_partitions(
        rows, privacy=GREEDY, max_items_per_user=4, mechanism=dpsel.GreedyFrequency()
    ).items
