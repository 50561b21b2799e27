"""Calibrations of the core against 60-digit arithmetic, on a grid of extreme parameters."""

from __future__ import annotations

import json
from itertools import product

import pytest
from mpmath import mpf, sqrt

from dpsel import _core
from dpsel.exceptions import CalibrationError
from reference import calibration as reference

EPSILONS = [1e-6, 1e-3, 0.1, 1.0, 5.0, 50.0]
DELTAS = [1e-25, 1e-15, 1e-9, 1e-5, 0.1]
BOUNDS = [1, 2, 100, 10_000, 1_000_000]

# What the precision of decisions takes off delta; see docs/algorithms/accounting.md.
DECISION_SLACK = mpf(2) ** -127


def request(mechanism: dict, privacy: dict, bound: int) -> dict:
    return {
        "task": "select",
        "columns": {"user": "user", "items": ["item"]},
        "privacy": privacy,
        "max_items_per_user": bound,
        "mechanism": mechanism,
        "with_weights": False,
    }


def calibrate(mechanism: dict, privacy: dict, bound: int) -> dict:
    return json.loads(_core.calibrate(json.dumps(request(mechanism, privacy, bound))))


def calibrate_or_refuse(mechanism: dict, privacy: dict, bound: int) -> dict | None:
    """The calibration, or None where the core says that none exists."""
    try:
        return calibrate(mechanism, privacy, bound)
    except CalibrationError:
        return None


def approx(epsilon: float, delta: float) -> dict:
    return {"kind": "approx_dp", "epsilon": epsilon, "delta": delta}


def zcdp(rho: float, delta: float) -> dict:
    return {"kind": "zcdp", "rho": rho, "delta": delta}


def slack(epsilon: float, bound: int, rounds: int = 1) -> mpf:
    return (1 + reference.exp(mpf(epsilon))) * DECISION_SLACK * bound * rounds


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", ["weighted_gaussian", "count_gaussian"])
def test_single_gaussian_rounds(name: str, epsilon: float, delta: float) -> None:
    exact = 1 / reference.largest_mu(epsilon, mpf(delta))
    for bound in BOUNDS:
        norm = sqrt(mpf(bound)) if name == "count_gaussian" else mpf(1)
        calibration = calibrate_or_refuse({"name": name}, approx(epsilon, delta), bound)
        if calibration is None:
            assert slack(epsilon, bound) > mpf(delta) / 3 or exact * norm * 5 > 2**29
            continue
        (round_,) = calibration["rounds"]
        sigma = mpf(round_["noise"]["sigma"]) / norm
        assert sigma >= exact
        # Near epsilon = 0 a large delta buys noise only linearly, then the noise gives way a little.
        assert sigma <= exact * (1 + mpf("1e-3") + slack(epsilon, bound) / mpf(delta))
        noise, weighting, threshold = round_["noise"], round_["weighting"], round_["threshold"]
        worst = reference.single_round_delta(noise, weighting, bound, threshold, epsilon)
        assert worst <= delta
        assert worst >= mpf(delta) * mpf("0.99") - 2 * slack(epsilon, bound)


@pytest.mark.parametrize(("sigma_rho", "delta"), list(product([1e-9, 1e-3, 0.1, 10.0, 1000.0], DELTAS)))
@pytest.mark.parametrize("name", ["weighted_gaussian", "count_gaussian"])
def test_one_unit_lower_violates_delta(name: str, sigma_rho: float, delta: float) -> None:
    for bound in BOUNDS:
        calibration = calibrate_or_refuse({"name": name}, zcdp(sigma_rho, delta), bound)
        assert calibration is not None
        (round_,) = calibration["rounds"]
        norm = sqrt(mpf(bound)) if name == "count_gaussian" else mpf(1)
        exact = norm / sqrt(2 * mpf(sigma_rho))
        assert exact <= mpf(round_["noise"]["sigma"]) <= exact * (1 + mpf("1e-14"))
        check_threshold(round_, bound, delta, bound * DECISION_SLACK)


def check_threshold(round_: dict, bound: int, delta: float, allowance: mpf) -> None:
    """T holds delta; one unit lower does not, or beyond 2^40 units a relative 1e-12 lower."""
    noise, weighting, threshold = round_["noise"], round_["weighting"], round_["threshold"]
    assert reference.novel_release(noise, weighting, bound, threshold) <= delta
    lower = threshold - max(1, threshold >> 40)
    assert reference.novel_release(noise, weighting, bound, lower) > mpf(delta) - allowance


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", ["weighted_laplace", "count_laplace"])
def test_laplace_rounds(name: str, epsilon: float, delta: float) -> None:
    for bound in BOUNDS:
        exact = (bound if name == "count_laplace" else 1) / mpf(epsilon)
        calibration = calibrate_or_refuse({"name": name}, approx(epsilon, delta), bound)
        if calibration is None:
            assert slack(epsilon, bound) > mpf(delta) / 3 or exact > 2**24
            continue
        (round_,) = calibration["rounds"]
        assert exact <= mpf(round_["noise"]["scale"]) <= exact * (1 + mpf("1e-15"))
        check_threshold(round_, bound, delta, 2 * slack(epsilon, bound))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("rounds", "ratio"), [(2, 1.0), (3, 1 / 3), (10, 0.5)])
def test_several_rounds_use_the_whole_delta_and_no_more(
    rounds: int, ratio: float, epsilon: float, delta: float
) -> None:
    for bound in [1, 100, 1_000_000]:
        mechanism = {"name": "sips", "rounds": rounds, "ratio": ratio}
        calibration = calibrate_or_refuse(mechanism, approx(epsilon, delta), bound)
        if calibration is None:
            first = 1 / reference.largest_mu(epsilon, mpf(delta)) / sqrt(reference.shares(rounds, ratio)[0])
            assert slack(epsilon, bound, rounds) > mpf(delta) / 3 or first * 10 > 2**31
            continue
        assert len(calibration["rounds"]) == rounds
        total = reference.composed_delta(calibration, bound, epsilon)
        assert total <= delta
        # The bound 1 - prod(1 - x) <= sum x loses at most about delta^2.
        loose = mpf("1e-5") + mpf(delta) / 2
        assert total >= mpf(delta) * (1 - loose) - 2 * slack(epsilon, bound, rounds)


@pytest.mark.parametrize(("rounds", "ratio"), [(1, 1.0), (3, 1 / 3), (5, 1.0), (20, 0.5), (64, 1.0)])
def test_zcdp_rounds_have_the_papers_shares(rounds: int, ratio: float) -> None:
    rho, delta, bound = 0.1, 1e-5, 100
    calibration = calibrate({"name": "sips", "rounds": rounds, "ratio": ratio}, zcdp(rho, delta), bound)
    for round_, share in zip(calibration["rounds"], reference.shares(rounds, ratio), strict=True):
        exact = 1 / sqrt(2 * mpf(rho) * share)
        assert exact <= mpf(round_["noise"]["sigma"]) <= exact * (1 + mpf("1e-13"))
        release = reference.novel_release(round_["noise"], "equal_l2", bound, round_["threshold"])
        assert mpf(delta) * share * (1 - mpf("1e-6")) <= release <= mpf(delta) * share


@pytest.mark.parametrize("rho", [1e-9, 1e-4, 1.0, 100.0])
@pytest.mark.parametrize("target", [1e-200, 1e-12, 0.01])
def test_conversion_at_extremes_is_rounded_up(rho: float, target: float) -> None:
    got = _core.convert_zcdp(rho, target / 2, target_delta=target, releases=0)
    exact, _ = reference.zcdp_delta(rho, target / 2, got["epsilon"])
    assert exact <= target
    if got["epsilon"] == 0:
        # So little rho that the whole difference fits into delta.
        return
    lower, _ = reference.zcdp_delta(rho, target / 2, got["epsilon"] * (1 - 1e-9))
    assert lower > target
