"""What must hold for every table and every parameter, without looking inside."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from strategies import approx_dp, keys, max_items, neighbours, rows
from support import items_of, report_of, rounds_of, select, table, units_of


@given(rows=rows(), privacy=approx_dp, bound=max_items, key=keys)
def test_weights_do_not_change_what_is_released(case, rows, privacy, bound, key) -> None:
    arguments = {"privacy": privacy, "max_items_per_user": bound, "mechanism": case.mechanism, "key": key}
    assert items_of(select(table(rows), **arguments)) == items_of(
        select(table(rows), with_weights=True, **arguments)
    )


@given(rows=rows(), bound=max_items, key=keys)
def test_one_round_sips_is_weighted_gaussian_under_zcdp(rows, bound, key) -> None:
    arguments = {
        "privacy": dpsel.ZCDP(rho=0.5, delta=0.01),
        "max_items_per_user": bound,
        "with_weights": True,
        "key": key,
    }
    one = select(table(rows), mechanism=dpsel.Sips(rounds=1, ratio=0.5), **arguments)
    other = select(table(rows), mechanism=dpsel.WeightedGaussian(), **arguments)
    assert rounds_of(one) == rounds_of(other)
    assert units_of(one) == units_of(other)


@given(tables=neighbours(), bound=max_items, key=keys, privacy=approx_dp)
def test_another_user_never_takes_an_item_out_of_one_round(tables, bound, key, privacy) -> None:
    """Same key: more weight, same noise, same threshold."""
    for mechanism in (
        dpsel.CountLaplace(),
        dpsel.CountGaussian(),
        dpsel.WeightedLaplace(),
        dpsel.WeightedGaussian(),
        dpsel.PolicyLaplace(alpha=1.0, passes=2),
    ):
        before, after = (
            set(
                items_of(
                    select(table(r), privacy=privacy, max_items_per_user=bound, mechanism=mechanism, key=key)
                )
            )
            for r in tables
        )
        assert before <= after


@given(rows=rows(), key=keys, names=st.permutations(range(25)))
def test_counts_do_not_depend_on_who_the_users_are(rows, key, names) -> None:
    """Without bounding, renaming users changes nothing."""
    arguments = {
        "privacy": dpsel.ApproxDP(epsilon=2.0, delta=0.2),
        "max_items_per_user": 30,
        "mechanism": dpsel.Sips(),
        "with_weights": True,
        "key": key,
    }
    renamed = [(names[u], i) for u, i in rows]
    assert units_of(select(table(rows), **arguments)) == units_of(select(table(renamed), **arguments))


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_thresholds_move_the_right_way(case, delta) -> None:
    """Less epsilon, less delta: never a lower threshold or scale."""

    def calibrated(epsilon: float, delta: float) -> list:
        privacy = dpsel.ApproxDP(epsilon=epsilon, delta=delta)
        return rounds_of(select(table([]), privacy=privacy, max_items_per_user=7, mechanism=case.mechanism))

    base = calibrated(1.0, delta)
    for tighter in (calibrated(0.5, delta), calibrated(1.0, delta / 10)):
        for t, b in zip(tighter, base, strict=True):
            # A scored round before the last has no threshold.
            assert (t.threshold is None) == (b.threshold is None)
            assert t.scale >= b.scale
            assert t.threshold is None or t.threshold > b.threshold
        assert tighter[-1].threshold > base[-1].threshold


@given(rows=rows())
def test_checking_a_report_recomputes_it(case, rows) -> None:
    release = select(
        table(rows),
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-4),
        max_items_per_user=3,
        mechanism=case.mechanism,
        key=None,
    )
    assert dpsel.check(release.report).ok
    text = release.report.to_json()
    assert json.loads(dpsel.Report(text).to_json()) == json.loads(text)
    lower = json.loads(text)
    last = lower["calibration"]["rounds"][-1]
    last.get("publish", last)["threshold"] -= 1
    assert not dpsel.check(dpsel.Report(json.dumps(lower))).ok
    assert report_of(release)["calibration"]["rounds"]
