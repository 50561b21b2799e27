"""Mad2R: the cost of the screening round, which depends on noisy weights of all items alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import log, mp, mpf

import dpsel
from dpsel import _core
from reference import adaptive, curves
from reference import calibration as formulas
from reference import mechanisms as reference
from strategies import keys, neighbours
from support import items_of, report_of, select, table

mp.dps = 40

UNIT = curves.UNIT
PRIVACY = [
    dpsel.ApproxDP(epsilon=1.765, delta=4.96e-5),
    dpsel.ApproxDP(epsilon=4.0, delta=1e-3),
    dpsel.ApproxDP(epsilon=0.5, delta=1e-9),
]
GENEROUS = dpsel.ApproxDP(epsilon=6.0, delta=0.05)


def rounds_of(privacy, bound: int = 100) -> tuple[dict, dict]:
    release = select(table([]), privacy=privacy, max_items_per_user=bound, mechanism=dpsel.Mad2R())
    first, second = report_of(release)["calibration"]["rounds"]
    return first, second


@pytest.mark.parametrize("privacy", PRIVACY, ids=str)
def test_screening_and_curve_share_the_budget(privacy) -> None:
    """Divergences of one order add, and convert to delta together with the curve's approximation."""
    first, second = rounds_of(privacy)
    assert first["weighting"] == "equal_l2"
    assert second["weighting"]["mad"]["norm"] == second["curve"]["norm"] > UNIT
    curve, sigma = second["curve"], mpf(first["noise"]["sigma"])
    screened = mpf(curve["alpha"]) / (2 * sigma**2)
    total = screened + mpf(curve["divergence"])
    delta = mpf(curve["delta"])
    delta += (1 - delta) * curves.converted(curve["alpha"], total, privacy.epsilon)
    assert log(mpf("0.999")) < log(delta / mpf(privacy.delta)) <= 0
    assert screened / total == pytest.approx(0.2)


@pytest.mark.parametrize("privacy", PRIVACY[:2], ids=str)
def test_seeing_the_screening_and_the_release_of_an_item_stays_within_delta(privacy) -> None:
    """The exact divergence of (noisy weight, released or not) for a user of one item, wherever it is."""
    first, second = rounds_of(privacy)
    mu, words = 1 / mpf(first["noise"]["sigma"]), _core.curve_words(json.dumps(second))

    def exceeds(with_user, without):
        """By what a noisy weight, with this probability of what follows, exceeds the other one."""
        if with_user == 0 or without == 0:
            return with_user
        return with_user * formulas.hockey_stick(privacy.epsilon + log(without / with_user), mu)

    worst = mpf(0)
    for base in range(0, 14 * UNIT, UNIT // 2):
        q, p = (mpf(curves.words_at(second, words, weight)) / 2**128 for weight in (base, base + UNIT))
        worst = max(worst, exceeds(p, q) + exceeds(1 - p, 1 - q), exceeds(q, p) + exceeds(1 - q, 1 - p))
    assert mpf(privacy.delta) / 20 < worst <= mpf(privacy.delta)


@given(tables=neighbours(), key=keys, data=st.data())
def test_the_second_round_moves_one_unit_of_norm_whatever_was_seen(tables, key, data) -> None:
    """Replay: any noisy weights, items left out and sets bounded again, with and without the user."""
    sets = [reference.sets_of(rows) for rows in tables]
    items = sorted({item for each in sets for held in each.values() for item in held}, key=str)
    screening = adaptive.Screening(1.0, 0, UNIT, 3 * UNIT)
    seen = {item: data.draw(st.integers(-UNIT, 9 * UNIT)) for item in items}
    importances = {item: adaptive.importance_of(noisy, screening) for item, noisy in seen.items()}
    bound, limit = data.draw(st.integers(1, 8)), data.draw(st.integers(0, 2 * UNIT))
    left = [{u: {i for i in held if importances[i]} for u, held in each.items()} for each in sets]
    before, after = (
        adaptive.adaptive(
            reference.bound(each, bound, key), {"limit": limit, "most": bound}, key, importances
        )
        for each in left
    )
    changes = [after.get(item, 0) - before.get(item, 0) for item in before | after]
    assert sum(change**2 for change in changes) <= (UNIT + 64) ** 2


@pytest.mark.parametrize("seed", range(8))
def test_users_of_novel_items_change_nothing_for_others(seed) -> None:
    """Noise on items that nobody else holds changes nothing for anybody else."""
    rows = [(u, i) for u in range(80) for i in range(14) if (u * 7 + i * 11) % 14 >= i]
    novel = [(1000 + u, 1000 + 20 * u + i) for u in range(30) for i in range(20)]
    arguments = {
        "privacy": GENEROUS,
        "max_items_per_user": 5,
        "mechanism": dpsel.Mad2R(),
        "key": bytes([seed]) * 32,
    }
    without = items_of(select(table(rows), **arguments))
    with_novel = items_of(select(table(rows + novel), **arguments))
    assert without
    assert [item for item in with_novel if item < 1000] == without


def test_a_changed_screening_does_not_check() -> None:
    release = select(
        table([(1, 1)]), privacy=PRIVACY[0], max_items_per_user=3, mechanism=dpsel.Mad2R(), key=None
    )
    assert dpsel.check(release.report).ok
    assert str(dpsel.Report(release.report.to_json())).strip()
    for name, value in (("target", 5), ("noise", {"kind": "gaussian", "sigma": 1.0})):
        changed = json.loads(release.report.to_json())
        changed["calibration"]["rounds"][0][name] = value
        assert "round 1" in dpsel.check(dpsel.Report(json.dumps(changed))).reason
    assert "Mad2R(alpha=2)" in repr(release)
