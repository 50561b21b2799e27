"""The attacks on scores: the shipped mechanism stands, needs most of its claim, and planted bugs fall."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from itertools import count
from math import ceil, comb, exp
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dpsel
from dpsel.auditing import _score_attacks as attacks
from dpsel.auditing._bounds import Counts, JointCounts
from dpsel.auditing._neighbours import Neighbours
from dpsel.auditing._published_scores import Published, worst_of_scored
from dpsel.auditing._scored import gaussian_epsilon, released_alone, scored
from dpsel.auditing._search import Claim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpsel.auditing._search import LowerBounds

#: The chance that a bound is too large. Keys are fixed, so a test fails always or never.
ALPHA = 1e-9
BUDGETS = [(1.0, 1e-6, 10), (1.0, 0.1, 1000), (0.3, 1e-9, 300), (6.0, 0.01, 1), (4.0, 1e-5, 64)]
#: What a planted bug changes.
FACTOR = 1.3


def keys() -> Iterator[bytes]:
    return (sha256(number.to_bytes(8, "big")).digest() for number in count())


@pytest.fixture(scope="module")
def on_users() -> LowerBounds:
    attack = attacks.on_users(dpsel.Steered(), attacks.LOOSE, attacks.LOOSE_BOUND)
    return attack.run(1_000_000, ALPHA, keys())


@pytest.fixture(scope="module")
def on_lone_users() -> LowerBounds:
    attack = attacks.on_users(dpsel.Steered(), attacks.ALONE, attacks.ALONE_BOUND)
    return attack.run(1_000_000, ALPHA, keys())


@pytest.fixture(scope="module")
def on_one_item() -> LowerBounds:
    attack = attacks.on_one_item(dpsel.Steered(), attacks.CLEAR, attacks.CLEAR_BOUND)
    assert attack is not None
    return attack.run(1_000_000, ALPHA, keys())


@pytest.mark.long("a million tables")
def test_the_default_stands_and_needs_most_of_what_it_claims(on_users) -> None:
    assert not on_users.refutes(Claim(attacks.LOOSE.epsilon, attacks.LOOSE.delta))
    assert on_users.epsilon >= 0.8 * attacks.LOOSE.epsilon
    assert on_users.delta >= 0.6 * attacks.LOOSE.delta


@pytest.mark.long("a million tables")
def test_items_of_nobody_else_come_out_as_often_as_computed(on_lone_users) -> None:
    computed = released_alone(scored(dpsel.Steered(), attacks.ALONE, attacks.ALONE_BOUND))
    assert not on_lone_users.refutes(Claim(attacks.ALONE.epsilon, attacks.ALONE.delta))
    assert 0.9 * computed <= on_lone_users.delta <= computed
    assert computed > 0.7 * attacks.ALONE.delta


@pytest.mark.long("a million tables")
def test_a_claim_that_is_too_good_by_a_factor_falls(on_users) -> None:
    """The same as noise that is too small by this factor."""
    assert on_users.refutes(Claim(attacks.LOOSE.epsilon / FACTOR, attacks.LOOSE.delta))


@pytest.mark.long("a million tables")
def test_a_user_moves_one_item_by_its_cap_and_no_more(on_one_item) -> None:
    rounds = scored(dpsel.Steered(), attacks.CLEAR, attacks.CLEAR_BOUND)
    cap, delta = rounds.size(attacks.CLEAR_BOUND).cap, attacks.CLEAR.delta
    claimed, smaller = (gaussian_epsilon(cap / factor / rounds.sigma, delta) for factor in (1, FACTOR))
    assert 0.8 * claimed <= on_one_item.epsilon <= claimed
    assert on_one_item.epsilon > smaller


def test_published_scores_have_the_computed_law() -> None:
    """The computed law against paths that are drawn, of an item that often settles."""
    rounds = scored(dpsel.Steered(rounds=6), dpsel.ApproxDP(epsilon=1.0, delta=1e-3), 1)
    cap, users = rounds.size(1).cap, round((rounds.threshold + 10 * rounds.sigma) / rounds.size(1).cap)
    law, generator = Published(rounds, users), np.random.default_rng(2)

    def edge(score: float) -> float:
        """The least score that counts as at least this one: its cell's middle decides."""
        return rounds.threshold + ceil((score - rounds.threshold) / law.width - 0.5) * law.width

    paths = np.zeros(1_000_000)
    alive, settled = np.ones(len(paths), dtype=bool), np.zeros(len(paths), dtype=bool)
    for step in rounds.steps:
        paths += generator.normal(np.where(settled, 0.0, step.share * users * cap), step.sigma)
        if step is not rounds.steps[-1]:
            alive &= settled | (paths >= edge(step.least))
            settled |= paths >= edge(step.settled)
    assert settled.mean() > 0.2
    scores = np.where(alive & (paths >= rounds.threshold), (paths - rounds.threshold) / rounds.sigma, -1.0)
    computed, width = law.outcomes, law.width / rounds.sigma
    for low, high in [(-1, 0), (0, 1), (1, 2), (2, 3), (3, 6), (6, 9), (9, 12)]:
        cells = computed[round(low / width) : round(high / width)] if low >= 0 else computed[-1:]
        edges = (round(low / width) * width, round(high / width) * width) if low >= 0 else (-1.5, 0.0)
        found = int(((scores >= edges[0]) & (scores < edges[1])).sum())
        assert stats.binomtest(found, len(paths), sum(cells)).pvalue > 1e-6


@pytest.mark.long("exact laws of many users")
@pytest.mark.parametrize(("epsilon", "delta", "bound"), BUDGETS)
def test_users_of_one_item_need_no_more_than_the_claim(epsilon, delta, bound) -> None:
    needed = worst_of_scored(dpsel.Steered(), dpsel.ApproxDP(epsilon=epsilon, delta=delta), bound)
    assert 0.8 * epsilon < needed.epsilon <= epsilon
    assert 0.5 * delta < needed.delta <= delta


@pytest.mark.parametrize(("epsilon", "delta", "bound"), BUDGETS)
def test_abandoning_makes_the_item_of_a_lone_user_a_little_less_likely(epsilon, delta, bound) -> None:
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=delta)
    rounds = scored(dpsel.Steered(), privacy, bound)
    assert 0.99 * unwatched(rounds) < released_alone(rounds) < unwatched(rounds) * (1 + 1e-9)
    once = scored(dpsel.Steered(rounds=1), privacy, bound)
    assert released_alone(once) == pytest.approx(unwatched(once), rel=1e-9)


def unwatched(rounds) -> float:
    """The probability that the noise of the item ends between the threshold and that less the cap."""
    reached = stats.norm.sf((rounds.threshold - rounds.size(1).cap) / rounds.sigma)
    return reached - stats.norm.sf(rounds.threshold / rounds.sigma)


def test_the_item_of_a_lone_user_comes_out_as_computed() -> None:
    """The computed law against paths that are drawn, for futility bounds that matter."""
    rounds = scored(dpsel.Steered(rounds=6), dpsel.ApproxDP(epsilon=6.0, delta=0.3), 1)
    strict = [replace(step, least=step.least + rounds.sigma) for step in rounds.steps]
    rounds = replace(rounds, steps=tuple(strict))
    generator = np.random.default_rng(1)
    paths, alive = np.zeros(1_000_000), np.ones(1_000_000, dtype=bool)
    for step in rounds.steps:
        paths += generator.normal(step.share * rounds.size(1).cap, step.sigma, len(paths))
        if step is not rounds.steps[-1]:
            alive &= paths >= step.least
    noise = paths - rounds.size(1).cap
    found = int((alive & (paths >= rounds.threshold) & (noise < rounds.threshold)).sum())
    assert stats.binomtest(found, len(paths), released_alone(rounds)).pvalue > 1e-6


def test_a_check_of_the_noise_holds_back_what_needs_no_weight() -> None:
    rounds = scored(dpsel.Steered(rounds=1), dpsel.ApproxDP(epsilon=6.0, delta=0.3), 1)
    reached = stats.norm.sf((rounds.threshold - rounds.size(1).cap) / rounds.sigma)
    turned_away = stats.norm.sf(rounds.threshold / rounds.sigma)
    checked = released_alone(replace(rounds, is_checked=True))
    assert checked == pytest.approx(reached - turned_away, rel=1e-9)


def test_common_items_are_held_by_the_added_users_alone() -> None:
    tables = Neighbours("", ((2, (0, 1)),), (0,), common=3)
    copies = 4
    without, with_user = (tables.users(copies, with_user=added) for added in (False, True))
    assert len(with_user) - len(without) == copies
    items = [item for _, held in with_user for item in held]
    width = copies * tables.width
    assert [items.count(width + place) for place in range(3)] == [copies] * 3
    assert max(item for _, held in without for item in held) < width
    assert len(items) == copies * (tables.size + tables.common)


def test_there_is_no_attack_on_a_cap_that_is_all_of_the_weight() -> None:
    assert attacks.on_one_item(dpsel.Steered(), attacks.CLEAR, 10) is None
    assert len(list(attacks.attacks(dpsel.Steered(), None, 10))) == 1
    assert len(list(attacks.attacks(dpsel.Steered(), None, None))) == 3


@given(
    trials=st.tuples(st.integers(1, 15), st.integers(1, 15)),
    rare=st.floats(0.0, 1.0),
    epsilon=st.floats(0.0, 3.0),
    delta=st.floats(0.0, 0.9),
    alpha=st.sampled_from([0.1, 0.01, 1e-4]),
)
def test_joint_bounds_are_false_with_at_most_their_chance(trials, rare, epsilon, delta, alpha) -> None:
    """By enumeration: P[likely] is e^epsilon P[rare] + delta, so a bound above delta is false."""
    likely = min(delta + exp(epsilon) * rare, 1.0)
    true_delta = likely - exp(epsilon) * rare
    wrong = 0.0
    for hits in range(trials[0] + 1):
        # A bound only falls with more hits on the rare side.
        for other in range(trials[1] + 1):
            counts = JointCounts(hits, trials[0], other, trials[1])
            if counts.least_delta(epsilon, alpha) <= max(true_delta, 0.0) + 1e-12:
                break
            wrong += binomial(hits, trials[0], likely) * binomial(other, trials[1], rare)
    assert wrong <= alpha


def binomial(hits: int, trials: int, p: float) -> float:
    return comb(trials, hits) * p**hits * (1 - p) ** (trials - hits)


@pytest.mark.parametrize("alpha", [1e-9, 1e-4])
@pytest.mark.parametrize(
    "counts", [(36_000, 120_000, 12_000, 120_000), (250, 1000, 5, 1000), (1600, 4000, 400, 4000)]
)
def test_joint_bounds_are_sharper_where_both_sides_are_seen(counts, alpha) -> None:
    apart, together = Counts(*counts), JointCounts(*counts)
    assert apart.least_epsilon(0.05, alpha) < together.least_epsilon(0.05, alpha)
    assert apart.least_delta(1.0, alpha) < together.least_delta(1.0, alpha)
    epsilon = together.least_epsilon(0.05, alpha)
    assert together.least_delta(epsilon, alpha) == pytest.approx(0.05, abs=1e-6)


def test_joint_bounds_of_nothing_say_nothing() -> None:
    assert JointCounts(0, 10, 0, 10).least_epsilon(0.0, ALPHA) == 0
    assert JointCounts(5, 5, 5, 5).least_delta(0.0, ALPHA) == 0
    assert JointCounts(1000, 1000, 0, 1000).least_delta(1.0, ALPHA) > 0.9
