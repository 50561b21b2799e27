"""Theorem 3 of `docs/algorithms/count_series.md`, for all noise of a tiny series that names the items.

Everybody reacts to the lists and the numbers, `u` too. In the middle process all do what its own lists say.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import pytest

from neighbouring_streams import LAW, divergence, threshold_part
from reference import count_series as counts
from reference import series as ref

LISTS = ref.Plan(
    blocks=(0, 1), releases=2, rounds=1, norm=6, threshold=lambda _: 1, cap=lambda _, __: 1, reach=2
)
NUMBERS = counts.Plan(releases=2, weights=(2, 1), decode=(2, 1), most_items=1, most_releases=2)
#: The noise of numbers has two values, so that all of it can be gone through.
COIN = (-1, 1)


def curious(number: int, lists: list[frozenset], numbers: list[dict]) -> ref.Rows:
    """Later rows follow from lists and from numbers."""
    if number == 0:
        return {"u": frozenset("ab"), "v": frozenset("a")}
    low = frozenset(item for item, users in numbers[0].items() if users < 1)
    return {"u": frozenset("ab") - low, "v": frozenset("b") | lists[0], "w": low}


def steady(number: int, *_: list) -> ref.Rows:
    return {"u": frozenset("ab"), "v": frozenset("ab"[number])}


def late(number: int, lists: list[frozenset], numbers: list[dict]) -> ref.Rows:
    """`u` comes with the second release, and with what is known by then."""
    if number == 0:
        return {"v": frozenset("ab")}
    return {"u": frozenset("ab") if numbers[0] else frozenset("a"), "x": frozenset("b") - lists[0]}


def joint(stream, noises, *, middle: bool, present: bool):
    """Lists and numbers after all releases; in the middle process `u` has rows in both worlds."""
    of_lists, of_numbers = noises
    series = ref.Series(LISTS, of_lists, "u" if middle else None, present=present)
    numbers = counts.Series(NUMBERS, of_numbers)
    for number in range(LISTS.releases):
        told = stream(number, list(series.lists), list(numbers.numbers))
        others = {user: items for user, items in told.items() if user != "u"}
        new = series.release(told if middle or present else others)
        numbers.release(told if present else others, named=sorted(new))
    return series, numbers


def shown(run) -> tuple:
    series, numbers = run
    return tuple(series.lists), str(numbers.numbers)


def all_noise():
    for values in itertools.product(LAW, repeat=4):
        chance = math.prod(LAW[value] for value in values) * Fraction(1, 16)
        for coins in itertools.product(COIN, repeat=4):
            of_lists = lambda release, _, item, values=values: values[2 * release + "ab".index(item)]  # noqa: E731
            of_numbers = lambda release, item, coins=coins: coins[2 * release + "ab".index(item)]  # noqa: E731
            yield (of_lists, of_numbers), chance


@pytest.mark.parametrize("stream", [curious, steady, late])
def test_lists_and_numbers_are_as_close_as_all_noisy_values_together(stream) -> None:
    values: list[dict] = [defaultdict(Fraction), defaultdict(Fraction)]
    outputs: list[dict] = [defaultdict(Fraction), defaultdict(Fraction)]
    event = [Fraction(0), Fraction(0)]
    for noises, chance in all_noise():
        for world, present in enumerate((True, False)):
            series, numbers = joint(stream, noises, middle=True, present=present)
            real = joint(stream, noises, middle=False, present=present)
            first = min((at for at, _ in series.differences), default=LISTS.releases)
            if present:
                assert real[0].lists[:first] == series.lists[:first]
                assert real[1].numbers[:first] == numbers.numbers[:first]
            else:
                assert shown(real) == shown((series, numbers))
            seen = (tuple(sorted(series.values.items())), str(numbers.noisy))
            values[world][seen] += chance
            event[world] += chance if series.differences else 0
            outputs[world][shown(real)] += chance
    assert 0 < max(event) <= threshold_part(LISTS)
    for epsilon in (0.0, 0.3, 1.0):
        for one, other in ((0, 1), (1, 0)):
            bound = divergence(values[one], values[other], epsilon) + float(event[one])
            assert divergence(outputs[one], outputs[other], epsilon) <= bound + 1e-12
