"""Laws 3 and 4 for steered selection: weights under any importances, and the one publication."""

from __future__ import annotations

import json

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from dpsel import _core
from reference import calibration as formulas
from reference import mechanisms as reference
from reference import steered
from reference.noise import UNIT
from strategies import keys, max_items, neighbours, rows
from support import report_of, rounds_of, select, table, units_of

PRIVACY = [
    dpsel.ApproxDP(epsilon=0.1, delta=1e-9),
    dpsel.ApproxDP(epsilon=1.765, delta=4.96e-5),
    dpsel.ApproxDP(epsilon=6.0, delta=0.3),
    dpsel.ZCDP(rho=0.1, delta=1e-5),
]


def calibration(privacy, bound: int, rounds: int = 7) -> dict:
    release = select(
        table([]), privacy=privacy, max_items_per_user=bound, mechanism=dpsel.Steered(rounds=rounds)
    )
    return report_of(release)["calibration"]


@given(tables=neighbours(), bound=max_items, key=keys, data=st.data())
def test_neighbours_differ_by_one_unit_of_norm_whatever_the_importances(tables, bound, key, data) -> None:
    """Round after round of any importances: the norm of each round, and the cap over all of them.

    This is about the reference. `test_caps.py` and `test_reference.py` compare releases with it.
    """
    kept = [reference.bound(reference.sets_of(rows), bound, key) for rows in tables]
    items = sorted({item for sets in kept for held in sets.values() for item in held}, key=str)
    norm = data.draw(st.integers(1, 2 * UNIT))
    sizes = (steered.UserSize(bound, norm, data.draw(st.integers(0, norm))),)
    shares = data.draw(st.lists(st.integers(1, steered.SHARES // 4), min_size=1, max_size=4))
    drifts: list[dict] = [{}, {}]
    moved = dict.fromkeys(items, 0)
    for share in shares:
        importances = {item: data.draw(st.integers(0, steered.FULL)) for item in items}
        before, after = (
            steered.histogram(sets, sizes, share, importances, given)
            for sets, given in zip(kept, drifts, strict=True)
        )
        changes = {item: after.get(item, 0) - before.get(item, 0) for item in items}
        assert min(changes.values(), default=0) >= 0
        assert sum(change**2 for change in changes.values()) * steered.SHARES**2 <= (norm * share) ** 2
        moved = {item: moved[item] + changes[item] for item in items}
    assert max(moved.values(), default=0) <= sizes[0].cap


@pytest.mark.parametrize("privacy", PRIVACY, ids=str)
@pytest.mark.parametrize("bound", [1, 2, 7, 300, 10_000])
def test_novel_items_and_noise_stay_within_the_budget(privacy, bound) -> None:
    rounds = calibration(privacy, bound)["rounds"]
    publish = rounds[-1]["publish"]
    assert sum(r["share"] for r in rounds) == steered.SHARES
    spread = mpmath.sqrt(sum(mpmath.mpf(r["noise"]["sigma"]) ** 2 for r in rounds))
    assert spread <= mpmath.mpf(publish["score_noise"]["sigma"])
    moved = [mpmath.mpf(r["share"]) / steered.SHARES / mpmath.mpf(r["noise"]["sigma"]) for r in rounds]
    unit_mu = mpmath.sqrt(sum(each**2 for each in moved))
    sizes = [size["items"] for size in publish["sizes"]]
    assert sizes == sorted(sizes)
    assert sizes[-1] == bound
    for size in publish["sizes"]:
        assert 0 <= size["cap"] <= min(size["norm"], publish["threshold"])

        def tail(steps):
            return formulas.normal_tail(mpmath.mpf(steps) / UNIT / spread)

        q = tail(publish["threshold"] - size["cap"])
        mu = unit_mu * size["norm"] / UNIT
        if privacy.kind == "zcdp":
            assert publish["noise_check"] == "absent"
            assert -mpmath.expm1(size["items"] * mpmath.log1p(-q)) <= privacy.delta
            assert mu**2 / 2 <= mpmath.mpf(privacy.rho)
        else:
            assert publish["noise_check"] == "below_threshold"
            q -= tail(publish["threshold"] + len(rounds))
            novel = -mpmath.expm1(size["items"] * mpmath.log1p(-q))
            assert novel + formulas.hockey_stick(privacy.epsilon, mu) <= mpmath.mpf(privacy.delta)


def test_an_item_of_one_user_is_released_only_by_its_noise() -> None:
    """Frequent items are released, one user's are not, and no score below the threshold comes out."""
    rows = [(u, i) for u in range(400) for i in range(20)] + [(u, 1000 + u) for u in range(400)]
    release = select(
        table(rows),
        privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-6),
        max_items_per_user=30,
        mechanism=dpsel.Steered(rounds=8),
        with_weights=True,
    )
    found = units_of(release)
    assert set(range(20)) == set(found)
    assert min(found.values()) >= rounds_of(release)[-1].threshold


def test_users_keep_the_items_that_they_had() -> None:
    """Items beyond the bound never move up: only the bounded ones count as touched in the proof."""
    rows = [(u, i) for u in range(300) for i in range(12)]
    release = select(
        table(rows),
        privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-6),
        max_items_per_user=3,
        mechanism=dpsel.Steered(rounds=6),
        with_weights=True,
    )
    assert sum(units_of(release).values()) <= 300 * 2 * UNIT


@pytest.mark.parametrize("privacy", PRIVACY[1:], ids=str)
@given(rows=rows(), limit=st.integers(1, 5), reach=st.integers(1, 6), key=keys)
def test_a_reach_releases_what_a_limit_of_all_kept_items_does(privacy, rows, limit, reach, key) -> None:
    """Items and scores, and every number of the calibration."""
    arguments = {"privacy": privacy, "with_weights": True, "key": key}
    wide, narrow = (
        select(
            table(rows),
            max_items_per_user=most,
            mechanism=dpsel.Steered(rounds=5, reach=reach),
            **arguments,
        )
        for most, reach in ((limit, reach), (limit * reach, 1))
    )
    assert units_of(wide) == units_of(narrow)
    assert report_of(wide)["calibration"] == report_of(narrow)["calibration"]


def test_a_user_moves_no_more_items_than_its_reach_allows() -> None:
    """One user more moves the scores of exactly `reach` times the limit of its items."""
    crowd, wanted = [(user, item) for user in range(60) for item in range(12)], range(12)
    arguments = {"privacy": dpsel.ApproxDP(epsilon=20.0, delta=0.4), "with_weights": True, "key": bytes(32)}
    mechanism = dpsel.Steered(rounds=1, reach=4)
    before, after = (
        units_of(select(table(rows), max_items_per_user=2, mechanism=mechanism, **arguments))
        for rows in (crowd, crowd + [(1000, item) for item in wanted])
    )
    assert set(before) == set(after) == set(wanted)
    assert sum(after[item] != before[item] for item in wanted) == 4 * 2


def test_reports_name_the_reach_and_the_kept_items() -> None:
    arguments = {"privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-6), "max_items_per_user": 1000}
    release = dpsel.select_partitions([(1, 2)], mechanism=dpsel.Steered(rounds=4, reach=3), **arguments)
    assert report_of(release)["request"]["mechanism"] == {"name": "steered", "rounds": 4, "reach": 3}
    assert "Steered(rounds=4, reach=3)" in str(release)
    assert "3,000 items (3 x 1,000) per user at most" in str(release)
    assert dpsel.check(release).ok
    plain = dpsel.select_partitions([(1, 2)], mechanism=dpsel.Steered(rounds=4, reach=1), **arguments)
    assert report_of(plain)["request"]["mechanism"] == {"name": "steered", "rounds": 4}
    assert "1,000 items per user at most" in str(plain)


def test_a_changed_reach_does_not_pass_the_check() -> None:
    release = dpsel.select_partitions(
        [(1, 2)],
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        max_items_per_user=10,
        mechanism=dpsel.Steered(rounds=4, reach=3),
    )
    report = json.loads(release.report.to_json())
    report["request"]["mechanism"]["reach"] = 2
    assert _core.check_report(json.dumps(report)) != []


@pytest.mark.parametrize("rounds", [0, -1, 257, 2**40])
def test_rounds_out_of_range(rounds) -> None:
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="^rounds must be"):
        dpsel.Steered(rounds=rounds)


@pytest.mark.parametrize("reach", [0, -1, 65, 2**40])
def test_reach_out_of_range(reach) -> None:
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="^reach must be"):
        dpsel.Steered(reach=reach)


def test_reach_and_limit_together_have_a_limit() -> None:
    arguments = {"privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-6), "max_items_per_user": 156_251}
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="^reach must be at most 10,000,000"):
        dpsel.select_partitions([(1, 2)], mechanism=dpsel.Steered(rounds=4, reach=64), **arguments)
