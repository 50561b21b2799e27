"""Plans of series: every bound again in arithmetic of forty digits, rank by rank and release by release."""

from __future__ import annotations

import bisect
import json
import math

import mpmath
import pytest

from dpsel import _core
from dpsel.exceptions import CalibrationError, InvalidParameterError, ReportError

UNIT = 2**30
MP = mpmath.mp.clone()
MP.dps = 40

APPROX = {"epsilon": 1.765, "delta": 4.96e-5, "rho": None}


def plan(*, releases: int = 52, most: int = 1000, waits: bool = True, privacy=APPROX) -> dict:
    text = _core.series_plan(**privacy, releases=releases, max_items_per_user=most, waits=waits)
    _core.series_check(text)
    return json.loads(text)


def tail(x):
    return MP.erfc(x / MP.sqrt(2)) / 2


def delta_of_comparisons(found: dict):
    """Theorem 1 with the bands of integers: each release, and each rank by itself."""
    asked, rounds = found["asked"], found["rounds"]
    total = MP.mpf(0)
    for release in range(1, asked["releases"] + 1):
        first = max(start for start in found["blocks"] if start <= release)
        age = release - first + 1
        spread = MP.sqrt(age * rounds) * MP.mpf(found["sigma"]) * UNIT
        threshold = found["thresholds"][age - 1]
        places = [
            bisect.bisect_left(found["ranks"], rank) for rank in range(1, asked["max_items_per_user"] + 1)
        ]
        end = tail((threshold + rounds * age) / spread)
        by_place = [tail((threshold - cap) / spread) - end for cap in found["caps"][age - 1]]
        total += sum(by_place[place] for place in places)
    return total


def mu_of(found: dict):
    return 1 / (MP.sqrt(found["rounds"]) * MP.mpf(found["sigma"]))


def delta_of_noise(epsilon: float, mu):
    epsilon = MP.mpf(epsilon)
    return tail(epsilon / mu - mu / 2) - MP.exp(epsilon) * tail(epsilon / mu + mu / 2)


@pytest.mark.parametrize(
    ("epsilon", "delta", "releases", "most"),
    [
        (1.765, 4.96e-5, 52, 1000),
        (6.0, 1e-6, 12, 30),
        (0.3, 1e-9, 5, 7),
        (1.0, 1e-5, 1, 1),
        (8.0, 0.01, 300, 3),
    ],
)
def test_the_bounds_of_approximate_dp(epsilon, delta, releases, most) -> None:
    privacy = {"epsilon": epsilon, "delta": delta, "rho": None}
    found = plan(releases=releases, most=most, privacy=privacy)
    stated = found["certificate"]
    comparisons, noise = delta_of_comparisons(found), delta_of_noise(epsilon, mu_of(found))
    assert comparisons <= stated["delta_thresholds"] <= comparisons * (1 + MP.mpf(1e-9))
    assert noise <= stated["delta_noise"] <= noise * (1 + MP.mpf(1e-9))
    assert mu_of(found) <= stated["mu"] <= mu_of(found) * (1 + MP.mpf(1e-12))
    reserve = MP.mpf(stated["reserve"])
    assert 0.99 * delta < comparisons + noise <= MP.mpf(delta) - reserve
    sigma = MP.mpf(found["sigma"])
    slack = most * releases * found["rounds"] * (28 * sigma * UNIT + 4) * MP.mpf(2) ** -128
    assert (1 + MP.exp(epsilon)) * slack <= reserve


@pytest.mark.parametrize(("rho", "delta", "releases"), [(0.1, 1e-5, 52), (2.0, 1e-8, 4)])
def test_the_bounds_of_zcdp(rho, delta, releases) -> None:
    found = plan(releases=releases, privacy={"epsilon": None, "delta": delta, "rho": rho})
    comparisons = delta_of_comparisons(found)
    assert 0 < comparisons <= found["certificate"]["delta_thresholds"] <= delta
    root = mu_of(found) / MP.sqrt(2) + MP.sqrt(-MP.log(1 - comparisons))
    assert 0.99 * rho < root**2 <= rho


def test_caps_and_thresholds_are_those_of_the_page() -> None:
    found = plan()
    for age, (threshold, caps) in enumerate(zip(found["thresholds"], found["caps"], strict=True), start=1):
        height = found["certificate"]["z"] * math.sqrt(found["rounds"] * age) * found["sigma"]
        assert threshold == pytest.approx(height * UNIT, abs=2)
        for rank, cap in zip(found["ranks"], caps, strict=True):
            assert cap == pytest.approx(UNIT * math.sqrt(age) * min(1, 5.5 / math.sqrt(rank)), abs=2)
            assert cap <= threshold
        assert caps == sorted(caps, reverse=True)
    assert found["blocks"] == [1, 3, 5, 9, 17, 25, 33, 41, 49]
    assert len(found["thresholds"]) == 8
    assert found["norm"] == UNIT**2


def test_the_figures_of_the_page() -> None:
    stated = plan()["certificate"]
    height = plan()["thresholds"][0] / UNIT
    assert f"{stated['mu']:.3f} {stated['z']:.2f} {height:.2f}" == "0.482 6.31 13.09"
    assert stated["delta_thresholds"] / 4.96e-5 == pytest.approx(0.305, abs=0.001)


def test_a_plan_is_the_same_every_time_and_depends_on_all_that_is_asked() -> None:
    made = [
        plan(),
        plan(releases=51),
        plan(most=999),
        plan(waits=False),
        plan(privacy=APPROX | {"delta": 4.97e-5}),
    ]
    assert plan() == made[0]
    assert all(one != other for place, one in enumerate(made) for other in made[:place])


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        (
            {"releases": 0},
            InvalidParameterError,
            "releases must be between 1 and 1,024, got 0; it is the",
        ),
        ({"releases": 2**40}, InvalidParameterError, "between 1 and 1,024, got 1099511627776; it is"),
        ({"most": 0}, InvalidParameterError, "max_items_per_user must be between 1 and 10,000,000"),
        ({"most": -1}, InvalidParameterError, "max_items_per_user must be between"),
        ({"privacy": APPROX | {"epsilon": 0.0}}, InvalidParameterError, "epsilon must be"),
        ({"privacy": APPROX | {"delta": 1.0}}, InvalidParameterError, "delta must be"),
        (
            {"privacy": APPROX | {"epsilon": 1e-13, "delta": 1e-30}},
            CalibrationError,
            "no calibration exists for",
        ),
        (
            {"privacy": {"epsilon": None, "rho": 1e-9, "delta": 0.5}},
            CalibrationError,
            "raise epsilon, rho or delta, or lower releases or max_items_per_user",
        ),
    ],
)
def test_impossible_plans_are_refused(asked, error, words) -> None:
    with pytest.raises(error, match=words):
        plan(**asked)


@pytest.mark.parametrize("text", ["", "{}", '{"format": 1}', "[]"])
def test_other_texts_are_no_plan(text) -> None:
    with pytest.raises(ReportError, match="another form, so it is no plan of a series; make a new one"):
        _core.series_check(text)
    with pytest.raises(ReportError, match="no plan"):
        _core.series_release(text, bytes(32), None, bytes(32), _core.Source.pairs([]), "{}", [])


def test_a_plan_that_was_changed_is_refused() -> None:
    for change in (
        {"thresholds": [threshold - threshold // 1000 for threshold in plan()["thresholds"]]},
        {"sigma": plan()["sigma"] * 0.999},
        {"format": 2},
    ):
        with pytest.raises(ReportError, match="no plan of a series"):
            _core.series_check(json.dumps(plan() | change))
