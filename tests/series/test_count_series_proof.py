"""The proof of `docs/algorithms/count_series.md`, step by step, on streams that one can see through."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest

from dpsel import _core
from reference import count_series as ref

MP = mpmath.mp.clone()
MP.dps = 40
UNIT = 2**30

#: The noise of the enumerations.
LAW = {-1: Fraction(1, 4), 0: Fraction(1, 2), 1: Fraction(1, 4)}
TINY = ref.Plan(releases=3, weights=(2, 1), decode=(2, 1, 1), most_items=1, most_releases=2)


def curious(number: int, numbers: list[dict]) -> ref.Rows:
    """All do what the numbers say, `u` too."""
    if not numbers:
        return {"u": frozenset("a"), "v": frozenset("ab")}
    last = numbers[-1]
    low = frozenset(item for item, users in last.items() if users < 1)
    return {"u": frozenset("ab") - low, "v": low, "w": frozenset("b") if number > 1 else low}


def steady(number: int, _: list[dict]) -> ref.Rows:
    return {"u": frozenset("ab"), "v": frozenset("a" if number % 2 else "b")}


CASES = {
    "steady": (TINY, steady, None),
    "curious": (TINY, curious, None),
    "curious, prefix sums": (replace(TINY, weights=(4, 2, 1), most_releases=3), curious, None),
    "one release": (replace(TINY, most_releases=1, of_one_release=True), curious, 1),
}


def drift(series: ref.Series, user, release: int | None):
    """What a user gives to each noisy value, in all releases or by the rows of one."""

    def of(number: int, item) -> int:
        counted = [each for each in series.all_counted[user][item] if release in (None, each)]
        return sum(series.plan.weight(number - each) for each in counted)

    return of


def replay(plan: ref.Plan, stream: ref.Stream, noise: ref.Noise, user, release: int | None, named) -> tuple:
    """A run with a user, one without it at the same noisy values, and the square of the norm."""
    present = ref.play(ref.Series(plan, noise), stream, named)
    given = drift(present, user, release)
    moved = lambda number, item: noise(number, item) + given(number, item)  # noqa: E731
    absent = ref.play(ref.Series(plan, moved), ref.without(stream, user, release), named)
    norm = sum(given(number, item) ** 2 for number in range(plan.releases) for item in present.named)
    return present, absent, norm


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_the_same_at_the_same_noisy_values(case) -> None:
    """Theorems 1 and 2, for every noise: what a user changes is a shift, of bounded norm on every path."""
    plan, stream, release = CASES[case]
    laws: list[dict] = [defaultdict(Fraction), defaultdict(Fraction)]
    noisy: list[dict] = [defaultdict(Fraction), defaultdict(Fraction)]
    largest = 0
    for values in itertools.product(LAW, repeat=2 * plan.releases):
        noise = lambda number, item, values=values: values[2 * number + "ab".index(item)]  # noqa: E731
        present, absent, norm = replay(plan, stream, noise, "u", release, "ab")
        assert present.numbers == absent.numbers
        assert present.noisy == absent.noisy
        assert norm <= plan.norm
        largest = max(largest, norm)
        chance = math.prod(LAW[value] for value in values)
        for world, told in enumerate((stream, ref.without(stream, "u", release))):
            run = ref.play(ref.Series(plan, noise), told, "ab")
            laws[world][str(run.numbers)] += chance
            noisy[world][str(run.noisy)] += chance
    assert largest > 0
    for epsilon in (0.0, 0.5, 1.0):
        for one, other in ((0, 1), (1, 0)):
            assert divergence(laws[one], laws[other], epsilon) <= divergence(
                noisy[one], noisy[other], epsilon
            )


def test_a_deletion_that_reads_rows_breaks_the_unit_of_one_release() -> None:
    """Why no row may decide about deletions there: one row less brings in those of later releases."""
    plan = replace(TINY, releases=8, weights=(1,), decode=(1,), most_releases=1, of_one_release=True)
    runs = []
    for first in (frozenset("a"), frozenset()):
        series = ref.Series(plan, lambda *_: 0)
        series.release({"u": first}, named="a")
        for number in range(1, 8):
            series.release({"u": frozenset("a")}, forget="u" if number == 1 and first else ())
        runs.append(series.noisy["a"])
    moved = sum((one - other) ** 2 for one, other in zip(*runs, strict=True))
    assert moved == 8 * plan.norm


def divergence(law: dict, other: dict, epsilon: float) -> float:
    factor = math.exp(epsilon)
    return sum(max(float(p) - factor * float(other.get(x, 0)), 0.0) for x, p in law.items()) + 1e-12


def plan_of(**asked) -> dict:
    usual = {"epsilon": 1.0, "delta": 1e-3, "rho": None, "releases": 8, "window": 1, "max_items_per_user": 2,
             "max_releases_per_item": 3, "is_of_one_release": False}  # fmt: skip
    return json.loads(_core.count_series_plan(**(usual | asked)))


def reference(found: dict) -> ref.Plan:
    asked = found["asked"]
    return ref.Plan(
        releases=asked["releases"],
        weights=tuple(found["weights"]),
        decode=tuple(found["decode"]),
        most_items=asked["max_items_per_user"],
        most_releases=asked["max_releases_per_item"],
        of_one_release=asked["unit"] == "user_release",
    )


@pytest.mark.parametrize("seed", range(12))
def test_neighbouring_streams_with_equal_randomness(seed) -> None:
    """Streams in which all react, at the weights of real plans; users of many items and of all releases."""
    chance = random.Random(seed)
    of_one = seed % 3 == 2
    each = 1 if of_one else chance.choice([1, 2, 5])
    window = chance.choice([1, 3, 8])
    plan = reference(plan_of(window=window, max_releases_per_item=each, is_of_one_release=of_one))
    drawn = {(t, i): math.floor(chance.gauss(0, 3 * UNIT)) for t in range(8) for i in range(6)}
    base = [
        {user: chance.sample(range(6), chance.choice([0, 1, 2, 6])) for user in range(9)} for _ in range(8)
    ]

    def stream(number: int, numbers: list[dict]) -> ref.Rows:
        shift = sum(numbers[-1].values()) if numbers else 0
        return {
            user: frozenset((item + shift * (user % 2)) % 6 for item in items)
            for user, items in base[number].items()
        }

    for user in range(9):
        release = chance.randrange(8) if of_one else None
        present, absent, norm = replay(plan, stream, lambda t, i: drawn[t, i], user, release, range(6))
        assert (present.numbers, present.noisy) == (absent.numbers, absent.noisy)
        assert norm <= plan.norm


@pytest.mark.parametrize("window", [1, 2, 5, 8])
@pytest.mark.parametrize("each", [1, 3, 8])
def test_the_first_releases_are_the_worst(window, each) -> None:
    """Lemma 1, and the norm of the code, for all sets of releases."""
    plan = reference(plan_of(window=window, max_releases_per_item=each))
    norms = {
        counted: plan.norm_of(counted)
        for size in range(each + 1)
        for counted in itertools.combinations(range(8), size)
    }
    assert max(norms.values()) == norms[tuple(range(each))]
    assert plan.norm == 2 * norms[tuple(range(each))]


PRIVACIES = [
    {"epsilon": 1.765, "delta": 4.96e-5},
    {"epsilon": 6.0, "delta": 1e-6},
    {"epsilon": 0.1, "delta": 1e-10},
    {"epsilon": None, "rho": 0.5, "delta": 1e-6},
]


@pytest.mark.parametrize("privacy", PRIVACIES)
@pytest.mark.parametrize(("window", "each"), [(1, 52), (4, 2), (52, 1)])
def test_the_claim_is_that_of_a_user_that_spends_all_it_has(privacy, window, each) -> None:
    """The exact law of what one user changes: the claim holds, and nothing of it is given away."""
    found = plan_of(**privacy, releases=52, window=window, max_releases_per_item=each)
    plan, stated = reference(found), found["certificate"]
    mu = MP.sqrt(2 * plan.norm_of(range(each))) / UNIT / MP.mpf(found["sigma"])
    assert mu <= stated["mu"] <= mu * (1 + MP.mpf(1e-12))
    slack = 52 * plan.norm / UNIT**2 * (28 * MP.mpf(found["sigma"]) * UNIT + 4) * MP.mpf(2) ** -128
    if privacy["epsilon"] is None:
        assert (1 - 1e-9) * privacy["rho"] < mu**2 / 2 <= privacy["rho"]
        assert slack <= stated["reserve"] <= privacy["delta"]
        return
    epsilon = MP.mpf(privacy["epsilon"])
    tail = lambda x: MP.erfc(x / MP.sqrt(2)) / 2  # noqa: E731
    delta = tail(epsilon / mu - mu / 2) - MP.exp(epsilon) * tail(epsilon / mu + mu / 2)
    assert delta <= stated["delta_noise"] <= delta * (1 + MP.mpf(1e-6))
    assert 0.99 * privacy["delta"] < delta <= privacy["delta"] - MP.mpf(stated["reserve"])
    assert (1 + MP.exp(epsilon)) * slack <= stated["reserve"]


#: Window, releases of a user in an item, and standard deviations: at q = 0, and with the chosen weights.
TABLE = [(1, 1, 1.0, 1.0), (4, 1, 2.0, 1.59), (13, 1, 3.61, 2.12), (52, 1, 7.21, 2.32), (52, 4, 14.42, 7.83),
         (4, 13, 7.21, 7.21), (52, 52, 52.0, 52.0)]  # fmt: skip


@pytest.mark.parametrize(("window", "each", "plain", "chosen"), TABLE)
def test_the_noise_is_that_of_the_page(window, each, plain, chosen) -> None:
    found = plan_of(releases=52, window=window, max_releases_per_item=each, max_items_per_user=1)
    spread = math.hypot(*found["decode"]) / found["decode"][0]
    assert round(math.sqrt(reference(found).norm) / UNIT * spread, 2) == chosen
    assert round(math.sqrt(each * window), 2) == plain
    # The two matrices make window sums.
    weights = found["weights"] + [0] * 52
    product = [
        sum(found["decode"][k] * weights[t - k] for k in range(t + 1)) / found["decode"][0] / UNIT
        for t in range(52)
    ]
    assert product == pytest.approx([1.0] * window + [0.0] * (52 - window), abs=1e-9)
