"""More held-out selections: users, rounds and what is told beside the items; see ``audit_heldout.py``."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections import defaultdict

import dpsel
from benches.audit_figures import laplace_tail, normal_tail, of_coins
from benches.audit_heldout import AT, CLASSICAL, MANY, SOME_SIGMA, hashed, noisy_of_one, sigma_of
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
    share_of,
    sound,
    threshold,
)

#: Users of an item that counts as frequent, and of one that needs no noise any more.
FREQUENT, CERTAIN = 30, 40

# Broken: users are bounded too late, or by the wrong thing.

ROWS_SIGMA = 2 * SOME_SIGMA
ROWS_AT = 1 + ROWS_SIGMA * _upper(share_of(DELTA / 2, 4))


@broken(
    bound=4,
    delta=max(
        normal_tail((ROWS_AT - n - 4) / ROWS_SIGMA)
        - math.exp(EPSILON) * normal_tail((ROWS_AT - n) / ROWS_SIGMA)
        for n in range(1, 40)
    ),
)
def four_rows_of_a_user_instead_of_four_items(rows):
    """The same row four times moves one count by 4, and the noise is for four counts that move by 1."""
    of_users = defaultdict(list)
    for user, item in rows:
        of_users[user].append(item)
    counts = defaultdict(int)
    for items in of_users.values():
        for item in _random.sample(items, min(4, len(items))):
            counts[item] += 1
    return [item for item, n in counts.items() if n + _random.gauss(0, ROWS_SIGMA) >= ROWS_AT]


@broken(bound=3, delta=1.0)
def weights_by_distinct_items_for_every_row(rows):
    """A user's rows weigh one over the number of its items, and repeated rows weigh again."""
    sets = sets_of(rows, 3)
    weights = defaultdict(float)
    for user, item in rows:
        if item in sets[user]:
            weights[item] += 1 / len(sets[user])
    return [item for item, weight in weights.items() if weight + laplace(1 / EPSILON) >= threshold(1, 3)]


ROWS_READ = 50


@broken(delta=chance(ROWS_READ))
def only_the_first_fifty_rows(rows):
    """A user with fifty rows leaves no place for others."""
    return select(rows[:ROWS_READ], 1, 1 / EPSILON, AT)


@broken(delta=1 - (1 - DELTA) ** 4)
def rows_in_four_parts(rows):
    """Each fourth row goes to another machine, and each machine selects with the whole budget."""
    return {item for part in range(4) for item in select(rows[part::4], 1, 1 / EPSILON, AT)}


# The median goes from 1 to 2, if a user more has two items: second items come out, which nobody gave before.
@broken(bound=2, delta=1.0)
def limit_of_the_median_user(rows):
    sets = sets_of(rows, 10**9)
    sizes = sorted(len(items) for items in sets.values())
    limit = min(2, sizes[len(sizes) // 2]) if sizes else 1
    counts = defaultdict(int)
    for items in sets.values():
        for item in sorted(items)[:limit]:
            counts[item] += 1
    return [item for item, n in counts.items() if n + laplace(2 / EPSILON) >= threshold(2 / EPSILON, 2)]


# Five of ten cells have the second item, four the first; one user more makes it four and five.
@broken(delta=of_coins([chance(4), chance(5)], [chance(5), chance(4)], EPSILON))
def users_in_ten_cells(rows):
    """Users whose identifiers have the same hash are taken for one, which keeps its first item."""
    cells = defaultdict(set)
    for user, item in rows:
        cells[hashed(user, 10)].add(item)
    counts = defaultdict(int)
    for items in cells.values():
        counts[min(items)] += 1
    return [item for item, n in counts.items() if n + laplace(1 / EPSILON) >= AT]


SAMPLED_EPSILON = math.log(1 + (math.exp(EPSILON) - 1) * 2)


@broken(delta=2 * DELTA)
def sample_of_users_by_their_names(rows):
    """Noise for a sample of half of the users. But it is known who is in the sample."""
    kept = [(user, item) for user, item in rows if hashed(user, 2) == 0]
    return select(kept, 1, 1 / SAMPLED_EPSILON, threshold(1 / SAMPLED_EPSILON, 1, 2 * DELTA))


# Broken: noise is shared or known.


# Two items of four users each come out together or not at all, until one of them has five.
@broken(delta=chance(5) * (1 - chance(4)) + chance(4) * (1 - chance(5)))
def decisions_kept_for_equal_counts(rows):
    """A cache remembers the decision for each count."""

    @functools.cache
    def comes_out(users):
        return users + laplace(1 / EPSILON) >= AT

    return [item for item, n in counts_of(rows, 1).items() if comes_out(n)]


# Items of four users each never come out both. If one has five users: the noise is between 4 - AT and AT - 5.
@broken(delta=laplace_tail(AT - 5) - laplace_tail(4 - AT))
def noise_and_its_negative(rows):
    """Two items in turn have noise of opposite signs, so that totals are exact."""
    out, noise = [], 0.0
    for place, (item, n) in enumerate(sorted(counts_of(rows, 1).items())):
        noise = -noise if place % 2 else laplace(1 / EPSILON)
        if n + noise >= AT:
            out.append(item)
    return out


@broken(delta=1.0)
def noise_seeded_by_the_table(rows):
    own = random.Random(repr(sorted(rows)))  # noqa: S311 - as people do
    counts = sorted(counts_of(rows, 1).items())
    return [i for i, n in counts if n + own.expovariate(EPSILON) - own.expovariate(EPSILON) >= AT]


@broken(delta=1.0)
def numbers_with_noise_of_256_values(rows):
    """Each noisy number belongs to one true number only."""

    def noise():
        size = math.log(_random.randrange(1, 129) / 128)
        return size if _random.random() < 1 / 2 else -size

    noisy = {item: n + noise() / EPSILON for item, n in counts_of(rows, 1).items()}
    return {item: n for item, n in noisy.items() if n >= AT + 2}


@broken(bound=2, privacy=dpsel.PureDP(epsilon=1.0), delta=1.0, domain=5)
def top_of_a_list_with_one_noise(rows):
    counts, noise = counts_of(rows, 2), laplace(2 / EPSILON)
    noisy = {item: counts.get(item, 0) + noise for item in range(5)}
    return sorted(noisy, key=noisy.get, reverse=True)[:2]


# Broken: rounds.


def in_three_rounds(rows, at):
    sets, out = sets_of(rows, 10**9), set()
    for _ in range(3):
        left = {user: sorted(items - out) for user, items in sets.items()}
        given = [(user, _random.choice(items)) for user, items in left.items() if items]
        out |= set(select(given, 1, 3 / EPSILON, at))
    return out


@broken(delta=1 - (1 - DELTA) ** 3)
def rounds_that_do_not_divide_delta(rows):
    """A user gives one item to each round; the rounds divide epsilon, but not delta."""
    sets, out = sets_of(rows, 10**9), set()
    for _ in range(3):
        given = [
            (user, _random.choice(sorted(rest))) for user, items in sets.items() if (rest := items - out)
        ]
        out |= set(select(given, 1, 3 / EPSILON, threshold(3 / EPSILON, 1)))
    return out


@broken(delta=1 - (1 - DELTA) ** 50)
def again_until_something_comes_out(rows):
    for _ in range(50):
        if out := select(rows, 1, 1 / EPSILON, AT):
            return out
    return []


# Three items have no users, like three others. Those of the user come first less often then.
@broken(
    bound=3,
    privacy=dpsel.PureDP(epsilon=1.0),
    epsilon=sum(math.log((left + 3 * math.e) / (left + 3)) for left in (1, 2, 3)),
    domain=6,
)
def three_draws_with_the_whole_epsilon_each(rows):
    counts, out = counts_of(rows, 3), []
    for _ in range(3):
        rest = [item for item in range(6) if item not in out]
        out += _random.choices(rest, [math.exp(EPSILON * counts.get(item, 0)) for item in rest])
    return out


SPARSE_AT, SPARSE_ITEMS, BESIDE = 18.0, 6, 20


def _coins(number: int, chance_of_one: float) -> list[float]:
    """The law of the number of heads."""
    return [
        math.comb(number, n) * chance_of_one**n * (1 - chance_of_one) ** (number - n)
        for n in range(number + 1)
    ]


def _sparse(users: int) -> list[float]:
    """How many come out of six items of so many users each, and of twenty items of 17 users each."""
    law, steps = [0.0] * ((SPARSE_ITEMS + 1) * (BESIDE + 1)), 400
    for step in range(steps):
        share = (step + 0.5) / steps
        at = SPARSE_AT + 2 * (math.log(2 * share) if share < 1 / 2 else -math.log(2 - 2 * share))
        own = _coins(SPARSE_ITEMS, laplace_tail((at - users) / 2))
        beside = _coins(BESIDE, laplace_tail((at - 17) / 2))
        for place, (p, q) in enumerate(itertools.product(own, beside)):
            law[place] += p * q / steps
    return law


# Twenty items show the noise of the threshold; then each of six answers is worth half of epsilon.
@broken(
    bound=SPARSE_ITEMS,
    delta=sum(max(0.0, q - math.exp(EPSILON) * p) for p, q in zip(_sparse(17), _sparse(18), strict=True)),
)
def sparse_vector_without_an_end(rows):
    """Half of epsilon for the threshold and half for each answer, however many there are."""
    at = SPARSE_AT + laplace(2 / EPSILON)
    return [item for item, n in counts_of(rows, SPARSE_ITEMS).items() if n + laplace(2 / EPSILON) >= at]


# Broken: what the data decide, or what is told beside the items.


@broken(delta=1.0)
def frequent_items_first(rows):
    """Items of thirty users or more stand before the others."""
    counts = counts_of(rows, 1)
    return sorted(noisy_of_one(rows), key=lambda item: (counts[item] < FREQUENT, item))


@broken(delta=1.0)
def with_the_number_of_items_left_out(rows):
    out = noisy_of_one(rows)
    return [*out, f"and {len(counts_of(rows, 1)) - len(out)} more"]


@broken(delta=1.0)
def others_in_one_class(rows):
    """What does not come out is there as `others`, which an empty table has not."""
    out = noisy_of_one(rows)
    return {item if item in out else "others" for _, item in rows}


@broken(delta=1.0)
def best_three_of_the_items_there_are(rows):
    """Top-k with noise that is right for a public list, on a list that is not public."""
    noisy = {item: n + laplace(1 / EPSILON) for item, n in counts_of(rows, 1).items()}
    return sorted(noisy, key=noisy.get, reverse=True)[:3]


@broken(delta=laplace_tail(-1))
def numbers_of_at_most_all_users(rows):
    """A noisy number above the number of users is cut off there."""
    users = len({user for user, _ in rows})
    return {item: min(n, users) for item, n in noisy_of_one(rows).items()}


@broken(bound=2, delta=laplace_tail((threshold(2, 2) - MANY) / 2))
def items_of_users_who_have_a_released_one(rows):
    """The rows of a user are shown if one of its items comes out, as a join by user does."""
    sets = sets_of(rows, 2)
    kept = [(user, item) for user, items in sets.items() for item in items]
    out = set(select(kept, 2, 2 / EPSILON, threshold(2 / EPSILON, 2)))
    return {item for items in sets.values() if not out.isdisjoint(items) for item in items}


@broken(delta=chance(255))
def counts_of_eight_bits(rows):
    """An item of 256 users has none."""
    return [item for item, n in counts_of(rows, 1).items() if n % 256 + laplace(1 / EPSILON) >= AT]


@broken(delta=chance(MANY))
def counts_of_a_sketch(rows):
    """Items share 32 counters, so an item of one user may have the count of another."""
    cells = defaultdict(set)
    for user, item in dict(rows).items():
        cells[hashed(item, 32)].add(user)
    return {i for i in dict(rows).values() if len(cells[hashed(i, 32)]) + laplace(1 / EPSILON) >= AT}


# Sound.


@sound()
def no_noise_for_items_of_forty_users(rows):
    """Items of thirty-nine users are missed with a probability of e^-34 anyway."""
    counts = counts_of(rows, 1).items()
    return [item for item, n in counts if n >= CERTAIN or n + laplace(1 / EPSILON) >= AT]


@sound()
def users_in_four_parts(rows):
    """Each user's rows go to one machine, and each machine selects with the whole budget."""
    parts = defaultdict(list)
    for user, item in rows:
        parts[hashed(user, 4)].append((user, item))
    return {item for part in parts.values() for item in select(part, 1, 1 / EPSILON, AT)}


@sound()
def at_least_half_of_the_largest_noisy_count(rows):
    noisy = noisy_of_one(rows)
    return [item for item, n in noisy.items() if n >= max(noisy.values()) / 2]


@sound()
def random_sample_of_users(rows):
    """Half of the users, drawn anew each time: e^epsilon - 1 and delta are halved."""
    kept = [(user, item) for user, item in dict(rows).items() if _random.random() < 1 / 2]
    return select(kept, 1, 1 / SAMPLED_EPSILON, threshold(1 / SAMPLED_EPSILON, 1, 2 * DELTA))


@sound(bound=3)
def weights_by_rows(rows):
    """A user's items share a weight of 1 by their rows."""
    sets, of_users = sets_of(rows, 3), defaultdict(list)
    for user, item in rows:
        if item in sets[user]:
            of_users[user].append(item)
    weights = defaultdict(float)
    for items in of_users.values():
        for item in items:
            weights[item] += 1 / len(items)
    return [item for item, weight in weights.items() if weight + laplace(1 / EPSILON) >= threshold(1, 3)]


@sound()
def rounds_that_divide_everything(rows):
    """A user gives one item to each round, and the rounds divide epsilon and delta."""
    sets, out = sets_of(rows, 10**9), set()
    at = threshold(3 / EPSILON, 1, share_of(DELTA, 3))
    for _ in range(3):
        given = [
            (user, _random.choice(sorted(rest))) for user, items in sets.items() if (rest := items - out)
        ]
        out |= set(select(given, 1, 3 / EPSILON, at))
    return out


@sound(bound=6, privacy=dpsel.PureDP(epsilon=1.0), domain=6)
def three_draws_with_a_third_each(rows):
    """All counts move up or down together, so an exponent of epsilon / 3 is right for any number of items."""
    counts, out = counts_of(rows, 6), []
    for _ in range(3):
        rest = [item for item in range(6) if item not in out]
        out += _random.choices(rest, [math.exp(EPSILON / 3 * counts.get(item, 0)) for item in rest])
    return out


@sound(bound=4, privacy=dpsel.PureDP(epsilon=1.0), domain=4)
def first_item_above_a_noisy_threshold(rows):
    """Sparse vector with one answer; counts of users only rise with a user more."""
    counts, at = counts_of(rows, 4), 5 + laplace(2 / EPSILON)
    return [item for item in range(4) if counts.get(item, 0) + laplace(2 / EPSILON) >= at][:1]


RIGHT_SIGMA = sigma_of(8.0, DELTA / 2)


@sound(privacy=CLASSICAL)
def gaussian_noise_at_a_large_epsilon(rows):
    noisy = {item: n + _random.gauss(0, RIGHT_SIGMA) for item, n in counts_of(rows, 1).items()}
    return {item: n for item, n in noisy.items() if n >= 1 + RIGHT_SIGMA * _upper(DELTA / 2)}
