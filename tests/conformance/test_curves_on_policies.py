"""Curves for weights that users change in whole quanta or by any real distance."""

from __future__ import annotations

import itertools
import json
import random
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf

import dpsel
from dpsel import _core
from reference import adaptive, curves, sequential
from reference import mechanisms as reference
from strategies import keys, max_items, neighbours
from support import report_of, select, table

mp.dps = 60

UNIT = curves.UNIT
PRIVACY = dpsel.ApproxDP(epsilon=1.765, delta=4.96e-5)
#: Orders above and below 2 and 3, at which the proof distinguishes cases; norms with and without slack.
KINDS = [
    {"alpha": 10.4, "divergence": 0.972, "delta": 2.4e-5, "norm": UNIT},
    {"alpha": 10.4, "divergence": 0.972, "delta": 2.4e-5, "norm": UNIT + UNIT // 16},
    {"alpha": 30.0, "divergence": 0.3, "delta": 1e-6, "norm": UNIT + UNIT // 10_000},
    {"alpha": 2.5, "divergence": 4.0, "delta": 1e-3, "norm": UNIT},
    {"alpha": 1.4, "divergence": 9.0, "delta": 1e-9, "norm": UNIT},
]
#: Regions of approximations and divergences, for the same cases.
REGIONS = [
    {"alpha": 9.7, "epsilon": 1.765, "delta": 4.96e-5, "norm": UNIT + UNIT // 10_000},
    {"alpha": 30.0, "epsilon": 0.7, "delta": 1e-6, "norm": UNIT},
    {"alpha": 2.5, "epsilon": 8.0, "delta": 1e-3, "norm": UNIT + UNIT // 16},
    {"alpha": 4.0, "epsilon": 3.0, "delta": 0.05, "norm": UNIT},
]
CASES = range(len(KINDS) + len(REGIONS))


@cache
def continuous(at: int, parts: int = 128) -> tuple[dict, list[int]]:
    """A continuous curve on a coarse grid, where the straight lines are longest."""
    if at < len(KINDS):
        curve = {"kind": "l2_continuous"} | KINDS[at]
    else:
        curve = {"kind": "l2_continuous_region"} | REGIONS[at - len(KINDS)]
    spec = {"curve": curve, "quantum": UNIT // parts, "half": 0}
    return spec, _core.curve_words(json.dumps(spec))


def probability(spec: dict, words: list[int], weight: int) -> mpf:
    return mpf(curves.words_at(spec, words, weight)) / 2**128


@pytest.mark.parametrize("at", CASES)
def test_the_first_line_is_a_parabola_and_all_others_are_straight(at) -> None:
    spec, words = continuous(at)
    quantum = spec["quantum"]
    assert words[0] == 0
    assert words[1] > 0
    assert words[1] % quantum**2 == 0
    assert all(here <= after for here, after in itertools.pairwise(words))
    assert all(entry % quantum == 0 for entry in words)
    assert 2**128 - words[-1] <= 2**84


@pytest.mark.parametrize("at", CASES)
def test_changes_of_any_size_cost_their_square(at) -> None:
    """Weights and changes that are multiples of nothing: near the ends, small and large, next to the grid."""
    spec, words = continuous(at)
    quantum, norm = spec["quantum"], spec["curve"]["norm"]
    chance = random.Random(at)
    for _ in range(3000 if at < len(KINDS) else 1500):
        cells = chance.choice([3, 10, 200, len(words)])
        low = chance.randrange(min(cells, len(words)) * quantum)
        low = chance.choice([low, low // quantum * quantum, low // quantum * quantum + 1])
        change = chance.choice(
            [
                int(2 ** chance.uniform(0, 30)),
                chance.randint(1, quantum),
                chance.randint(1, 8 * quantum),
                chance.randint(1, norm // quantum) * quantum,
                chance.randint(1, norm // quantum) * quantum - low % quantum,
                norm,
            ]
        )
        change = min(max(change, 1), norm)
        below, above = (probability(spec, words, weight) for weight in (low, low + change))
        assert below <= above
        assert curves.pair(spec["curve"], mpf(change) / UNIT)(below, above), (low, change)


@pytest.mark.parametrize("at", [0, 1, len(KINDS)])
def test_the_norm_is_used_up(at) -> None:
    """Somewhere a change by nearly the whole norm costs nearly all that it may."""
    spec, words = continuous(at)
    quantum, norm = spec["quantum"], spec["curve"]["norm"]
    change = norm // quantum * quantum
    smaller = pair_of_less(spec["curve"], mpf(change) / UNIT)
    below = [mpf(word) / 2**128 for word in words]
    ends = zip(below, below[change // quantum :], strict=False)
    assert not all(smaller(q, p) for q, p in ends)


def pair_of_less(curve: dict, change: mpf):
    """The constraint with 0.2 % less of everything."""
    budget = [name for name in ("divergence", "epsilon", "delta") if name in curve]
    return curves.pair(curve | {name: 0.998 * curve[name] for name in budget}, change)


def shipped(mechanism, bound: int) -> tuple[dict, list[int]]:
    release = select(table([]), privacy=PRIVACY, max_items_per_user=bound, mechanism=mechanism)
    (round_,) = report_of(release)["calibration"]["rounds"]
    return round_, _core.curve_words(json.dumps(round_))


def test_the_policys_norm_is_the_curves() -> None:
    for passes in (1, 4):
        round_, _ = shipped(dpsel.PolicyGaussian(passes=passes, release="curve"), 100)
        policy = round_["weighting"]["policy_l2"]
        assert policy["norm"] == round_["curve"]["norm"] > UNIT
        assert policy["cutoff"] > round_["half"]


def test_random_users_of_a_policy_within_delta() -> None:
    """Any changes of norm 1 and slack, in both directions at once, of items with any weights."""
    spec, words = shipped(dpsel.PolicyGaussian(release="curve"), 100)
    norm, chance = spec["curve"]["norm"], random.Random(7)
    worst = mpf(0)
    for _ in range(150):
        size = chance.choice([1, 2, 3, 6])
        direction = [chance.gauss(0, 1) if chance.random() < 0.5 else 1.0 for _ in range(size)]
        length = sum(x * x for x in direction) ** 0.5
        changes = [int(norm * x / length) for x in direction]
        base = chance.choice([0, 1, chance.randrange(2**21), chance.randrange(16 * UNIT)])
        groups = []
        for change in changes:
            low = base if chance.random() < 0.7 else chance.randrange(16 * UNIT)
            ends = [probability(spec, words, max(0, weight)) for weight in (low, low + change)]
            groups.append((1, *ends))
        worst = max(worst, *curves.divergence(groups, PRIVACY.epsilon))
    assert mpf(PRIVACY.delta) / 3 < worst <= mpf(PRIVACY.delta)


def test_extreme_items_of_a_policy_within_delta() -> None:
    """New items, of any share of the norm, beside known ones: approximation and divergence alone."""
    spec, words = shipped(dpsel.PolicyGaussian(release="curve"), 100)
    norm, half, chance = spec["curve"]["norm"], spec["half"], random.Random(3)
    worst = mpf(0)
    for _ in range(60):
        sizes = [chance.choice([1, 2, 5, 12]) for _ in range(2)]
        share = chance.random()
        changes = [
            int(norm * (part / size) ** 0.5) for part, size in zip((share, 1 - share), sizes, strict=True)
        ]
        bases = [chance.choice([0, 1, chance.randrange(2**24)]), int(half * chance.uniform(0.1, 1.2))]
        groups = [
            (size, *(probability(spec, words, weight) for weight in (low + change, low)))
            for size, change, low in zip(sizes, changes, bases, strict=True)
        ]
        worst = max(worst, *curves.divergence(groups, PRIVACY.epsilon))
    assert mpf(PRIVACY.delta) / 2 < worst <= mpf(PRIVACY.delta)


@given(tables=neighbours(), bound=max_items, key=keys)
def test_a_user_places_whole_quanta_of_one_unit_in_all(tables, bound, key) -> None:
    for passes, quantum in ((1, UNIT // 100), (3, UNIT // 7), (2, 12345)):
        parameters = {"cutoff": 2 * UNIT + 99, "passes": passes, "quantum": quantum}
        before, after = (
            sequential.descent_l1(reference.bound(reference.sets_of(rows), bound, key), parameters, key)
            for rows in tables
        )
        changes = [after.get(item, 0) - before.get(item, 0) for item in before | after]
        assert min(changes, default=0) >= 0
        assert sum(changes) <= UNIT
        assert all(change % quantum == 0 for change in changes)


@given(tables=neighbours(), bound=max_items, key=keys, data=st.data())
def test_a_user_of_adaptive_weights_moves_one_unit_of_norm_whatever_the_importances(
    tables, bound, key, data
) -> None:
    kept = [reference.bound(reference.sets_of(rows), bound, key) for rows in tables]
    items = sorted({item for sets in kept for held in sets.values() for item in held}, key=str)
    some = {item: data.draw(st.sampled_from([0, 1, 200, 255, 256, 256, 256])) for item in items}
    for limit, most, importances in ((UNIT // 3, 7, some), (UNIT, 50, None), (12345, 2, some), (9, 3, None)):
        before, after = (
            adaptive.adaptive(sets, {"limit": limit, "most": most}, key, importances) for sets in kept
        )
        changes = [after.get(item, 0) - before.get(item, 0) for item in before | after]
        # On tables this small hardly any of the slack is used.
        assert sum(change**2 for change in changes) <= (UNIT + 64) ** 2


def test_adaptive_users_lose_nothing_but_what_the_proof_takes() -> None:
    """Equal users far beyond the limit: what is cut off returns, less the part that is kept."""
    users = {("int", user): [("int", item) for item in range(5)] for user in range(100)}
    weights = adaptive.adaptive(users, {"limit": 4 * UNIT, "most": 20}, bytes(32))
    returned = (100 * int((UNIT**2 // 5) ** 0.5) - 4 * UNIT) // 3
    assert set(weights) == {("int", item) for item in range(5)}
    assert all(abs(w - (4 * UNIT + returned)) < 200 for w in weights.values())
