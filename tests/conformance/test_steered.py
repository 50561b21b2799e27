"""Laws 3 and 4 for steered selection: weights under any importances, and the one publication."""

from __future__ import annotations

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from reference import calibration as formulas
from reference import mechanisms as reference
from reference import steered
from reference.noise import UNIT
from strategies import keys, max_items, neighbours
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
    """Round after round of any importances: the norm of each round, and the cap over all of them."""
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


@pytest.mark.parametrize("rounds", [0, -1, 257, 2**40])
def test_rounds_out_of_range(rounds) -> None:
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="^rounds must be"):
        dpsel.Steered(rounds=rounds)
