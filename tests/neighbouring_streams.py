"""Streams of rows over time, and the same noisy values with and without one user."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from fractions import Fraction

from reference import series as ref


def rows(**held: str) -> ref.Rows:
    return {user: frozenset(items) for user, items in held.items()}


def gaussian(seed: int, unit: float) -> ref.Noise:
    """Noise that is the same whenever it is asked for, as words of a key are."""
    drawn: dict = {}
    source = random.Random(seed)
    order = [(release, number, item) for release in range(12) for number in range(2) for item in range(12)]
    for place in order:
        drawn[place] = math.floor(source.gauss(0, unit))
    return lambda release, number, item: drawn[release, number, item]


def random_stream(seed: int, releases: int) -> ref.Stream:
    """Twelve users with rows over time, some of whom do what the lists say."""
    source = random.Random(seed)
    plan = [
        {user: frozenset(source.sample(range(12), source.choice((0, 0, 1, 3)))) for user in range(12)}
        for _ in range(releases)
    ]

    def stream(number: int, lists: list[frozenset]) -> ref.Rows:
        known = frozenset().union(*lists)
        return {
            user: frozenset((item + len(known)) % 12 for item in items) if user % 3 == 0 else items
            for user, items in plan[number].items()
        }

    return stream


UNIT = 1 << 16
YEAR = ref.Plan(
    blocks=(0, 2, 4),
    releases=10,
    rounds=2,
    norm=int(UNIT * UNIT * 0.8),
    threshold=lambda n: math.ceil(1.6 * UNIT * math.sqrt(n)),
    cap=lambda n, r: int(UNIT * min(0.9, 1.5 / math.sqrt(r)) * math.sqrt(n)),
    reach=5,
    unit=UNIT,
    pace=ref.falling(ref.power(10)),
    importance=ref.on_course,
    weighing=lambda release: math.isqrt(ref.power(10)[release]),
)


def replay(kind: type[ref.Series], plan: ref.Plan, stream: ref.Stream, noise: ref.Noise, user) -> tuple:
    """The lists with a user, the lists without it at the same noisy values, and whether the event occurred.

    The noise without the user is the noise with it plus what the user gave.
    """
    middle = ref.play(kind(plan, noise, user), stream)
    given = middle.watched_weights

    def moved(release: int, number: int, item) -> int:
        return noise(release, number, item) + given.get((release, number, item), 0)

    present = ref.play(kind(plan, noise), stream)
    absent = ref.play(kind(plan, moved), ref.without(stream, user))
    return present.lists, absent.lists, bool(middle.differences)


#: The noise of the enumerations: symmetric, and less likely the larger it is.
LAW = {-1: Fraction(1, 4), 0: Fraction(1, 2), 1: Fraction(1, 4)}


def divergence(law: dict, other: dict, epsilon: float) -> float:
    factor = math.exp(epsilon)
    return sum(max(float(p) - factor * float(other.get(x, 0)), 0.0) for x, p in law.items())


def band(releases: int, threshold: int, cap: int) -> Fraction:
    """The probability that the noise of so many releases is below the threshold, by at most the cap."""
    sums = {0: Fraction(1)}
    for _ in range(releases):
        after: dict = defaultdict(Fraction)
        for total, p in sums.items():
            for value, q in LAW.items():
                after[total + value] += p * q
        sums = after
    return sum((p for total, p in sums.items() if threshold - cap <= total < threshold), Fraction(0))


def threshold_part(plan: ref.Plan) -> Fraction:
    """The sum over comparisons and ranks of Theorem 1."""
    ages = [number - plan.block(number)[0] + 1 for number in range(plan.releases)]
    return sum(
        (
            band(age, plan.threshold(age), plan.cap(age, rank))
            for age in ages
            for rank in range(1, plan.reach + 1)
        ),
        Fraction(0),
    )
