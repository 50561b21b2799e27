"""More selections with known guarantees: written without regard to how the audit searches, then tried once.

They are in the lists of ``audit_selections.py``. Deltas are those of one event at the claimed epsilon, in
closed form: so they are bounds from below. A delta of 1 is that of the limit of large tables.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict

import dpsel
from benches.audit_figures import laplace_tail
from benches.audit_selections import (
    DELTA,
    EPSILON,
    _random,
    broken,
    chance,
    counts_of,
    laplace,
    sets_of,
    sound,
    threshold,
)

#: The threshold for Laplace noise and users of one item.
AT = threshold(1 / EPSILON, 1)
FEW_USERS, FEW_ITEMS, BUCKETS, CHUNK = 20, 5, 16, 4
WIDTH = 3.0


def beats(by: float) -> float:
    """The probability that a difference of two Laplace noises is at least ``by``, which is at least 0."""
    return (2 + by) / 4 * math.exp(-by)


# Broken: users count more than once.


@broken(delta=1.0)
def repeated_rows_are_seen_in_chunks(rows):
    """Rows that repeat are left out in each chunk of four: nine rows count three times."""
    counts = defaultdict(int)
    for start in range(0, len(rows), CHUNK):
        for _, item in set(rows[start : start + CHUNK]):
            counts[item] += 1
    return [item for item, n in counts.items() if n + laplace(1 / EPSILON) >= AT]


@broken(delta=1 - (1 - DELTA) ** 2)
def another_attempt_for_what_was_missed(rows):
    return [
        i for i, n in counts_of(rows, 1).items() if max(laplace(1 / EPSILON), laplace(1 / EPSILON)) >= AT - n
    ]


# Broken: noise is shared, fixed, or of the wrong shape.


@broken(delta=chance(5) - chance(4))
def one_noise_for_each_of_16_buckets(rows):
    noise = [laplace(1 / EPSILON) for _ in range(BUCKETS)]
    return [i for i, n in counts_of(rows, 1).items() if n + noise[hash(i) % BUCKETS] >= AT]


@broken(delta=1.0)
def noise_seeded_by_the_item(rows):
    found = []
    for item, n in counts_of(rows, 1).items():
        own = random.Random(f"secret {item}")  # noqa: S311 - as people do
        if n + own.expovariate(EPSILON) - own.expovariate(EPSILON) >= AT:
            found.append(item)
    return found


@broken(delta=1.0)
def noise_seeded_by_the_number_of_rows(rows):
    own = random.Random(len(rows))  # noqa: S311 - as people do
    counts = sorted(counts_of(rows, 1).items())
    return [i for i, n in counts if n + own.expovariate(EPSILON) - own.expovariate(EPSILON) >= AT]


@broken(delta=1 - chance(4))
def noise_cut_off_at_zero(rows):
    """Items of five users always come out, those of four do not."""
    return [i for i, n in counts_of(rows, 1).items() if n + max(0.0, laplace(1 / EPSILON)) >= AT]


@broken(delta=laplace_tail(-1) - math.e * laplace_tail(1))
def noise_rounded_towards_zero(rows):
    """Zero stands for noise between -1 and 1: for items of four and five users it makes the difference."""
    return [i for i, n in counts_of(rows, 1).items() if n + int(laplace(1 / EPSILON)) >= AT]


#: Uniform noise, and the threshold that an item of one user passes with probability delta.
UNIFORM_AT = 1 + WIDTH * (1 - 2 * DELTA)


@broken(delta=(UNIFORM_AT - 6 + WIDTH) / (2 * WIDTH))
def uniform_noise(rows):
    """Items of seven users always come out, those of six do not."""
    return [i for i, n in counts_of(rows, 1).items() if n + _random.uniform(-WIDTH, WIDTH) >= UNIFORM_AT]


# Broken: the data decide beside the noise.


@broken(delta=1.0)
def five_items_of_the_largest_true_counts(rows):
    counts = counts_of(rows, 1)
    best = sorted(counts, key=lambda item: (-counts[item], item))[:FEW_ITEMS]
    return [item for item in best if counts[item] + laplace(1 / EPSILON) >= AT]


@broken(delta=chance(FEW_USERS))
def nothing_for_few_users(rows):
    if len({user for user, _ in rows}) < FEW_USERS:
        return []
    return [i for i, n in counts_of(rows, 1).items() if n + laplace(1 / EPSILON) >= AT]


@broken(delta=1.0)
def nothing_if_a_user_has_too_many_items(rows):
    """Users are not bounded, but checked."""
    sets = sets_of(rows, 10**9)
    if any(len(items) > 1 for items in sets.values()):
        return []
    return [i for i, n in counts_of(rows, 1).items() if n + laplace(1 / EPSILON) >= AT]


@broken(delta=1.0)
def users_keep_the_item_that_most_have(rows):
    """The one item of a user is chosen by true counts; so one user more can move all the others."""
    everything = counts_of(rows, 10**9)
    counts = defaultdict(int)
    for items in sets_of(rows, 10**9).values():
        counts[min(items, key=lambda item: (-everything[item], item))] += 1
    return [item for item, n in counts.items() if n + laplace(1 / EPSILON) >= AT]


@broken(delta=1.0)
def neighbouring_items_are_counted_together(rows):
    """As with names that differ in case: each name comes out that anybody wrote."""
    together = counts_of([(user, int(item) // 2) for user, item in rows], 1)
    out = {key for key, n in together.items() if n + laplace(1 / EPSILON) >= AT}
    return {item for _, item in rows if int(item) // 2 in out}


# Broken: what is told beside the items.


@broken(delta=1.0)
def with_counts_rounded_to_tens(rows):
    return [(i, round(n, -1)) for i, n in counts_of(rows, 1).items() if n + laplace(1 / EPSILON) >= AT]


# The item goes from 4 to 5 users, comes out, and stands before one of 5.
@broken(delta=chance(5) * (chance(5) * beats(0) - math.exp(EPSILON) * chance(4) * beats(1)))
def ordered_by_other_noise(rows):
    """Noise for the whole epsilon decides what comes out, and once more in which order."""
    counts = counts_of(rows, 1)
    out = [item for item, n in counts.items() if n + laplace(1 / EPSILON) >= AT]
    return sorted(out, key=lambda item: -(counts[item] + laplace(1 / EPSILON)))


# Sound.


@sound()
def noise_rounded_to_whole_numbers(rows):
    """Probabilities are those at half numbers, so at most e^epsilon apart."""
    return [i for i, n in counts_of(rows, 1).items() if n + round(laplace(1 / EPSILON)) >= AT]


@sound()
def the_most_that_a_claim_allows(rows):
    """The largest probabilities that one user more may raise so far; tight everywhere."""
    found = []
    for item, n in counts_of(rows, 1).items():
        likely = 0.0
        for _ in range(n):
            falling = 1 - math.exp(-EPSILON) * (1 - likely - DELTA)
            likely = min(math.exp(EPSILON) * likely + DELTA, falling, 1.0)
        if _random.random() < likely:
            found.append(item)
    return found


@sound(bound=3)
def items_drawn_with_replacement(rows):
    """A user counts three times in all; an item that counts three times still comes out less than delta."""
    counts = defaultdict(int)
    for items in sets_of(rows, 10**9).values():
        for item in _random.choices(sorted(items), k=3):
            counts[item] += 1
    at = threshold(3 / EPSILON, 3)
    return [item for item, n in counts.items() if n + laplace(3 / EPSILON) >= at]


@sound(privacy=dpsel.PureDP(epsilon=1.0), domain=4)
def answers_of_a_public_list_at_random(rows):
    """Whether anybody has an item, told with a probability of e / (1 + e)."""
    held, honest = counts_of(rows, 1), math.e / (1 + math.e)
    return {item for item in range(4) if (item in held) == (_random.random() < honest)}


@sound()
def rounded_noisy_counts(rows):
    noisy = [(item, n + laplace(1 / EPSILON)) for item, n in counts_of(rows, 1).items()]
    return {item: 10 * round(n / 10) for item, n in noisy if n >= AT}
