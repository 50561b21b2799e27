"""`dpsel.CountSeries`: numbers, items that are named, repeated names, deletions, and refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pytest

import dpsel
from dpsel.exceptions import (
    BudgetExceededError,
    CalibrationError,
    InvalidParameterError,
    MemoryLimitError,
    SchemaError,
    SeriesError,
)
from series_support import KEY, created, held
from shapes import KINDS, WRITTEN

if TYPE_CHECKING:
    from pathlib import Path

GIVEN: dict[str, Any] = {
    "privacy": dpsel.ApproxDP(epsilon=20.0, delta=1e-3),
    "releases": 4,
    "max_items_per_user": 4,
    "max_releases_per_item": 4,
    "user": "user",
    "item": "item",
}


def numbers(folder: Path, **options: Any) -> dpsel.CountSeries:
    return dpsel.CountSeries.create(folder / "numbers", **({"key": KEY} | GIVEN | options))


def opened(folder: Path, **options: Any) -> dpsel.CountSeries:
    return dpsel.CountSeries.open(folder / "numbers", **({"key": KEY} | options))


def near(found: dpsel.series.CountRelease, **expected: int) -> None:
    assert dict(found.to_pylist()).keys() == expected.keys()
    for item, users in found.to_pylist():
        assert abs(users - expected[item]) < 5 * found.half_width


def test_numbers_are_of_the_items_that_were_named(tmp_path) -> None:
    series = numbers(tmp_path)
    rows = held("tea", "milk", users=300) + held("beer", users=100)
    first = series.release(rows, "one", items=["tea", "water"])
    near(first, tea=300, water=0)
    assert pa.table(first).column_names == ["item", "users"]
    assert pa.table(first).schema.field("users").type == pa.int64()
    second = opened(tmp_path).release(held("beer", users=100), "two", items=["beer", "tea"])
    near(second, beer=100, tea=0, water=0)
    near(series.release(rows, "three"), beer=100, tea=300, water=0)
    assert series.status().names == ("one", "two", "three")
    assert series.check().ok


def test_a_window_adds_up_releases_and_the_first_release_of_each_can_be_all(tmp_path) -> None:
    series = numbers(tmp_path, window=2)
    for name, users, expected in (("a", 300, 300), ("b", 100, 400), ("c", 0, 100), ("d", 200, 200)):
        near(series.release(held("tea", users=users), name, items=["tea"]), tea=expected)
    so_far = numbers(tmp_path / "so far", window=4, max_releases_per_item=1)
    for name, users, expected in (("a", 200, 200), ("b", 100, 200), ("c", 300, 300)):
        near(so_far.release(held("tea", users=users), name, items=["tea"]), tea=expected)


@pytest.fixture(autouse=True)
def _folders(tmp_path) -> None:
    (tmp_path / "so far").mkdir()


def test_whoever_has_counted_often_enough_counts_no_more(tmp_path) -> None:
    series = numbers(tmp_path, max_releases_per_item=2)
    counts = [
        dict(series.release(held("tea"), name, items=["tea"]).to_pylist())["tea"] for name in ("a", "b", "c")
    ]
    assert min(counts[:2]) > 200
    assert abs(counts[2]) < 50
    alone = numbers(tmp_path / "so far", unit="user-release", max_releases_per_item=None)
    near(alone.release(held("tea"), "a", items=["tea"]), tea=300)
    near(alone.release(held("tea"), "b"), tea=300)
    assert "for the rows of one user in one release" in str(alone.status())


def test_a_name_that_is_committed_shows_its_numbers_and_reads_no_row(tmp_path) -> None:
    series = numbers(tmp_path)
    first = series.release(held("tea"), "one", items=["tea"])
    for again in ([], None, held("other")):
        shown = opened(tmp_path).release(again, "one", items=["other"])
        assert (shown.to_pylist(), str(shown)) == (first.to_pylist(), str(first))
    assert series.status().made == 1


@pytest.mark.parametrize("kind", WRITTEN)
def test_no_single_row_sways_the_types_of_named_items(tmp_path, kind) -> None:
    """They come out as they were named, in this release and in those to come."""
    item, listed = KINDS[kind][kind == "large"], WRITTEN[kind]
    for at, few in enumerate(([], [(1, None)], [(1, item)], [(1, listed[0])])):
        (tmp_path / str(at)).mkdir()
        series = numbers(tmp_path / str(at))
        made = [
            series.release(few, "one", items=listed),
            opened(tmp_path / str(at)).release([], "two", items=[]),
        ]
        made.append(series.release([], "three", items=["9"] if "9" in listed else None))
        for release in made:
            assert pa.table(release).schema.field("item").type == pa.large_string()
            assert [name for name, _ in release.to_pylist()] == sorted(listed)


def test_lists_of_several_types_have_one_that_holds_all(tmp_path) -> None:
    series = numbers(tmp_path)
    series.release([(1, 5)], "one", items=["9", "10"])
    assert [item for item, _ in series.release([], "two", items=[11]).to_pylist()] == [9, 10, 11]
    third = series.release(held(11), "three", items=["12"])
    assert [item for item, _ in third.to_pylist()] == [9, 10, 11, 12]
    assert abs(dict(third.to_pylist())[11] - 300) < 5 * third.half_width
    declared = numbers(tmp_path / "so far")
    declared.release(pl.DataFrame({"user": [1], "item": [5]}), "one", items=["9"])
    found = declared.release([(1, 5)], "two", items=["10"])
    assert [item for item, _ in found.to_pylist()] == [9, 10]


def test_lists_that_no_type_holds_are_refused(tmp_path) -> None:
    series = numbers(tmp_path)
    series.release([(1, 5)], "one", items=["-1"])
    with pytest.raises(SchemaError, match="no type holds both the items of items= and those that were named"):
        series.release([(1, 5)], "two", items=["9223372036854775808"])
    found = series.release([(1, 5)], "two", items=["9"])
    assert [item for item, _ in found.to_pylist()] == ["-1", "9"]


@pytest.mark.parametrize("empty", [[], pl.DataFrame(schema={"user": pl.Int64, "item": pl.String})])
def test_a_table_without_rows_has_numbers_too(tmp_path, empty) -> None:
    series = numbers(tmp_path)
    near(series.release(empty, "one", items=["tea"]), tea=0)
    near(series.release(held("tea"), "two"), tea=300)


def test_a_forgotten_user_counts_no_more(tmp_path) -> None:
    series = numbers(tmp_path, max_items_per_user=1)
    near(series.release(held("tea", users=60), "one", items=["tea"]), tea=60)
    for user in range(60):
        series.forget(user)
    near(series.release(held("tea", users=60), "two"), tea=0)


def test_items_of_several_columns_and_users_of_several(tmp_path) -> None:
    series = numbers(tmp_path, user=["a", "b"], item=["drink", "size"])
    rows = pl.DataFrame(
        {"a": range(200), "b": ["x"] * 200, "drink": ["tea"] * 200, "size": [1, 2] * 100},
    )
    found = series.release(rows, "one", items=[("tea", 1), ("tea", 3)])
    assert found.items.columns == ["drink", "size", "users"]
    (*one, many), (*other, few) = found.to_pylist()
    assert (one, other) == (["tea", 1], ["tea", 3])
    assert many > 50
    assert few < 50


def test_the_half_width_is_that_of_the_plan(tmp_path) -> None:
    series = numbers(tmp_path, window=4, max_releases_per_item=1)
    plan = json.loads(json.loads((tmp_path / "numbers" / "header.json").read_bytes())["plan"])
    widths = [series.release(held("tea"), name, items=["tea"]).half_width for name in ("a", "b", "c")]
    assert widths == sorted(widths)
    assert widths[0] == pytest.approx(1.96 * plan["sigma"] + 0.5, rel=1e-4)


def test_a_folder_of_the_other_kind_is_refused(tmp_path) -> None:
    created(tmp_path)
    with pytest.raises(SeriesError, match=r"is one of lists; open it with dpsel\.Series\.open"):
        dpsel.CountSeries.open(tmp_path / "series", key=KEY)
    numbers(tmp_path)
    with pytest.raises(SeriesError, match=r"is one of numbers; open it with dpsel\.CountSeries\.open"):
        dpsel.Series.open(tmp_path / "numbers", key=KEY)
    with pytest.raises(
        SeriesError, match=r"a series with other parameters .* open it with dpsel\.CountSeries\.open"
    ):
        dpsel.Series.create(
            tmp_path / "numbers",
            key=KEY,
            privacy=GIVEN["privacy"],
            releases=4,
            max_items_per_user=4,
            user="user",
            item="item",
        )
    with pytest.raises(SeriesError, match="there is a series with other parameters"):
        numbers(tmp_path, window=2)
    assert numbers(tmp_path).status().made == 0


def test_a_ledger_books_it_once_and_refuses_too_much(tmp_path) -> None:
    ledger = dpsel.Ledger(tmp_path / "spent.jsonl", dpsel.ApproxDP(epsilon=21.0, delta=2e-3))
    for _ in range(2):
        numbers(tmp_path, privacy=ledger.on_use(GIVEN["privacy"], "numbers"))
    assert ledger.remaining.epsilon == pytest.approx(1.0)
    with pytest.raises(BudgetExceededError):
        numbers(tmp_path / "so far", privacy=ledger.on_use(GIVEN["privacy"], "more"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"max_releases_per_item": None}, "max_releases_per_item must be given"),
        ({"unit": "user-release"}, "max_releases_per_item must be left out"),
        ({"unit": "week"}, "unit must be 'user' or 'user-release', got 'week'"),
        ({"unit": 3}, "unit must be 'user' or 'user-release', got int"),
        ({"window": 0}, "window must be between 1 and releases, got 0"),
        ({"window": 5}, "window must be between 1 and releases, got 5"),
        ({"window": 10**12}, "window must be between 1 and releases"),
        ({"max_releases_per_item": 5}, "max_releases_per_item must be between 1 and releases, got 5"),
        ({"max_releases_per_item": -(10**12)}, "max_releases_per_item must be between 1 and releases"),
        ({"releases": 2000}, "releases must be between 1 and 1,024"),
        ({"max_items_per_user": 0}, "max_items_per_user"),
        ({"privacy": dpsel.PureDP(epsilon=1.0)}, "privacy of a series needs a delta"),
        ({"item": None}, "item must name a column"),
    ],
)
def test_parameters_that_cannot_be_are_refused(tmp_path, change, words) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        numbers(tmp_path, **change)
    assert not (tmp_path / "numbers").exists()


def test_what_has_no_noise_is_refused(tmp_path) -> None:
    with pytest.raises(CalibrationError, match="numbers of a series with noise of a standard deviation"):
        numbers(tmp_path, privacy=dpsel.ZCDP(rho=1e-17, delta=1e-6))


def test_a_release_that_cannot_be_made_is_none(tmp_path) -> None:
    series = numbers(tmp_path)
    rows = held("a secret")
    for change, error, words in (
        ({}, InvalidParameterError, "no item was named so far"),
        ({"items": "tea"}, InvalidParameterError, "items must be a list of items, got str"),
        ({"items": [None]}, InvalidParameterError, "items"),
        ({"items": pl.DataFrame({"item": ["tea"]})}, InvalidParameterError, "items must be a list of items"),
        ({"items": [1, 2]}, SchemaError, "items= has"),
        ({"items": ["tea"], "memory_limit": 100}, MemoryLimitError, "the rows and the state of the series"),
        ({"items": ["tea"], "threads": 0}, InvalidParameterError, "threads"),
    ):
        with pytest.raises(error, match=words) as refused:
            series.release(rows, "one", **change)
        assert "a secret" not in str(refused.value)
    near(series.release(rows, "one", items=["tea"]), tea=0)
    for other in ([(1, 2)], pl.DataFrame({"user": ["a"], "item": ["tea"]})):
        with pytest.raises(SchemaError, match="in the releases before"):
            series.release(other, "two")
    assert series.status().made == 1


def test_a_plan_that_was_changed_does_not_hold(tmp_path) -> None:
    from dpsel.series import _counts
    from dpsel.series._records import Header

    numbers(tmp_path)
    header = Header.of_bytes((tmp_path / "numbers" / "header.json").read_bytes())
    assert _counts.differences(header) == []
    plan = json.loads(header.plan)
    plan["sigma"] *= 0.99
    weaker = json.dumps(plan)
    plan["asked"]["window"] = 2
    other = json.dumps(plan)
    found = [
        _counts.differences(
            Header(**({name: getattr(header, name) for name in Header.__slots__} | {"plan": each}))
        )
        for each in (weaker, other)
    ]
    assert found[1] == ["the plan is for other parameters"]
    assert "do not keep its guarantee" in found[0][0] or "states less than it costs" in found[0][0]
