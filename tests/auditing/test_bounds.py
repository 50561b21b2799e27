"""Confidence bounds against scipy, and their coverage by enumeration."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpsel.auditing._bounds import Counts, proportion_above, proportion_below

ALPHAS = [1e-12, 1e-9, 1e-4, 0.05]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(
    ("hits", "trials"), [(0, 10), (1, 10), (10, 10), (7, 50), (1, 10**6), (500, 10**6), (999_000, 10**6)]
)
def test_bounds_are_those_of_clopper_and_pearson(hits, trials, alpha) -> None:
    low = stats.beta.ppf(alpha, hits, trials - hits + 1) if hits else 0.0
    high = stats.beta.isf(alpha, hits + 1, trials - hits) if hits < trials else 1.0
    assert math.isclose(proportion_above(hits, trials, alpha), low, rel_tol=1e-6)
    assert math.isclose(proportion_below(hits, trials, alpha), high, rel_tol=1e-6)


@given(trials=st.integers(1, 60), p=st.floats(0.001, 0.999), alpha=st.sampled_from([0.05, 1e-3, 1e-6]))
def test_a_bound_is_false_with_at_most_its_chance(trials, p, alpha) -> None:
    chances = stats.binom.pmf(range(trials + 1), trials, p)
    too_large = sum(c for n, c in enumerate(chances) if proportion_above(n, trials, alpha) > p)
    too_small = sum(c for n, c in enumerate(chances) if proportion_below(n, trials, alpha) < p)
    assert too_large <= alpha * (1 + 1e-6)
    assert too_small <= alpha * (1 + 1e-6)


@given(p=st.floats(0.01, 0.6), q=st.floats(0.01, 0.6), epsilon=st.floats(0, 2))
def test_bounds_of_delta_and_epsilon_hold_at_expected_counts(p, q, epsilon) -> None:
    trials = 10_000
    counts = Counts(round(p * trials), trials, round(q * trials), trials)
    delta = max(0.0, counts.likely / trials - math.exp(epsilon) * counts.rare / trials)
    assert counts.least_delta(epsilon, 1e-6) <= delta
    assert counts.least_epsilon(0.0, 1e-6) <= max(0.0, math.log(counts.likely / counts.rare))


def test_many_samples_come_close() -> None:
    counts = Counts(300_000, 10**6, 100_000, 10**6)
    assert 0.02 < counts.least_delta(1.0, 1e-6) < 0.3 - math.e * 0.1
    assert 1.07 < counts.least_epsilon(0.0, 1e-6) < math.log(3)
