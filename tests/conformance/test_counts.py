"""``counts=``: what is counted, what one user can change, and what it costs, against plain Python."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from mpmath import mpf, sqrt
from scipy import stats

import dpsel
from dpsel import _core
from dpsel.exceptions import CalibrationError, InvalidParameterError
from dpsel.release import Report
from dpsel.testing import neighbours
from false_alarm import ALPHA
from reference import calibration, counts
from reference.noise import UNIT
from strategies import rows
from support import KEY, released, select, table
from weak import WEAK

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = WEAK

#: So much budget that items of few users come out.
PRIVACY = dpsel.ApproxDP(epsilon=20.0, delta=0.2)
KEYS = st.binary(min_size=32, max_size=32)
APPROX = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
GAUSSIAN = (dpsel.WeightedGaussian(), dpsel.CountGaussian(), dpsel.PolicyGaussian(), dpsel.Sips())


def mechanisms_with(case, privacy=PRIVACY):
    return {"privacy": privacy, "max_items_per_user": case.bound(2), "mechanism": case.mechanism}


def users_of(release) -> dict:
    """Released item -> published number of users."""
    columns = released(release)
    return dict(zip(columns["item"].to_pylist(), columns["users"].to_pylist(), strict=True))


def sets_of(data) -> dict:
    sets: dict = {}
    for user, item in data:
        sets.setdefault(user, set()).add(item)
    return sets


def expected(data, release, key: bytes = KEY) -> dict:
    noise = release.report.counts
    scale = noise["max_counted_items"], 1, noise["scale"]
    held = [dict.fromkeys(items, 1) for items in sets_of(data).values()]
    return dict(counts.published(held, set(users_of(release)), scale, key))


@given(data=rows(), key=KEYS, limit=st.integers(1, 4), nonnegative=st.booleans())
def test_numbers_are_those_of_plain_python(case, data, key, limit, nonnegative) -> None:
    asked = dpsel.Counts(share=0.3, max_counted_items=limit, nonnegative=nonnegative)
    release = select(table(data), counts=asked, key=key, **mechanisms_with(case))
    least = 0 if nonnegative else -(10**9)
    assert users_of(release) == {
        item: max(number, least) for item, number in expected(data, release, key).items()
    }


@given(pair=neighbours(users=9, items=5, max_rows=40, added=5), key=KEYS, limit=st.integers(1, 3))
def test_one_user_moves_the_numbers_by_its_norm(case, pair, key, limit) -> None:
    """Under one key the noise is the same. Where both tables release the same, it differs by one user."""
    before, after = pair
    asked = dpsel.Counts(share=0.5, max_counted_items=limit)
    first, second = (
        select(table(data), counts=asked, key=key, **mechanisms_with(case)) for data in (before, after)
    )
    # With too few such pairs Hypothesis fails.
    assume({*users_of(first)} == {*users_of(second)})
    moved = {item: number - users_of(first)[item] for item, number in users_of(second).items()}
    (held,) = [items for user, items in sets_of(after).items() if sets_of(before).get(user) != items] or [
        set()
    ]
    counted = held & moved.keys()
    assert all(change == 0 for item, change in moved.items() if item not in counted)
    if len(counted) <= limit:
        assert all(moved[item] == 1 for item in counted)
    each = counts.of_row([1] * len(counted), limit)
    assert len(counted) * each**2 <= limit * UNIT**2
    # Rounding to whole numbers moves by less than one.
    assert all(abs(moved[item] * UNIT - each) < UNIT for item in counted)


def test_all_that_a_user_holds_is_counted_not_only_what_it_keeps(case) -> None:
    """One item of each user is kept. Everybody holds all items, so that all have the same exact number."""
    data = [(user, item) for user in range(300) for item in range(6)]
    arguments = mechanisms_with(case, dpsel.ApproxDP(epsilon=40.0, delta=1e-3)) | {"max_items_per_user": 1}
    release = select(table(data), counts=dpsel.Counts(share=0.9, max_counted_items=10), **arguments)
    assert len(release) >= 1
    noise = release.report.counts["scale"]
    assert all(abs(number - 300) < 7 * noise + 1 for number in users_of(release).values())
    assert users_of(release) == expected(data, release)


def test_rows_and_threads_do_not_matter(case) -> None:
    data = [(user, item) for user in range(200) for item in range(user % 7)]
    arguments = mechanisms_with(case) | {"counts": 0.4}
    first = select(table(data), **arguments)
    turned = select(table(data[::-1]), threads=1, **arguments)
    assert users_of(first) == users_of(turned)
    if not case.counts_rows:
        assert users_of(select(table(data + data), **arguments)) == users_of(first)


def test_every_part_of_the_report_is_derived_again(case) -> None:
    release = select(table([(1, 1)]), counts=0.25, key=None, **mechanisms_with(case))
    assert dpsel.check(release.report).ok
    data = json.loads(release.report.to_json())
    assert data["guarantee"]["counts"]
    assert data["cost"]["total"] == data["request"]["privacy"]
    data["calibration"]["counts"]["noise"]["sigma"] *= 0.5
    assert "the noise of the counts" in str(dpsel.check(Report(json.dumps(data))))
    data = json.loads(release.report.to_json())
    data["request"]["counts"]["share"] = 0.125
    assert not dpsel.check(Report(json.dumps(data))).ok
    del data["request"]["counts"]
    assert not dpsel.check(Report(json.dumps(data))).ok


@pytest.mark.parametrize("mechanism", GAUSSIAN, ids=repr)
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_gaussian_rounds_and_numbers_are_within_delta_together(mechanism, share) -> None:
    """In 60-digit arithmetic, from the theorem."""
    epsilon, delta, bound, limit = 1.0, 1e-5, 7, 30
    report = select(
        table([]),
        privacy=dpsel.ApproxDP(epsilon=epsilon, delta=delta),
        max_items_per_user=bound,
        mechanism=mechanism,
        counts=dpsel.Counts(share=share, max_counted_items=limit),
    ).report
    rounds = report["calibration"]["rounds"]
    norm = mpf(bound) if mechanism == dpsel.CountGaussian() else mpf(1)
    squares = sum(norm / mpf(each["noise"]["sigma"]) ** 2 for each in rounds)
    of_counts = mpf(limit) / mpf(report.counts["scale"]) ** 2
    # A user of a policy gives an item at most what a user of one item gives.
    names = [each["weighting"] if isinstance(each["weighting"], str) else "equal_l2" for each in rounds]
    safe = mpf(1)
    for each, name in zip(rounds, names, strict=True):
        safe *= 1 - calibration.novel_release(each["noise"], name, bound, each["threshold"])
    total = (1 - safe) + safe * calibration.hockey_stick(epsilon, sqrt(squares + of_counts))
    assert total <= delta
    assert mechanism == dpsel.PolicyGaussian() or total > 0.98 * delta
    # The norm of a policy has the slack of rounding.
    assert abs(of_counts / (squares + of_counts) - share) < 1e-4


@pytest.mark.parametrize("bound", [1, 40, 1000])
def test_steered_rounds_and_numbers_are_within_delta_together(bound) -> None:
    """The theorem with one round more, for users of every size, in 60-digit arithmetic."""
    epsilon, delta = 1.5, 1e-5
    report = select(
        table([]),
        privacy=dpsel.ApproxDP(epsilon=epsilon, delta=delta),
        max_items_per_user=bound,
        mechanism=dpsel.Steered(rounds=5),
        counts=dpsel.Counts(share=0.3, max_counted_items=50),
    ).report
    rounds = report["calibration"]["rounds"]
    publish = rounds[-1]["publish"]
    sigma = sqrt(sum(mpf(each["noise"]["sigma"]) ** 2 for each in rounds))
    squares = sum((mpf(each["share"]) / 2**20 / mpf(each["noise"]["sigma"])) ** 2 for each in rounds)
    of_counts = mpf(50) / mpf(report.counts["scale"]) ** 2
    for size in publish["sizes"]:
        tail = [
            calibration.normal_tail(mpf(steps) / UNIT / sigma)
            for steps in (publish["threshold"] - size["cap"], publish["threshold"] + len(rounds))
        ]
        missed = 1 - (1 - (tail[0] - tail[1])) ** size["items"]
        moved = sqrt((mpf(size["norm"]) / UNIT) ** 2 * squares + of_counts)
        assert missed + calibration.hockey_stick(epsilon, moved) <= delta, size


@pytest.mark.parametrize(
    "privacy", [dpsel.ApproxDP(epsilon=2.0, delta=1e-5), dpsel.ZCDP(rho=0.2, delta=1e-5)]
)
def test_divided_budgets_add_up(privacy) -> None:
    approx = isinstance(privacy, dpsel.ApproxDP)
    mechanism = dpsel.UnitGreedy() if approx else dpsel.Steered()
    arguments = {"max_items_per_user": 9, "mechanism": mechanism}
    counted = select(table([]), privacy=privacy, counts=0.25, **arguments).report
    rest = dpsel.ApproxDP(epsilon=1.5, delta=0.75e-5) if approx else dpsel.ZCDP(rho=0.15, delta=1e-5)
    alone = select(table([]), privacy=rest, **arguments).report
    scale = mpf(3) / mpf(counted.counts["scale"])
    both = [report["calibration"]["rounds"] for report in (counted, alone)]
    if approx:
        curves = [[(each["curve"]["epsilon"], each["curve"]["delta"]) for each in rounds] for rounds in both]
        assert curves[0] == [pytest.approx(curve) for curve in curves[1]]
        assert 0.24e-5 < calibration.hockey_stick(0.5, scale) <= 0.25e-5
    else:
        sigmas = [[each["noise"]["sigma"] for each in rounds] for rounds in both]
        assert sigmas[0] == pytest.approx(sigmas[1])
        assert 0.049_999 < scale**2 / 2 <= 0.05


def many(items: int, **arguments):
    """Items of six users each, who hold nothing else, and their noise in standard deviations."""
    data = pa.table({"user": np.arange(items * 6), "item": np.repeat(np.arange(items), 6)})
    release = select(
        data,
        privacy=dpsel.ApproxDP(epsilon=40.0, delta=0.01),
        max_items_per_user=1,
        mechanism=dpsel.CountGaussian(),
        key=None,
        **arguments,
    )
    assert len(release) == items
    return release, (released(release)["users"].to_numpy() - 6) / release.report.counts["scale"]


@pytest.mark.statistical
def test_the_noise_is_gaussian_of_the_stated_scale() -> None:
    release, noise = many(4_000, counts=dpsel.Counts(share=0.5, max_counted_items=10**7))
    assert release.report.counts["scale"] > 200, "rounding is not seen"
    assert stats.kstest(noise, stats.norm.cdf).pvalue > ALPHA
    within = np.mean(np.abs(noise) * release.report.counts["scale"] <= release.report.counts["half_width"])
    assert stats.binomtest(round(within * 4_000), 4_000, 0.95).pvalue > ALPHA


@pytest.mark.statistical
def test_the_noise_is_not_that_of_the_selection() -> None:
    """With words that were used before, the numbers would tell the noise of the weights."""
    counted = dpsel.Counts(share=0.5, max_counted_items=10**7)
    release, noise = many(4_000, counts=counted, with_weights=True)
    weights = released(release)["weight"].to_numpy() - 6
    assert stats.pearsonr(weights, noise).pvalue > ALPHA


@pytest.mark.statistical
def test_an_attack_on_the_numbers_gains_what_their_distance_allows() -> None:
    """The best test between neighbours whose user holds all counted items: the sum of the numbers."""
    items, draws = 4, 400
    asked = {"privacy": dpsel.ZCDP(rho=2.0, delta=0.01), "max_items_per_user": 4, "counts": 0.5}

    def sums(users: int) -> np.ndarray:
        data = table([(user, item) for user in range(users) for item in range(items)])
        made = (select(data, mechanism=dpsel.CountGaussian(), key=None, **asked) for _ in range(draws))
        return np.array([sum(users_of(release).values()) for release in made], dtype=float)

    scale = select(table([]), mechanism=dpsel.CountGaussian(), **asked).report.counts["scale"]
    before, after = sums(60), sums(61)
    moved = (after.mean() - before.mean()) / (scale * np.sqrt(items))
    # The distance is sqrt(4) / scale = sqrt(2 rho / 2); means have standard deviations of 1 / sqrt(draws).
    assert abs(moved - np.sqrt(2.0)) < 7 * np.sqrt(2 / draws)
    spread = np.concatenate([before - before.mean(), after - after.mean()]) / (scale * np.sqrt(items))
    assert 0.8 < spread.std() < 1.25


def test_public_items_are_counted_with_the_released_ones() -> None:
    data = [(user, item) for user in range(300) for item in range(4)] + [(7, 9)]
    asked = dpsel.Counts(share=0.5, max_counted_items=2)
    arguments = {"privacy": dpsel.ApproxDP(epsilon=20.0, delta=1e-3), "max_items_per_user": 3}
    release = select(
        table(data),
        counts=asked,
        public_items=[0, 77],
        exclude=[1],
        with_weights=True,
        mechanism=dpsel.CountGaussian(),
        **arguments,
    )
    assert users_of(release) == expected(data, release)
    found = released(release)
    assert found.column_names == ["item", "weight", "users", "public"]
    assert found["item"].to_pylist() == [0, 2, 3, 77]
    assert found["public"].to_pylist() == [
        True,
        False,
        False,
        True,
    ]
    # Three counted items at a limit of two, and an item that nobody holds.
    scale = release.report.counts["scale"]
    assert abs(users_of(release)[2] - 300 * np.sqrt(2 / 3)) < 7 * scale + 1
    assert abs(users_of(release)[77]) < 7 * scale + 1


def test_a_least_number_of_users_and_a_look_go_with_counts() -> None:
    data = [(user, item) for user in range(400) for item in range(3)]
    arguments = {"privacy": dpsel.ApproxDP(epsilon=8.0, delta=1e-4), "max_items_per_user": 3, "counts": 0.3}
    for options in (
        {"min_users": 20},
        {"mechanism": dpsel.MatchingOr(dpsel.Steered())},
    ):
        release = select(table(data), key=None, **options, **arguments)
        assert len(release) == 3
        assert dpsel.check(release).ok
        assert all(
            abs(number - 400) < 7 * release.report.counts["scale"] + 1
            for number in users_of(release).values()
        )


def test_what_is_not_there_is_refused() -> None:
    def refused(match: str, **options) -> None:
        arguments = {"privacy": PRIVACY, "max_items_per_user": 3, "counts": 0.2} | options
        with pytest.raises(InvalidParameterError, match=match):
            select(table([(1, 1)]), **arguments)

    refused("no guarantee under PureDP", privacy=dpsel.PureDP(epsilon=1.0), mechanism=dpsel.CountGaussian())
    for share in (0, 1, -0.2, float("nan")):
        refused("share must be above 0 and below 1", counts=share)
    for wrong in (True, "0.2", [0.2]):
        refused("counts must be a share of the budget", counts=wrong)
    with pytest.raises(InvalidParameterError, match="'users'"):
        dpsel.select_partitions(
            pa.table({"u": [1], "users": [1]}),
            user="u",
            item="users",
            privacy=PRIVACY,
            max_items_per_user=1,
            counts=0.2,
        )
    for value in (0, 10**8):
        with pytest.raises(InvalidParameterError, match="max_counted_items must be between"):
            dpsel.Counts(max_counted_items=value)


#: What cannot be had beside numbers, and what mends it. Without numbers all of it has a calibration.
EXTREME = {
    "noise beyond all numbers": (
        dpsel.ZCDP(rho=1e-12, delta=1e-6),
        dpsel.Counts(share=1e-4, max_counted_items=10**7),
        "raise share, epsilon or rho",
    ),
    "hardly any share": (APPROX, 1e-25, "raise share, epsilon or rho"),
    "many rows": (
        APPROX,
        dpsel.Counts(share=1e-9, count="rows", max_rows_per_item=1_000_000),
        "lower max_counted_items, max_rows_per_item or max_rows_per_user",
    ),
    "nothing for the items": (APPROX, 1 - 1e-16, "what counts= leaves of the budget; lower share"),
    "more than noise resolves": (dpsel.ApproxDP(epsilon=45.0, delta=1e-6), 0.2, "or leave counts= out"),
}


@pytest.mark.parametrize("name", EXTREME)
@pytest.mark.parametrize("mechanism", [dpsel.CountGaussian(), dpsel.UnitGreedy()], ids=repr)
def test_extreme_noise_is_refused_in_words_of_its_own_before_data_is_read(name, mechanism) -> None:
    privacy, counts_, words = EXTREME[name]
    if isinstance(privacy, dpsel.ZCDP) and mechanism == dpsel.UnitGreedy():
        mechanism = dpsel.Sips()

    def batches() -> Iterator[pa.RecordBatch]:
        raise AssertionError("data is read")
        yield

    schema = pa.schema({"user": pa.int64(), "item": pa.int64()})
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    arguments = {"privacy": privacy, "max_items_per_user": 10, "mechanism": mechanism}
    with pytest.raises(CalibrationError, match=re.escape(words)):
        dpsel.select_partitions(reader, user="user", item="item", counts=counts_, **arguments)
    plan = partial(dpsel.plan, privacy=privacy, max_items_per_user=10, mechanisms=[mechanism])
    with pytest.raises(CalibrationError, match=re.escape(words)):
        plan(counts=counts_)
    assert plan().rows


def test_what_is_not_there_without_numbers_says_nothing_of_them() -> None:
    """A curve of so little budget does not exist, whatever is counted."""
    with pytest.raises(CalibrationError, match="a release curve") as caught:
        select(
            table([]),
            privacy=dpsel.ApproxDP(epsilon=1e-9, delta=1e-6),
            max_items_per_user=10,
            mechanism=dpsel.WeightedGaussian(release="curve"),
            counts=0.2,
        )
    assert "counts" not in str(caught.value)
    assert "share" not in str(caught.value)


def test_intervals_are_those_of_the_noise() -> None:
    data = table([(user, item) for user in range(400) for item in range(3)])
    arguments = {"privacy": dpsel.ApproxDP(epsilon=3.0, delta=1e-4), "max_items_per_user": 3}
    release = select(data, counts=0.3, mechanism=dpsel.Sips(), **arguments)
    scale = release.report.counts["scale"]
    assert release.count_interval() == pytest.approx(stats.norm.isf(0.025) * scale + 0.5)
    assert release.count_interval() == pytest.approx(release.report.counts["half_width"])
    each = 1 - 0.9 ** (1 / 3)
    assert release.count_interval(0.9, all_at_once=True) == pytest.approx(
        stats.norm.isf(each / 2) * scale + 0.5
    )
    for wrong in (0, 1, 2):
        with pytest.raises(InvalidParameterError, match="confidence must be above 0"):
            release.count_interval(wrong)
    plain = select(data, mechanism=dpsel.Sips(), **arguments)
    assert plain.report.counts is None
    with pytest.raises(InvalidParameterError, match="no numbers of users or rows"):
        plain.count_interval()


@pytest.mark.parametrize("extension", ["csv", "ndjson", "parquet", "arrow"])
def test_a_written_release_is_read_back(tmp_path, extension) -> None:
    data = table([(user, item) for user in range(400) for item in range(3)])
    arguments = {"privacy": dpsel.ApproxDP(epsilon=3.0, delta=1e-4), "max_items_per_user": 3}
    release = select(data, counts=0.3, mechanism=dpsel.Sips(), key=None, **arguments)
    path = tmp_path / f"items.{extension}"
    release.write(path)
    release.report.save(tmp_path / "items.json")
    again = dpsel.Release.load(path)
    assert list(users_of(again).values()) == list(users_of(release).values())
    assert len(list(again)) == 3
    assert again.count_interval() == release.count_interval()
    # Sets are of items; numbers are not carried over.
    assert list(release & [0, 1]) == [0, 1]
    assert "users" in str(release)
    assert "Numbers of users" in release.card().to_html()


def test_what_counts_leave_is_planned() -> None:
    arguments = {"privacy": dpsel.ZCDP(rho=0.1, delta=1e-5), "max_items_per_user": [10, 40]}
    rows_ = dpsel.plan(counts=0.2, **arguments).rows
    assert [row["counts_scale"] for row in rows_] == pytest.approx([np.sqrt(10 / 0.04), np.sqrt(40 / 0.04)])
    for row, plain in zip(rows_, dpsel.plan(**arguments).rows, strict=True):
        assert row["users_for_95"] > plain["users_for_95"]
        assert "counts_scale" not in plain
    assert "users +-" in str(dpsel.plan(counts=0.2, **arguments))


def test_other_accountants_are_told_of_the_numbers() -> None:
    """The distance of a call with numbers is that of rounds and numbers together."""
    arguments = {"privacy": dpsel.ZCDP(rho=0.1, delta=1e-5), "max_items_per_user": 5}
    parts = [
        _core.gaussian_part(
            select(table([]), mechanism=dpsel.Sips(), key=None, **arguments, **counted).report.to_json()
        )
        for counted in ({}, {"counts": 0.3})
    ]
    assert parts[0] is not None
    assert parts[0] == pytest.approx(parts[1], rel=1e-6)
    sigma = select(table([]), mechanism=dpsel.Sips(), counts=0.3, **arguments).report.counts["scale"]
    assert np.sqrt(5) / sigma == pytest.approx(np.sqrt(0.3 * 0.2))


@pytest.mark.parametrize("rows_", [[], [(1, None)], [(1, 5)]], ids=len)
def test_little_data_has_numbers_of_nothing(case, rows_) -> None:
    data = table(rows_, item_type=pa.int64())
    release = select(
        data, counts=0.5, key=None, **mechanisms_with(case, dpsel.ApproxDP(epsilon=1.0, delta=1e-9))
    )
    assert released(release).column_names == ["item", "users"]
    assert released(release)["users"].type == pa.int64()
    assert len(release) == 0


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "pairs"])
def test_numbers_come_with_every_kind_of_table(kind) -> None:
    data = [(user, f"city {item}") for user in range(400) for item in range(2)]
    made = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.table, "pairs": lambda _: data}[
        kind
    ]({"user": [user for user, _ in data], "item": [item for _, item in data]})
    release = select(made, privacy=dpsel.ApproxDP(epsilon=3.0, delta=1e-4), max_items_per_user=2, counts=0.3)
    assert release.to_pylist() == list(zip(release, users_of(release).values(), strict=True))
    items = release.items
    if kind != "pairs":
        assert list(items.column_names if kind == "pyarrow" else items.columns) == ["item", "users"]
    assert release.filter(data) == data


def test_mechanisms_are_compared_with_counts() -> None:
    """Beside numbers fewer items come out; curves have no numbers under zCDP and are left out in any case."""
    data = [(user, item) for user in range(300) for item in range(40) if (user * 7 + item * 11) % 40 >= item]
    arguments = {
        "privacy": dpsel.ZCDP(rho=0.05, delta=1e-6),
        "max_items_per_user": 5,
        "public_data": True,
        "seed": 1,
    }
    plain, beside = (
        {row["mechanism"]: row["items"] for row in dpsel.compare(data, counts=counts_, **arguments).rows}
        for counts_ in (None, 0.9)
    )
    assert plain.keys() == beside.keys()
    assert all(beside[name] <= plain[name] for name in plain)
    assert sum(beside.values()) < sum(plain.values())
