"""The lemmas about normal laws in `docs/algorithms/series.md`, in numbers, and the figures of the page."""

from __future__ import annotations

import math

import numpy as np
import pytest


def tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def delta_of_gaussian(epsilon: float, mu: float) -> float:
    return tail(epsilon / mu - mu / 2) - math.exp(epsilon) * tail(epsilon / mu + mu / 2)


def largest(holds, low: float, high: float) -> float:
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@pytest.mark.parametrize(
    "second", [lambda y: np.where(y > 0.3, 1.0, -1.0), lambda y: np.where(y > 0, 1, 0.2)]
)
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_a_norm_that_is_spent_by_choice_costs_what_it_costs_if_spent_at_once(second, epsilon) -> None:
    """Lemma 1 for two steps, by quadrature: exact where the norm is used up, and less where it is not."""
    mu, width = 0.9, 0.01
    points = np.arange(-8, 8, width) + width / 2
    first, then = points[:, None], points[None, :]
    shift = math.sqrt(0.75) * mu * second(first)
    below = np.exp(-(first**2 + then**2) / 2) / (2 * math.pi) * width**2
    above = np.exp(-((first - mu / 2) ** 2 + (then - shift) ** 2) / 2) / (2 * math.pi) * width**2
    expected = delta_of_gaussian(epsilon, mu)
    for one, other in ((above, below), (below, above)):
        found = float(np.maximum(one - math.exp(epsilon) * other, 0).sum())
        assert found <= expected + 1e-5
        if np.abs(shift).min() == np.abs(shift).max():
            assert abs(found - expected) < 1e-5


@pytest.mark.parametrize("delta", [1e-5, 1e-2])
@pytest.mark.parametrize("side", [1, -1])
def test_conditioning_on_the_good_event_costs_little_of_zcdp(delta, side) -> None:
    """Lemma 7 where the event is a tail of the loss itself, in closed form."""
    mu = math.sqrt(0.2)
    rho, lost = mu**2 / 2, -math.log1p(-delta)
    allowed = (math.sqrt(rho) + math.sqrt(lost)) ** 2
    # The event has the probability `delta` in the world where it is likelier.
    edge = largest(lambda x: max(tail(x), tail(x - mu)) > delta, -8, 8) if side > 0 else None
    if edge is None:
        edge = largest(lambda x: max(1 - tail(x), 1 - tail(x - mu)) < delta, -8, 8)
    kept = lambda mean: 1 - tail(edge - mean) if side > 0 else tail(edge - mean)  # noqa: E731
    for order in (1.001, 1.1, 2.0, 10.0, 100.0):
        for one, other, tilted in ((mu, 0.0, order * mu), (0.0, mu, (1 - order) * mu)):
            moment = order * (order - 1) * mu**2 / 2 + math.log(max(kept(tilted), 1e-300))
            moment += (order - 1) * math.log(kept(other)) - order * math.log(kept(one))
            assert moment / (order - 1) <= allowed * order


def test_the_calibration_on_the_page() -> None:
    epsilon, delta, part, releases, reach = 1.765, 4.96e-5, 0.3, 52, 1000
    mu = largest(lambda mu: delta_of_gaussian(epsilon, mu) <= (1 - part) * delta, 0.01, 5)
    caps = [mu * min(1, 5.5 / math.sqrt(rank)) for rank in range(1, reach + 1)]
    threshold_part = lambda z: releases * sum(tail(z - cap) - tail(z) for cap in caps)  # noqa: E731
    z = largest(lambda z: threshold_part(z) > part * delta, 1, 12)
    assert f"{mu:.3f} {z:.2f} {z / mu:.2f}" == "0.482 6.33 13.13"
    rho = (math.sqrt(0.1) + math.sqrt(-math.log1p(-1e-5))) ** 2
    assert f"{rho:.3f}" == "0.102"


def test_how_many_users_of_one_item_would_pass_64_bits() -> None:
    pair = math.sqrt(20) * 2**30
    assert f"{pair:.1e} {2**63 / pair:.1e}" == "4.8e+09 1.9e+09"
