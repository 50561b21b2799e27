"""``Counts(count="rows")``: what is counted, and what one user can change, against plain Python."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import dpsel
from dpsel import _core_calls
from dpsel._request import request_of_selection
from dpsel.exceptions import InvalidParameterError
from dpsel.release import Report
from dpsel.testing import neighbours
from false_alarm import ALPHA
from reference import counts
from reference.noise import UNIT
from strategies import rows
from support import KEY, released, select, table
from weak import WEAK

pytestmark = WEAK

#: So much budget that items of few users come out.
PRIVACY = dpsel.ApproxDP(epsilon=20.0, delta=0.2)
KEYS = st.binary(min_size=32, max_size=32)


def asked_with(case, privacy=PRIVACY):
    return {"privacy": privacy, "max_items_per_user": case.bound(2), "mechanism": case.mechanism}


def of_rows(most: int, **options) -> dpsel.Counts:
    return dpsel.Counts(count="rows", max_rows_per_item=most, **({"share": 0.3} | options))


def rows_of(release) -> dict:
    """Released item -> published number of rows."""
    columns = released(release)
    return dict(zip(columns["item"].to_pylist(), columns["rows"].to_pylist(), strict=True))


def held_by_users(data) -> dict:
    """User -> item -> number of rows."""
    held: dict = {}
    for user, item in data:
        held.setdefault(user, Counter())[item] += 1
    return held


def expected(data, release, key: bytes = KEY) -> dict:
    noise = release.report.counts
    scale = noise["max_counted_items"], noise["max_rows_per_item"], noise["scale"]
    return dict(counts.published(held_by_users(data).values(), set(rows_of(release)), scale, key))


@given(
    data=rows(),
    again=st.integers(0, 40),
    key=KEYS,
    limits=st.tuples(st.integers(1, 4), st.integers(1, 5)),
    nonnegative=st.booleans(),
)
def test_numbers_are_those_of_plain_python(case, data, again, key, limits, nonnegative) -> None:
    data = data + data[:3] * again
    asked = of_rows(limits[1], max_counted_items=limits[0], nonnegative=nonnegative)
    release = select(table(data), counts=asked, key=key, **asked_with(case))
    least = 0 if nonnegative else -(10**9)
    assert rows_of(release) == {
        item: max(number, least) for item, number in expected(data, release, key).items()
    }


@given(
    pair=neighbours(users=9, items=5, max_rows=40, added=5),
    times=st.lists(st.integers(1, 60), min_size=5, max_size=5),
    key=KEYS,
    limits=st.tuples(st.integers(1, 3), st.integers(1, 6)),
)
def test_one_user_of_many_rows_moves_the_numbers_by_its_norm(case, pair, times, key, limits) -> None:
    """Under one key the noise is the same. Where both tables release the same, it differs by one user."""
    before, after = pair
    own = after[len(before) :]
    after = before + [row for row, number in zip(own, times, strict=False) for _ in range(number)]
    limit, most = limits
    asked = of_rows(most, max_counted_items=limit, share=0.5)
    first, second = (
        select(table(data), counts=asked, key=key, **asked_with(case)) for data in (before, after)
    )
    # With too few such pairs Hypothesis fails.
    assume({*rows_of(first)} == {*rows_of(second)})
    moved = {item: number - rows_of(first)[item] for item, number in rows_of(second).items()}
    held = {
        item: min(number, most) for item, number in Counter(item for _, item in after[len(before) :]).items()
    }
    counted = {item: number for item, number in held.items() if item in moved}
    assert all(change == 0 for item, change in moved.items() if item not in counted)
    each = counts.of_row(counted.values(), limit, most)
    assert sum((number * each) ** 2 for number in counted.values()) <= limit * most**2 * UNIT**2
    # Rounding to whole numbers moves by less than one.
    assert all(abs(moved[item] * UNIT - number * each) < UNIT for item, number in counted.items())
    if sum(number**2 for number in counted.values()) <= limit * most**2:
        assert all(moved[item] == number for item, number in counted.items())


def test_thousands_of_rows_of_one_user_count_as_the_limit() -> None:
    """Counterexample: without a limit of rows, one user would move a number by thousands."""
    data = [(user, item) for user in range(200) for item in (1, 2)]
    asked = {"privacy": PRIVACY, "max_items_per_user": 2, "mechanism": dpsel.Sips(), "counts": of_rows(7)}
    before = rows_of(select(table(data), **asked))
    after = rows_of(select(table(data + [(-1, 1)] * 5000), **asked))
    assert {item: after[item] - before[item] for item in before} == {1: 7, 2: 0}
    both = rows_of(select(table(data + [(-1, 1)] * 5000 + [(-1, 2)] * 9000), **asked))
    assert {item: both[item] - before[item] for item in before} == {1: 7, 2: 7}


def test_items_are_those_beside_numbers_of_users(case) -> None:
    """The noise of both is one round of the same distance, so no decision changes."""
    data = [(user, item) for user in range(250) for item in range(user % 7) for _ in range(item + 1)]
    users = select(table(data), counts=0.3, **asked_with(case))
    counted = select(table(data), counts=of_rows(5), **asked_with(case))
    assert released(users)["item"] == released(counted)["item"]
    limit = counted.report.counts["max_counted_items"]
    assert counted.report.counts["scale"] == pytest.approx(5 * users.report.counts["scale"])
    assert users.report.counts["max_counted_items"] == limit


def test_order_threads_and_chunks_do_not_matter_but_repeated_rows_do(case) -> None:
    data = [(user, item) for user in range(300) for item in range(user % 7) for _ in range(user % 3 + 1)]
    arguments = asked_with(case) | {"counts": of_rows(4)}
    first = rows_of(select(table(data), **arguments))
    turned = table(data[::-1])
    assert rows_of(select(turned, threads=1, **arguments)) == first
    chunks = pa.concat_tables([turned.slice(at, 97) for at in range(0, len(data), 97)])
    assert rows_of(select(chunks, **arguments)) == first
    if not case.counts_rows and first:
        twice = rows_of(select(table(data + data), **arguments))
        assert twice.keys() == first.keys()
        assert twice != first


@pytest.mark.parametrize(
    "kind", ["polars", "lazy", "pandas", "pyarrow", "pairs", "lists", "csv", "parquet", "ndjson"]
)
def test_every_source_has_the_same_numbers(kind, tmp_path) -> None:
    data = [(user, f"city {item}") for user in range(150) for item in range(3) for _ in range(user % 4 + 1)]
    columns = {"user": [user for user, _ in data], "item": [item for _, item in data]}
    lists: dict = {}
    for user, item in data:
        lists.setdefault(user, []).append(item)
    path = tmp_path / f"rows.{kind}"
    writers = {
        "csv": lambda: pl.DataFrame(columns).write_csv(path),
        "parquet": lambda: pq.write_table(pa.table(columns), path),
        "ndjson": lambda: pl.DataFrame(columns).write_ndjson(path),
    }
    if kind in writers:
        writers[kind]()
    made = {
        "polars": lambda: pl.DataFrame(columns),
        "lazy": lambda: pl.LazyFrame(columns),
        "pandas": lambda: pd.DataFrame(columns),
        "pyarrow": lambda: pa.table(columns),
        "pairs": lambda: data,
        "lists": lambda: list(lists.items()),
    }.get(kind, lambda: str(path))()
    asked = {"privacy": PRIVACY, "max_items_per_user": 3, "counts": of_rows(3, max_counted_items=2)}
    release = select(made, mechanism=dpsel.Sips(), **asked)
    # Users of CSV are texts, which no number depends on.
    assert rows_of(release) == expected(data, release)
    assert len(release) == 3


def test_a_word_twice_in_a_text_counts_twice() -> None:
    texts = [(user, "the cat and the dog") for user in range(300)]
    asked = {"privacy": PRIVACY, "max_items_per_user": 20, "ngrams": (1, 2), "mechanism": dpsel.Sips()}
    release = select(texts, counts=of_rows(5, share=0.9), **asked)
    numbers, noise = rows_of(release), 7 * release.report.counts["scale"] + 1
    assert abs(numbers["the"] - 600) < noise
    assert abs(numbers["cat"] - 300) < noise
    assert abs(numbers["the cat"] - 300) < noise
    assert numbers["the"] - numbers["cat"] > 150
    # In the same place of another call of the same user.
    split = [(user, part) for user in range(300) for part in ("the cat and", "the dog")]
    assert rows_of(select(split, counts=of_rows(5, share=0.9), **asked))["the"] == numbers["the"]
    words = select(texts, counts=of_rows(5, share=0.9), tokenizer=str.split, **asked)
    assert rows_of(words)["the"] == numbers["the"]


def test_public_items_share_the_norm_and_excluded_ones_do_not() -> None:
    data = [(user, item) for user in range(300) for item in range(4) for _ in range(item + 1)] + [(7, 9)]
    release = select(
        table(data),
        counts=of_rows(3, share=0.5, max_counted_items=2),
        public_items=[0, 77],
        exclude=[3],
        with_weights=True,
        mechanism=dpsel.CountGaussian(),
        privacy=dpsel.ApproxDP(epsilon=20.0, delta=1e-3),
        max_items_per_user=3,
    )
    assert rows_of(release) == expected(data, release)
    found = released(release)
    assert found.column_names == ["item", "weight", "rows", "public"]
    assert found["item"].to_pylist() == [0, 1, 2, 77]
    # One, two and three rows: 14 of 18, so that everybody counts whole. With item 3 it would be 23.
    scale = release.report.counts["scale"]
    assert abs(rows_of(release)[2] - 900) < 7 * scale + 1
    assert abs(rows_of(release)[77]) < 7 * scale + 1


@pytest.mark.parametrize(
    "options",
    [
        {"min_users": 20},
        {"mechanism": dpsel.MatchingOr(dpsel.Steered())},
        {"max_items_per_user": dpsel.Quantile(0.9)},
        {"mechanism": dpsel.UnitGreedy()},
    ],
    ids=str,
)
def test_rows_go_with_what_else_can_be_asked_for(options) -> None:
    data = [(user, item) for user in range(400) for item in range(3) for _ in range(2)]
    arguments = {"privacy": dpsel.ApproxDP(epsilon=8.0, delta=1e-4), "max_items_per_user": 3}
    counted = of_rows(2, max_counted_items=5)
    release = select(table(data), counts=counted, **(arguments | options))
    assert len(release) >= 2
    assert rows_of(release) == expected(data, release)
    assert dpsel.check(select(table(data), counts=counted, key=None, **(arguments | options))).ok


@pytest.mark.long("three hundred thousand rows, on a disk")
@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(rounds=5)], ids=repr)
def test_rows_on_the_disk_are_those_of_memory(mechanism, tmp_path) -> None:
    rng = np.random.default_rng(5)
    users = rng.integers(0, 20_000, 300_000)
    common = [f"item {number}" for number in (rng.pareto(0.8, 300_000) * 3).astype(int) % 5_000]
    # Long texts that one user has alone, so that the table exceeds the limit; and a row many times over.
    rare = [f"{number}" + "y" * 160 for number in range(len(users))]
    data = {
        "user": np.concatenate([users, users, [7] * 50_000]),
        "item": common + rare + ["item 1"] * 50_000,
    }
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(data), path, row_group_size=20_000)
    asked = {
        "privacy": dpsel.ApproxDP(epsilon=4.0, delta=1e-5),
        "max_items_per_user": 10,
        "mechanism": mechanism,
        "counts": of_rows(20, max_counted_items=5),
    }
    places = {"memory_limit": 64 << 20, "scratch": tmp_path}
    here, there = select(str(path), **asked), select(str(path), **asked, **places)
    assert len(here) > 20
    assert released(here) == released(there)
    with pytest.raises(dpsel.exceptions.FileError, match="scratch_limit"):
        select(str(path), **asked, **places, scratch_limit=10_000)


def test_every_part_of_the_report_is_derived_again(case) -> None:
    release = select(table([(1, 1)]), counts=of_rows(9), key=None, **asked_with(case))
    assert dpsel.check(release.report).ok
    data = json.loads(release.report.to_json())
    assert data["request"]["counts"]["max_rows_per_item"] == 9
    for changed in (
        lambda data: data["calibration"]["counts"].update(max_rows_per_item=8),
        lambda data: data["request"]["counts"].update(max_rows_per_item=10),
        lambda data: data["request"]["counts"].pop("max_rows_per_item"),
        lambda data: data["calibration"]["counts"].pop("max_rows_per_item"),
    ):
        data = json.loads(release.report.to_json())
        changed(data)
        assert not dpsel.check(Report(json.dumps(data))).ok


def test_what_is_said_names_rows_and_their_limit(tmp_path) -> None:
    data = [(user, item) for user in range(400) for item in range(3)]
    asked = {"privacy": dpsel.ApproxDP(epsilon=3.0, delta=1e-4), "max_items_per_user": 3}
    release = select(table(data), counts=of_rows(4), mechanism=dpsel.Sips(), key=None, **asked)
    assert "\nrows: noise of standard deviation" in str(release)
    assert "of one user 4 rows per item at most" in str(release)
    assert "Numbers of rows" in release.card().to_html()
    assert release.count_interval() == pytest.approx(release.report.counts["half_width"])
    assert list(release & [0, 1]) == [0, 1]
    for extension in ("csv", "parquet"):
        path = tmp_path / f"items.{extension}"
        release.write(path)
        release.report.save(tmp_path / "items.json")
        again = dpsel.Release.load(path)
        assert list(rows_of(again).values()) == list(rows_of(release).values())
        assert len(list(again)) == 3
    assert dpsel.explain(release).rows
    plan = dpsel.plan(counts=of_rows(4), **asked)
    assert "rows +-" in str(plan)
    users = dpsel.plan(counts=0.3, **asked)
    assert plan.rows[0]["counts_scale"] == pytest.approx(4 * users.rows[0]["counts_scale"])
    assert plan.rows[0]["users_for_95"] == users.rows[0]["users_for_95"]


def test_what_is_not_there_is_refused() -> None:
    for options, match in (
        ({"count": "rows"}, "needs max_rows_per_item"),
        ({"max_rows_per_item": 3}, "users are counted"),
        ({"count": "row", "max_rows_per_item": 3}, "count must be 'users' or 'rows', got 'row'"),
        ({"count": 3}, "count must be 'users' or 'rows', got int"),
        ({"count": "rows", "max_rows_per_item": 0}, "max_rows_per_item must be between 1 and 1,000,000"),
        ({"count": "rows", "max_rows_per_item": 10**6 + 1}, "between 1 and 1,000,000"),
        ({"count": "rows", "max_rows_per_item": 1.5}, "max_rows_per_item"),
    ):
        with pytest.raises(InvalidParameterError, match=match):
            dpsel.Counts(**options)
    request = json.loads(request_of_selection(PRIVACY, 3, dpsel.Sips(), counts=of_rows(2)).json)
    request["counts"]["max_rows_per_item"] = 0
    with pytest.raises(InvalidParameterError, match="max_rows_per_item must be between"):
        _core_calls.calibrate(json.dumps(request))
    with pytest.raises(InvalidParameterError, match="'rows'"):
        dpsel.select_partitions(
            pa.table({"u": [1], "rows": [1]}),
            user="u",
            item="rows",
            privacy=PRIVACY,
            max_items_per_user=1,
            counts=of_rows(2),
        )


@pytest.mark.statistical
def test_an_attack_on_the_numbers_gains_what_their_distance_allows() -> None:
    """The best test between neighbours whose user has as many rows as count, of all counted items."""
    items, draws, most = 4, 400, 6
    asked = {"privacy": dpsel.ZCDP(rho=2.0, delta=0.01), "max_items_per_user": 4}
    counted = of_rows(most, share=0.5)

    def sums(users: int) -> np.ndarray:
        data = table([(user, item) for user in range(users) for item in range(items) for _ in range(9)])
        made = (
            select(data, mechanism=dpsel.CountGaussian(), key=None, counts=counted, **asked)
            for _ in range(draws)
        )
        return np.array([sum(rows_of(release).values()) for release in made], dtype=float)

    report = select(table([]), mechanism=dpsel.CountGaussian(), counts=counted, **asked).report
    spread = report.counts["scale"] * np.sqrt(items)
    before, after = sums(60), sums(61)
    moved = (after.mean() - before.mean()) / spread
    assert abs(moved - np.sqrt(2.0)) < 7 * np.sqrt(2 / draws)
    noise = np.concatenate([before - before.mean(), after - after.mean()]) / spread
    assert stats.kstest(noise, stats.norm.cdf).pvalue > ALPHA
