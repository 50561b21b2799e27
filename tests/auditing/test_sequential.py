"""Evidence that may be looked at after every sample: its rate of false alarms, and what it rules out."""

from __future__ import annotations

import math
import random

import pytest
from scipy import stats

import dpsel
from dpsel.auditing._claims import Bounds, bounds_of
from dpsel.auditing._sequential import Evidence, Side, largest_refuted
from false_alarm import ALPHA

APPROX = bounds_of(dpsel.ApproxDP(epsilon=1.0, delta=0.02))


def evidence(likely: int, rare: int, trials: int) -> Evidence:
    sides = [Side.expected(hits // 4, trials // 4) for hits in (likely, rare)]
    for side, hits in zip(sides, (likely, rare), strict=True):
        side.hits, side.trials = hits, trials
    return Evidence(*sides)


@pytest.mark.statistical
def test_looking_all_the_time_raises_no_false_alarms() -> None:
    """Claims that are true with equality, looked at after every chunk, with Beta laws that fit."""
    generator, alpha, runs = random.Random(11), 0.05, 400
    rare = 0.1
    likely, alarms = APPROX.most(rare), 0
    for _ in range(runs):
        watched = Evidence(Side.expected(30, 100), Side.expected(10, 100))
        for _ in range(40):
            for side, p in ((watched.likely, likely), (watched.rare, rare)):
                side.hits += sum(generator.random() < p for _ in range(25))
                side.trials += 25
            if watched.against(APPROX) >= -math.log(alpha):
                alarms += 1
                break
    assert stats.binomtest(alarms, runs, alpha, alternative="greater").pvalue > ALPHA


def test_the_least_product_is_the_least() -> None:
    """Against a grid of allowed pairs."""
    seen = evidence(900, 150, 2000)
    average = seen.likely.average() + seen.rare.average()
    grid = [
        average - seen.likely.likelihood(min(APPROX.most(q), share)) - seen.rare.likelihood(q)
        for q in (i / 4000 for i in range(1, 4000))
        for share in (1.0, 0.45, 0.4)
    ]
    assert 0 <= min(grid) - seen.against(APPROX) < 0.01


def test_what_is_allowed_is_not_refuted_and_the_opposite_event_counts_too() -> None:
    assert evidence(560, 200, 2000).against(APPROX) < 0
    # P = 1 beside 0.97: as an event it is allowed, its opposite is not.
    certain = evidence(20_000, 19_400, 20_000)
    assert certain.against(APPROX) > -math.log(1e-6)
    assert math.e * 0.97 + 0.02 > 1


@pytest.mark.parametrize("bounds", [APPROX, bounds_of(dpsel.ZCDP(rho=0.5, delta=0.01))])
def test_bounds_grow_and_are_concave(bounds) -> None:
    points = [bounds.most(i / 50) for i in range(51)]
    assert points == sorted(points)
    assert points[-1] == 1
    assert all(a + c <= 2 * b + 1e-9 for a, b, c in zip(points, points[1:], points[2:], strict=False))


def test_gaussian_noise_is_within_its_zcdp() -> None:
    """Every event of the Gaussian mechanism is allowed, and hardly more."""
    sigma = 2.0
    bounds = bounds_of(dpsel.ZCDP(rho=1 / (2 * sigma**2), delta=1e-9))
    for cut in (-3, -1, 0, 1, 3):
        rare, likely = (1 - stats.norm.cdf((cut - mean) / sigma) for mean in (0, 1))
        assert likely <= bounds.most(rare)
    assert bounds.most(0.3085) < 0.75


def test_the_largest_refuted_claim_is_found() -> None:
    seen = evidence(1000, 100, 2000)
    least = largest_refuted(seen, lambda eps: Bounds(((eps, 0.02),)), 1e-6, 64.0)
    assert 1.6 < least < math.log(0.48 / 0.05)
    assert evidence(1000, 900, 2000).against(APPROX) < 0
    assert largest_refuted(evidence(10, 10, 20), lambda eps: Bounds(((eps, 0.02),)), 1e-6, 64.0) == 0


def test_samples_that_chose_an_event_are_no_evidence() -> None:
    """They shape the Beta law; the product starts at 1."""
    side = Side.expected(30, 100)
    assert (side.hits, side.trials) == (0, 0)
    assert side.average() == pytest.approx(0)
    assert side.a / (side.a + side.b) == pytest.approx(0.3, abs=0.01)
