"""What "auto" chooses where `Steered` has no calibration, and after a look at the data."""

from __future__ import annotations

import gc
import math
from itertools import product
from pathlib import Path

import pytest
from scipy import stats

import dpsel
from dpsel._request._auto import reasons, resolve
from dpsel.mechanisms import selection_mechanisms
from dpsel.mechanisms._matching_or import SHORT
from false_alarm import ALPHA
from weak import WEAK

pytestmark = WEAK


def chosen(epsilon: float, delta: float, limit: int, *, with_weights: bool = False) -> dpsel.Release:
    return dpsel.select_partitions(
        [(1, 2)],
        privacy=dpsel.ApproxDP(epsilon=epsilon, delta=delta),
        max_items_per_user=limit,
        with_weights=with_weights,
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "limit"), [(50.0, 1e-5, 20), (40.0, 1e-9, 300), (60.0, 0.1, 3000), (100.0, 1e-6, 10)]
)
def test_sips_is_taken_where_noise_is_too_coarse_for_scores(epsilon, delta, limit) -> None:
    with pytest.raises(dpsel.exceptions.CalibrationError, match="128 bits"):
        dpsel.plan(
            privacy=dpsel.ApproxDP(epsilon=epsilon, delta=delta),
            max_items_per_user=limit,
            mechanisms=dpsel.Steered(),
        )
    release = chosen(epsilon, delta, limit)
    assert release.report["request"]["mechanism"] == dpsel.Sips(release="curve").to_json()
    assert "finer than 128 bits" in release.report.to_json()
    assert dpsel.check(release.report).ok


def test_with_weights_noise_is_taken_there() -> None:
    release = chosen(50.0, 0.01, 10, with_weights=True)
    assert release.report["request"]["mechanism"] == dpsel.Sips().to_json()


@pytest.mark.parametrize(
    ("epsilon", "delta", "limit"),
    [(25.0, 1e-9, 1000), (12.0, 1e-15, 300), (15.0, 1e-15, 300), (17.0, 1e-12, 300), (0.01, 1e-15, 3000)],
)
def test_steered_is_taken_where_a_larger_part_of_delta_pays_for_its_noise(epsilon, delta, limit) -> None:
    release = chosen(epsilon, delta, limit)
    assert "Steered" in repr(release)
    assert dpsel.check(release.report).ok


@pytest.mark.parametrize(
    ("length", "taken"),
    [
        (3, "Matching(screening=True): lists are short"),
        (40, "Steered(rounds=30, reach=3): lists are not short"),
    ],
)
@pytest.mark.parametrize("limit", [10, 100])
def test_a_look_tells_what_matching_fills(limit, length, taken) -> None:
    """The score is far from its margin, in noise of a probability below 1e-8, on either side."""
    users, items = (20_000, 4_000) if length == 3 else (4_000, 4_000)
    rows = [(user, (7 * user + step) % items) for user in range(users) for step in range(length)]
    release = dpsel.select_partitions(
        rows, privacy=dpsel.ApproxDP(epsilon=6.0, delta=1e-6), max_items_per_user=limit
    )
    assert f"released by {taken}, by a noisy look that cost 0.2 % of epsilon" in str(release)
    assert dpsel.check(release).ok


@pytest.mark.statistical
@pytest.mark.parametrize("limit", [10, 1000])
def test_without_rows_the_usual_mechanism_is_kept_but_for_noise(limit) -> None:
    """A score of 0 reaches the margin with a probability of 1 / 2e, which is 0.184."""
    arguments = {"privacy": dpsel.ApproxDP(epsilon=3.0, delta=1e-6), "max_items_per_user": limit}
    looks = [dpsel.select_partitions([], **arguments).report["look"]["lists"] for _ in range(400)]
    assert stats.binomtest(looks.count("short"), 400, math.exp(-1) / 2).pvalue > ALPHA


def test_where_matching_may_not_run_nothing_looks(tmp_path) -> None:
    privacy = dpsel.ApproxDP(epsilon=4.0, delta=1e-6)
    local, reason = resolve("auto", privacy, 30)
    elsewhere, plain = resolve("auto", privacy, 30, may_look=False)
    assert isinstance(local, dpsel.MatchingOr)
    assert elsewhere == local.otherwise
    assert reason.startswith(plain)
    # A report says neither: both are what "auto" may have taken.
    request = {"privacy": privacy.to_json(), "max_items_per_user": 30, "with_weights": False, "columns": {}}
    assert reasons(request) == [(local.to_json(), reason), (elsewhere.to_json(), plain)]
    assert reasons(request | {"columns": {"levels": "/"}}) == [(elsewhere.to_json(), plain)]
    arguments = {"privacy": privacy, "max_items_per_user": 30}
    releases = [
        dpsel.select_partitions([(1, 2)], scratch=tmp_path, **arguments),
        dpsel.select_partitions([(1, "a/b")], levels="/", **arguments),
        dpsel.select_partitions([(1, 2)], with_weights=True, **arguments),
    ]
    for release in releases:
        assert release.report["request"]["mechanism"] == dpsel.Steered(reach=3).to_json()
        assert release.report["request"]["privacy"] == privacy.to_json()
        assert "look" not in release.report
        assert dpsel.check(release).ok


def test_no_payment_is_kept() -> None:
    """A guarantee of a budget carries its payment, with the report that was entered."""
    privacy = dpsel.Budget(dpsel.ApproxDP(epsilon=1.234, delta=1e-6)).spend(
        dpsel.ApproxDP(epsilon=1.2, delta=1e-6), "kept by nobody"
    )
    kind = type(privacy._payment)
    resolve("auto", privacy, 7)
    del privacy
    gc.collect()
    # Not `isinstance`, which would ask proxies of other tests.
    assert not [each for each in gc.get_objects() if type(each) is kind and each.label == "kept by nobody"]


@pytest.mark.parametrize(
    "mechanism", [dpsel.Matching(), dpsel.UnitGreedy(), dpsel.GreedyFrequency(), dpsel.OneItem()]
)
def test_a_mechanism_without_noise_names_another_one_for_zcdp(mechanism) -> None:
    privacy = dpsel.ZCDP(rho=0.1, delta=1e-6)
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="such as Steered"):
        dpsel.plan(privacy=privacy, max_items_per_user=1, mechanisms=mechanism)
    assert dpsel.plan(privacy=privacy, max_items_per_user=1, mechanisms=dpsel.Steered()).rows


def test_what_auto_can_choose_stands_apart_from_the_rest() -> None:
    """The shelves, in Python and in the core, are those of the answers over all kinds of calls."""
    taken: set[str] = set()
    budgets = [dpsel.ApproxDP(epsilon=epsilon, delta=1e-6) for epsilon in (0.5, 1.0, 2.0, 4.0, 60.0)]
    for privacy in (*budgets, dpsel.ZCDP(rho=0.1, delta=1e-6)):
        for limit, weights, least in product((1, 20, 2000), (False, True), (1, 5)):
            answer, _ = resolve("auto", privacy, limit, with_weights=weights, min_users=least)
            parts = (SHORT, answer.otherwise) if isinstance(answer, dpsel.MatchingOr) else ()
            taken |= {each.name for each in (answer, *parts)}
    core = Path(__file__).resolve().parents[2] / "rust" / "core" / "src" / "mechanisms"
    for name, cls in selection_mechanisms().items():
        is_published = cls.__module__.startswith("dpsel.mechanisms.published.")
        assert is_published == (name not in taken), name
        assert (core / "published" / name).is_dir() == is_published, name
