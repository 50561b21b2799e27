"""Greedy mechanisms: the filling against the plain form, orders of preference, and the honest labels."""

from __future__ import annotations

import warnings

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from dpsel.exceptions import DpselError, DpselWarning
from reference import prf, sequential
from reference.noise import UNIT, noise
from strategies import keys, max_items, neighbours, rows
from support import KEY, items_of, released, report_of, select, table, units_of
from weak import WEAK

pytestmark = WEAK

#: So much budget that every item with some weight shows it.
GENEROUS = dpsel.ApproxDP(epsilon=40.0, delta=0.01)
PRIVACY = dpsel.ApproxDP(epsilon=2.0, delta=0.01)
#: Many users of one item each: all items of the tables clear the threshold.
CROWD = [(10_000 + 100 * n + i, i) for i in range(21) for n in range(3)]


def published(**parameters) -> dpsel.GreedyFrequency:
    """With noisy weights, so that the weights behind a release can be seen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DpselWarning)
        return dpsel.GreedyFrequency(calibration="published", **parameters)


def shipped_weights(data, bound: int, key: bytes, **parameters) -> tuple[dict, int]:
    """The integer weights that were used, and the cutoff: noisy weights less the noise of the key."""
    release = select(
        table(data),
        privacy=GENEROUS,
        max_items_per_user=bound,
        mechanism=published(**parameters),
        with_weights=True,
        key=key,
    )
    (round_,) = report_of(release)["calibration"]["rounds"]
    scale = round_["noise"]["scale"]
    seen = {
        item: units - noise("laplace", scale, prf.noise_word(key, 0, item))
        for item, units in units_of(release).items()
    }
    return seen, round_["weighting"]["greedy"]["cutoff"]


@given(data=rows(), key=keys, bound=max_items, with_prior=st.booleans())
def test_weights_are_those_of_the_plain_form(data, key, bound, with_prior) -> None:
    prior = {3: 9.5, 1: 4, 2: 4, 7: 0} if with_prior else None
    seen, cutoff = shipped_weights(data + CROWD, bound, key, prior=prior, alpha=3)
    ordered = sequential.preferred(data + CROWD, bound, key, prior)
    expected = sequential.greedy(ordered, cutoff, key)
    assert seen
    assert seen == {item[1]: expected[item] for item in expected if item[1] in seen}


@given(pair=neighbours(), key=keys, bound=max_items)
def test_a_user_raises_the_weights_by_one_unit_in_all(pair, key, bound) -> None:
    """Under the same key; what was not released is not compared."""
    without, with_user = (shipped_weights(data + CROWD, bound, key)[0] for data in pair)
    changes = [with_user[item] - without[item] for item in with_user.keys() & without.keys()]
    assert all(change >= 0 for change in changes)
    assert sum(changes) <= UNIT


def test_own_counts_decide_what_a_user_fills_first() -> None:
    """Eight users hold both items; who has more rows of one gives to it."""
    data = [(user, item) for user in range(8) for item in (1, 2)] + [
        (user, 1 + user % 2) for user in range(8)
    ]
    seen, _ = shipped_weights(data, 2, KEY, alpha=400)
    assert seen == {1: 4 * UNIT, 2: 4 * UNIT}


@pytest.mark.parametrize("favourite", [1, 2])
def test_a_prior_decides_in_place_of_own_counts(favourite) -> None:
    data = [(user, item) for user in range(8) for item in (1, 2)] + [
        (user, 1 + user % 2) for user in range(8)
    ]
    seen, _ = shipped_weights(data, 2, KEY, alpha=400, prior=[(favourite, 5), (3 - favourite, 4)])
    assert seen == {favourite: 8 * UNIT}


def test_the_limit_keeps_the_preferred_items() -> None:
    """A random choice of two out of forty would hardly ever hit these two for all users."""
    data = [(user, item) for user in range(30) for item in range(40)]
    data += [(user, item) for user in range(30) for item in (11, 23)]
    release = select(
        table(data), privacy=PRIVACY, max_items_per_user=2, mechanism=dpsel.UnitGreedy(), key=KEY
    )
    assert items_of(release) == [11, 23]


@pytest.mark.parametrize("mechanism", [dpsel.UnitGreedy, dpsel.GreedyFrequency])
def test_priors_of_texts_and_of_several_columns(mechanism) -> None:
    # Four users fill two items with two units each, or three with a little less: that is enough for certain.
    data = pl.DataFrame(
        {
            "user": [u for u in range(4) for _ in range(20)],
            "a": [f"x{i}" for _ in range(4) for i in range(20)],
            "b": [i % 3 for _ in range(4) for i in range(20)],
        }
    )
    arguments = {"privacy": GENEROUS, "max_items_per_user": 100, "key": KEY}
    texts = select(data, item="a", mechanism=mechanism(prior={"x7": 3, "x5": 2, "y": 9}), **arguments)
    assert {"x5", "x7"} <= set(items_of(texts))
    assert len(texts) <= 3
    both = select(data, item=["a", "b"], mechanism=mechanism(prior={("x7", 1): 3, ("x5", 2): 2}), **arguments)
    assert {("x5", 2), ("x7", 1)} <= set(items_of(both))
    assert len(both) <= 3


def test_a_prior_of_another_type_is_refused() -> None:
    for wrong, match in [
        ({"01": 2}, "prior="),
        ({b"1": 2}, "prior="),
        ({1.5: 2}, "float"),
        ({(1, 2): 2}, "tuple"),
    ]:
        with pytest.raises(DpselError, match=match):
            select(
                table([(1, 1)]),
                privacy=PRIVACY,
                max_items_per_user=2,
                mechanism=dpsel.UnitGreedy(prior=wrong),
            )


@pytest.mark.parametrize("mechanism", [dpsel.UnitGreedy, dpsel.GreedyFrequency])
@pytest.mark.parametrize("wrong", [7, "text", [1, 2], {"a": "b"}, {"a": None}, {"a": float("nan")}])
def test_priors_that_are_none_are_refused(mechanism, wrong) -> None:
    with pytest.raises(DpselError, match="prior"):
        mechanism(prior=wrong)


def test_an_empty_prior_prefers_nothing() -> None:
    data = [(user, item) for user in range(60) for item in range(4)]
    arguments = {"privacy": PRIVACY, "max_items_per_user": 4, "key": KEY}
    empty = select(table(data), mechanism=dpsel.UnitGreedy(prior={}), **arguments)
    assert items_of(empty) == items_of(select(table(data), mechanism=dpsel.UnitGreedy(), **arguments))
    assert items_of(empty)


def test_the_published_calibration_says_that_it_guarantees_nothing() -> None:
    with pytest.warns(DpselWarning, match="no guarantee"):
        mechanism = dpsel.GreedyFrequency(calibration="published")
    release = select(table([(1, 1)]), privacy=PRIVACY, max_items_per_user=2, mechanism=mechanism, key=None)
    assert release.report["guarantee"]["statement"].startswith("no guarantee")
    checked = dpsel.check(release.report)
    assert not checked.ok
    assert "no guarantee" in checked.reason


def test_parameters_are_checked() -> None:
    for wrong in ({"calibration": "Curve"}, {"calibration": None}, {"alpha": 3}, {"alpha": "3"}):
        with pytest.raises(DpselError, match="alpha|calibration"):
            dpsel.GreedyFrequency(**wrong)
    with pytest.raises(DpselError, match="alpha"):
        published(alpha=-1)


def test_how_they_are_written() -> None:
    assert repr(dpsel.UnitGreedy(prior={"a": 1})) == "UnitGreedy(prior=...)"
    assert repr(published(alpha=5)) == "GreedyFrequency(calibration='published', alpha=5.0)"
    release = select(
        table([(1, 1)]), privacy=PRIVACY, max_items_per_user=2, mechanism=dpsel.UnitGreedy(prior={1: 1})
    )
    assert "UnitGreedy(prior=...)" in repr(release.report)
    assert report_of(release)["request"]["mechanism"] == {"name": "unit_greedy", "order": "prior"}


def test_threads_do_not_matter() -> None:
    data = pl.DataFrame({"user": range(200_000), "item": range(200_000)}).select(
        pl.col("user") % 20_011, (pl.col("item") ** 2 % 4999).cast(pl.Int64)
    )
    for mechanism in (dpsel.UnitGreedy(), dpsel.GreedyFrequency(prior={i: i % 7 for i in range(3000)})):
        one, many = (
            released(
                select(data, privacy=PRIVACY, max_items_per_user=100, mechanism=mechanism, threads=threads)
            )
            for threads in (1, 8)
        )
        assert len(one) > 100
        assert one == many
