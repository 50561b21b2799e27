"""Tables 4 and 5 of Swanberg, Desfontaines and Haney (PoPETs 2023): the conversion of Corollary 9."""

from __future__ import annotations

import mpmath
import pytest

import dpsel

#: rho, delta of zCDP, epsilon, delta of approximate DP (three digits), the optimal order alpha.
TABLE_4 = [
    (0.001, 1e-5, 0.14, 5.00e-5, 77.033),
    (0.005, 1e-5, 0.338, 5.08e-5, 37.037),
    (0.01, 1e-5, 0.495, 4.99e-5, 27.128),
    (0.05, 1e-5, 1.2, 4.99e-5, 13.283),
    (0.1, 1e-5, 1.765, 4.96e-5, 9.86),
    (0.5, 1e-5, 4.41, 4.90e-5, 5.127),
]
TABLE_5 = [
    (0.005, 1e-9, 0.62, 1.04e-9, 64.073),
    (0.0055, 1e-8, 0.62, 1.02e-8, 58.443),
    (0.006, 1e-7, 0.62, 1.01e-7, 53.732),
    (0.007, 1e-6, 0.62, 1.01e-6, 46.334),
    (0.0083, 1e-5, 0.62, 1.01e-5, 39.398),
    (0.01, 1e-4, 0.62, 1.01e-4, 33.037),
    (0.013, 1e-3, 0.62, 1.01e-3, 25.863),
]


def corollary_9(rho: float, delta: float, epsilon: float, alpha: float):
    """Its right-hand side at one order."""
    with mpmath.workprec(200):
        a = mpmath.mpf(alpha)
        second = mpmath.exp((a - 1) * (a * rho - epsilon)) / (a - 1) * (1 - 1 / a) ** a
        return delta + (1 - delta) * second


@pytest.mark.parametrize(("rho", "delta", "epsilon", "expected", "alpha"), TABLE_4 + TABLE_5)
def test_conversion(rho, delta, epsilon, expected, alpha) -> None:
    converted = dpsel.ZCDP(rho=rho, delta=delta).to_approx_dp(epsilon=epsilon)
    assert isinstance(converted, dpsel.ApproxDP)
    assert converted.epsilon == epsilon
    # The paper prints three digits, some rounded and some cut.
    assert abs(converted.delta / expected - 1) < 0.01
    # Never below the true minimum, which no single order can beat, and not more than rounding above it.
    at_the_papers_order = corollary_9(rho, delta, epsilon, alpha)
    assert converted.delta <= at_the_papers_order * (1 + mpmath.mpf(1e-9))
    best = min(corollary_9(rho, delta, epsilon, alpha * (1 + n / 20_000)) for n in range(-40, 41))
    assert converted.delta >= best * (1 - mpmath.mpf(1e-6))


@pytest.mark.parametrize(("rho", "delta", "epsilon"), [row[:3] for row in TABLE_4 + TABLE_5])
def test_conversion_in_the_other_direction(rho, delta, epsilon) -> None:
    """Asking for the delta that was found gives back the epsilon."""
    found = dpsel.ZCDP(rho=rho, delta=delta).to_approx_dp(epsilon=epsilon)
    back = dpsel.ZCDP(rho=rho, delta=delta).to_approx_dp(delta=found.delta)
    assert abs(back.epsilon / epsilon - 1) < 1e-6
