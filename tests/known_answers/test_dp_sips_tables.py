"""Tables 4 and 5 of Swanberg, Desfontaines and Haney (PoPETs 2023): the conversion of Corollary 9."""

from __future__ import annotations

import pytest
from mpmath import mpf

import dpsel
from dpsel import _core
from reference import calibration as reference

#: rho, delta of zCDP, epsilon, delta of approximate DP (three digits), the optimal order alpha.
TABLES = [
    (0.001, 1e-5, 0.14, 5.00e-5, 77.033),
    (0.005, 1e-5, 0.338, 5.08e-5, 37.037),
    (0.01, 1e-5, 0.495, 4.99e-5, 27.128),
    (0.05, 1e-5, 1.2, 4.99e-5, 13.283),
    (0.1, 1e-5, 1.765, 4.96e-5, 9.86),
    (0.5, 1e-5, 4.41, 4.90e-5, 5.127),
    # Here Table 5 begins.
    (0.005, 1e-9, 0.62, 1.04e-9, 64.073),
    (0.0055, 1e-8, 0.62, 1.02e-8, 58.443),
    (0.006, 1e-7, 0.62, 1.01e-7, 53.732),
    (0.007, 1e-6, 0.62, 1.01e-6, 46.334),
    (0.0083, 1e-5, 0.62, 1.01e-5, 39.398),
    (0.01, 1e-4, 0.62, 1.01e-4, 33.037),
    (0.013, 1e-3, 0.62, 1.01e-3, 25.863),
]


@pytest.mark.parametrize(("rho", "delta", "epsilon", "printed", "alpha"), TABLES)
def test_conversion(rho, delta, epsilon, printed, alpha) -> None:
    converted = dpsel.ZCDP(rho=rho, delta=delta).to_approx_dp(epsilon=epsilon, releases=0)
    assert isinstance(converted, dpsel.ApproxDP)
    assert converted.epsilon == epsilon
    # Never below the true minimum over all orders, and not more than rounding above it.
    exact, order = reference.zcdp_delta(rho, delta, epsilon)
    assert exact <= converted.delta <= exact * (1 + mpf("1e-12"))
    # The paper prints three digits, some rounded and some cut.
    assert converted.delta == pytest.approx(printed, rel=0.006)
    used = _core.convert_zcdp(rho, delta, epsilon=epsilon, releases=0)["alpha"]
    assert used == pytest.approx(float(order), rel=1e-6)
    assert used == pytest.approx(alpha, rel=2e-3)


@pytest.mark.parametrize(("rho", "delta", "epsilon"), [row[:3] for row in TABLES])
def test_conversion_in_the_other_direction(rho, delta, epsilon) -> None:
    """Asking for the delta that was found gives back the epsilon."""
    found = dpsel.ZCDP(rho=rho, delta=delta).to_approx_dp(epsilon=epsilon, releases=0)
    back = dpsel.ZCDP(rho=rho, delta=delta).to_approx_dp(delta=found.delta, releases=0)
    assert back.epsilon == pytest.approx(epsilon, rel=1e-9)
