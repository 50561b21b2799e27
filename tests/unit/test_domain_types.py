"""A public list in another type than the data: cast where that is exact, refused otherwise, by every source.

A list of texts beside a column of integers named nothing in it, and the answer was drawn uniformly.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import dpsel
from dpsel.exceptions import SchemaError

KEY = bytes(range(32))
DAY, NOON = dt.date(2024, 1, 31), dt.datetime(2024, 1, 31, 12)  # noqa: DTZ001 - without a zone
ZONED = NOON.replace(tzinfo=dt.UTC)


def top(data, domain, **arguments):
    given = {"user": "user", "item": "item", "k": 1, "privacy": dpsel.PureDP(epsilon=5.0), "ordered": False}
    return dpsel.select_top_k(data, domain=domain, insecure_test_key=KEY, **(given | arguments))


def table(item, kind=None) -> pa.Table:
    return pa.table({"user": range(300), "item": pa.array([item] * 300, kind)})


def file(name):
    def write(folder, data: pa.Table):
        path = folder / name
        if name.endswith(".parquet"):
            pa.parquet.write_table(data, path)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in data.to_pylist()))
        return path

    return write


SOURCES = {
    "pyarrow": lambda _, data: data,
    "dictionary": lambda _, data: data.set_column(1, "item", data["item"].dictionary_encode()),
    "lists": lambda _, data: pa.table({"user": data["user"], "item": pa.array([[12, 3]] * 300)}),
    "polars": lambda _, data: pl.from_arrow(data),
    "lazy": lambda _, data: pl.from_arrow(data).lazy(),
    "pandas": lambda _, data: data.to_pandas(),
    "duckdb": lambda _, data: duckdb.from_arrow(data),
    "parquet": file("rows.parquet"),
    "ndjson": file("rows.ndjson"),
    "pairs": lambda _, data: [(user, item) for user, item in zip(*data.to_pydict().values(), strict=True)],
}
#: Their types are those of values, so items come back as they were given.
UNTYPED = {"ndjson", "pairs"}
OTHERS = [str(number) for number in range(1000, 1600)]


@pytest.mark.parametrize("name", SOURCES)
def test_texts_are_cast_to_the_integers_of_every_source(name, tmp_path) -> None:
    """Uniformly drawn, the right item of 601 would come out once in 601 times."""
    data = SOURCES[name](tmp_path, table(12))
    release = top(data, ["12", *OTHERS])
    assert release.to_pylist() == (["12"] if name in UNTYPED else [12])
    integers = [12, *map(int, OTHERS)]
    assert release.report.to_json() == top(SOURCES[name](tmp_path, table(12)), integers).report.to_json()
    for wrong in (["012"], ["12.0"], [" 12"], [b"12"], [dt.date(1970, 1, 13)], [True]):
        with pytest.raises(SchemaError, match=r"^domain= has .* the data"):
            top(SOURCES[name](tmp_path, table(12)), [*wrong])


CAST = [
    (12, pa.int8(), "12"),
    (12, pa.int16(), 12),
    (12, pa.uint64(), "12"),
    (DAY, pa.date32(), "2024-01-31"),
    (DAY, pa.date64(), DAY),
    (DAY, pa.date64(), "2024-01-31"),
    (NOON, pa.timestamp("s"), "2024-01-31T12:00:00"),
    (NOON, pa.timestamp("us"), NOON),
    (ZONED, pa.timestamp("ms", "UTC"), "2024-01-31T12:00:00Z"),
    (ZONED, pa.timestamp("us", "Europe/Oslo"), ZONED),
    (True, pa.bool_(), "true"),
    ("tea", pa.string_view(), "tea"),
    (b"tea", pa.binary(3), b"tea"),
    ("a", pa.dictionary(pa.int8(), pa.string()), "a"),
]


@pytest.mark.parametrize(("item", "kind", "listed"), CAST, ids=lambda value: str(value))
def test_what_is_exact_is_cast_and_the_answer_has_the_type_of_the_data(item, kind, listed) -> None:
    answer = top(table(item, kind), [listed], counts=dpsel.PureDP(epsilon=5.0))
    assert answer.items.schema.field("item").type == kind
    assert answer.items["item"].to_pylist() == [item]
    # Somebody holds it: a list whose items nobody can hold has counts of about 0.
    assert answer.counts[0] > 250


REFUSED = [
    ("tea", None, 12, r"has integers \(Int64\) for column 'item', but the data has text \(Utf8\) there"),
    ("tea", None, b"tea", r"has bytes \(LargeBinary\) .* the data has text"),
    ("tea", None, DAY, r"has dates \(Date32\) .* the data has text"),
    (b"tea", None, "tea", r"has text \(LargeUtf8\) .* the data has bytes"),
    (12, pa.int64(), True, "has booleans .* the data has integers"),
    (True, pa.bool_(), 1, "has integers .* the data has booleans"),
    (
        12,
        pa.int8(),
        128,
        r"has an item at position 0 that column 'item' of the data, which has integers \(Int8\)",
    ),
    (12, pa.uint64(), "-1", "has an item at position 0 that"),
    (12, pa.int64(), "9223372036854775808", "has an item at position 0 that"),
    (DAY, pa.date64(), "2024-01-31T12:00:00", "has an item at position 0 .* which has dates"),
    (
        ZONED,
        pa.timestamp("s", "Europe/Oslo"),
        "2024-01-31T12:00:00Z",
        "has an item at position 0 .* which has timestamps with a time zone",
    ),
    (DAY, pa.date32(), "31.01.2024", "has an item at position 0 .* which has dates"),
    (DAY, pa.date32(), NOON, "has timestamps without a time zone .* the data has dates"),
    (NOON, pa.timestamp("s"), DAY, "has dates .* the data has timestamps without a time zone"),
    (NOON, pa.timestamp("s"), ZONED, "has timestamps with a time zone .* has timestamps without"),
    (NOON, pa.timestamp("s"), NOON.replace(microsecond=5), "has an item at position 0 that"),
]


@pytest.mark.parametrize(("item", "kind", "listed", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_would_be_guessed_is_refused_with_the_fix(item, kind, listed, message) -> None:
    with pytest.raises(SchemaError, match=f"^domain= {message}.*; give the items of domain= as "):
        top(table(item, kind), [listed])


def test_a_text_without_the_offset_of_the_column_is_told_what_is_missing() -> None:
    """It was told to be like the text that was refused."""
    zoned = table(ZONED, pa.timestamp("s", "Europe/Oslo"))
    with pytest.raises(
        SchemaError, match="or as text with the offset of the column's zone, like .*Z in UTC$"
    ):
        top(zoned, ["2024-01-31T12:00:00Z"])
    assert top(zoned, ["2024-01-31T13:00:00+01:00"]).items["item"].to_pylist() == [ZONED]


def test_it_is_refused_before_the_rows_are_read() -> None:
    """Of these rows there is no end."""
    batch = pa.RecordBatch.from_pydict({"user": [1], "item": [1]})
    endless = pa.RecordBatchReader.from_batches(batch.schema, itertools.repeat(batch))
    with pytest.raises(SchemaError, match="domain="):
        top(endless, ["tea"])


def test_csv_files_are_text(tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("user,item\n" + "".join(f"{user},012\n" for user in range(300)))
    assert top(path, ["012", *OTHERS]).to_pylist() == ["012"]
    with pytest.raises(
        SchemaError, match=r"domain= has integers .* data has text .*\(in CSV files all items are text\)"
    ):
        top(path, [12])


def test_composite_items_are_cast_column_by_column() -> None:
    data = pa.table({"user": range(300), "city": ["Oslo"] * 300, "line": pa.array([12] * 300, pa.int16())})
    given = {"item": ["city", "line"]}
    listed = [("Oslo", "12"), *(("Oslo", other) for other in OTHERS)]
    assert top(data, listed, **given).to_pylist() == [("Oslo", 12)]
    with pytest.raises(SchemaError, match=r"domain= has an item at position 1 that column 'line'"):
        top(data, [("Oslo", "12"), ("Oslo", "twelve")], **given)
    with pytest.raises(SchemaError, match=r"domain= has integers .* for column 'city'"):
        top(data, [(5, 12)], **given)


@pytest.mark.parametrize("listed", [["12"], [12], [DAY]], ids=str)
def test_data_without_values_fits_every_list(listed) -> None:
    """Nobody holds an item, and nobody knows of which type it would be."""
    assert len(top(iter([]), listed)) == len(top(table(None, pa.null()), listed)) == 1


@pytest.mark.parametrize("ordered", [True, False])
def test_one_row_does_not_sway_the_types_of_the_answer(ordered, tmp_path) -> None:
    """The values of an untyped source have a kind that depends on rows which are not released."""
    listed = [str(number) for number in range(8, 13)]
    given = {"k": 5, "ordered": ordered, "counts": dpsel.PureDP(epsilon=5.0)}
    path = tmp_path / "rows.ndjson"

    def shape_of(rows, source):
        if source == "ndjson":
            path.write_text("".join(json.dumps({"user": u, "item": item}) + "\n" for u, item in rows))
        made = top(path if source == "ndjson" else iter(rows), listed, **given)
        return pa.table(made.to_table()).schema, sorted(pa.table(made.to_table())["item"].to_pylist())

    for source in sorted(UNTYPED):
        nothing = shape_of([(1, None)], source)
        assert nothing[1] == sorted(listed)
        for row in (5, 12, "12"):
            assert shape_of([(1, None), (2, row)], source) == nothing
        frame = pd.DataFrame({"user": [1, 2], "item": pd.Series([None, 5], dtype="object")})
        made = top(frame, listed, **given)
        assert pa.table(made.to_table()).schema.field("item") == nothing[0].field("item")
    # The order without ranks is that of the list's own values, not of the numbers that they stand for.
    unordered = top([(1, 5)], listed, k=5).to_pylist() if not ordered else sorted(listed)
    assert unordered == sorted(listed)


def test_a_prior_is_cast_in_the_same_way() -> None:
    rows = [(user, item) for user in range(300) for item in range(4)]

    def select(prior, data=rows):
        return dpsel.select_partitions(
            data,
            user="user",
            item="item",
            privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-4),
            max_items_per_user=1,
            mechanism=dpsel.UnitGreedy(prior=prior),
            insecure_test_key=KEY,
        ).to_pylist()

    assert select({"2": 9, "1": 5}) == select({2: 9, 1: 5}) == [2]
    frame = pd.DataFrame(rows, columns=["user", "item"])
    assert select({"2": 9, "1": 5}, frame) == [2]
    with pytest.raises(
        SchemaError, match=r"^prior= has an item at position 1 that column 'item' of the data"
    ):
        select({"2": 9, "one": 5})
    with pytest.raises(
        SchemaError, match=r"^prior= has integers .* the data has text .*; give the items of prior="
    ):
        select({2: 9}, [(user, "tea") for user, _ in rows])


@pytest.mark.parametrize("lazy", [False, True], ids=["frame", "lazy"])
def test_texts_beside_a_polars_column_without_values_can_be_shown(lazy) -> None:
    """The items were to become nulls again, and the answer could not be made."""
    frame = pl.DataFrame({"user": range(300), "item": [None] * 300})
    release = top(frame.lazy() if lazy else frame, ["a", "b"], k=2)
    assert release.to_pylist() == ["a", "b"]
    assert release.items.schema == {"item": pl.String}


LARGE = str(2**63)


@pytest.mark.parametrize(
    "domain", [["7", LARGE], [LARGE, "8"], ["-5", "7"], [7, -5], [LARGE, "-5"], ["7", "x"]]
)
def test_one_unreleased_row_does_not_decide_whether_a_list_fits(domain, tmp_path) -> None:
    """A number that needs 64 bits without sign gave a column of NDJSON another type."""

    def answer(name: str, rows: list[tuple[int, int]]) -> object:
        path = tmp_path / f"{name}.ndjson"
        path.write_text("".join(json.dumps({"user": user, "item": item}) + "\n" for user, item in rows))
        try:
            return pa.table(top(path, domain).items)
        except SchemaError as error:
            return str(error)

    rows = [(user, 7) for user in range(300)]
    one, other = answer("one", rows), answer("other", [(999, 2**63), *rows])
    assert one == other
    if domain in ([LARGE, "-5"], ["7", "x"]):
        assert "that column 'item' of the data, which has integers, cannot hold" in one
    else:
        assert one["item"].to_pylist() == (
            [7] if 7 in domain else ["7"] if "7" in domain else one["item"].to_pylist()
        )


def test_a_mixed_list_is_blamed_on_the_argument() -> None:
    with pytest.raises(
        SchemaError, match="^domain= holds an int at position 1, but a str before, for column 'item'"
    ):
        top(table("a"), ["a", 1])
    greedy = dpsel.GreedyFrequency(prior={"a": 2, 1: 1})
    with pytest.raises(SchemaError, match="^prior= holds an? .* before, for column 'item'"):
        dpsel.select_partitions(
            table("a"),
            user="user",
            item="item",
            privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            max_items_per_user=1,
            mechanism=greedy,
        )


def test_a_list_that_is_too_short_says_how_long_it_is() -> None:
    refused = r"k = 3, but the list has 1 distinct item; ask for fewer items"
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match=refused):
        top(table("a"), ["a", "a"], k=3)
    with pytest.raises(
        dpsel.exceptions.InvalidParameterError, match="k = 3, but the list has 2 distinct items"
    ):
        dpsel.top_k_from_counts([1, 2], k=3, privacy=dpsel.PureDP(epsilon=1.0))
    with pytest.raises(
        dpsel.exceptions.InvalidParameterError, match="k = 3, but the domain has 2 distinct items"
    ):
        dpsel.top_k_from_counts([1, 2], k=3, domain=2, privacy=dpsel.PureDP(epsilon=1.0))
