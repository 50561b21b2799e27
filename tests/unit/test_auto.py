"""What "auto" chooses where `Steered` has no calibration, and after a look at the data."""

from __future__ import annotations

import gc
from itertools import product
from pathlib import Path

import pytest

import dpsel
from dpsel._request._auto import reasons, resolve
from dpsel.mechanisms import selection_mechanisms
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
    ("limit", "length", "taken"),
    [
        (10, 3, "Matching(screening=True)"),
        (10, 40, "Steered(rounds=30, reach=3)"),
        (1, 1, "OneItem()"),
        (1, 2, "Sips("),
    ],
)
def test_a_look_chooses_by_the_lengths_of_lists(limit, length, taken) -> None:
    # With so many users the noise of the look changes the answer with a probability below 1e-8.
    users = 20_000 if length == 3 else 4_000
    rows = [(user, item) for user in range(users) for item in range(length)]
    release = dpsel.select_partitions(
        rows, privacy=dpsel.ApproxDP(epsilon=6.0, delta=1e-6), max_items_per_user=limit
    )
    assert f"released by {taken}" in str(release)
    assert ", chosen by a noisy look" in str(release)
    assert dpsel.check(release).ok


@pytest.mark.parametrize("limit", [10, 1000])
@pytest.mark.parametrize("users", [0, 1, 1000])
def test_few_users_keep_the_usual_mechanism(limit, users) -> None:
    """Noise would have to make 5,000 users of 1,000: a chance below 1e-50."""
    for _ in range(10):
        release = dpsel.select_partitions(
            [(user, 1) for user in range(users)],
            privacy=dpsel.ApproxDP(epsilon=3.0, delta=1e-6),
            max_items_per_user=limit,
        )
        assert release.report["look"]["lists"] == "long"


@pytest.mark.parametrize("limit", [1, 30])
def test_on_a_cluster_nothing_looks(limit) -> None:
    privacy = dpsel.ApproxDP(epsilon=4.0, delta=1e-6)
    local, reason = resolve("auto", privacy, limit)
    cluster, plain = resolve("auto", privacy, limit, may_look=False)
    assert isinstance(local, dpsel.ByLength)
    assert cluster == local.long
    assert reason.startswith(plain)
    # A report says neither: both are what "auto" may have taken.
    request = {"privacy": privacy.to_json(), "max_items_per_user": limit, "with_weights": False}
    assert reasons(request) == [(local.to_json(), reason), (cluster.to_json(), plain)]


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
            parts = (answer.short, answer.long) if isinstance(answer, dpsel.ByLength) else ()
            taken |= {each.name for each in (answer, *parts)}
    core = Path(__file__).resolve().parents[2] / "rust" / "core" / "src" / "mechanisms"
    for name, cls in selection_mechanisms().items():
        is_published = cls.__module__.startswith("dpsel.mechanisms.published.")
        assert is_published == (name not in taken), name
        assert (core / "published" / name).is_dir() == is_published, name
