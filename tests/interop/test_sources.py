"""One meaning at every door: the same rows, parameters and key give the same items from every source."""

from __future__ import annotations

import itertools
import json
import threading
import uuid
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpsel
from dpsel.exceptions import InvalidParameterError, SchemaError

KEY = bytes(range(32))
PRIVACY = dpsel.ApproxDP(epsilon=3.0, delta=0.05)
ROWS = [
    (f"user {u:02}", f"item {i:02} {'long ' * i}")
    for u in range(60)
    for i in range(25)
    if (u * 7 + i) % 25 >= i
]
ODD = "an odd column, which no Arrow reader of ours knows"


def select(data, **arguments):
    given_arguments = {
        "user": "user",
        "item": "item",
        "privacy": PRIVACY,
        "max_items_per_user": 5,
        "with_weights": True,
        "insecure_test_key": KEY,
    }
    return dpsel.select_partitions(data, **(given_arguments | arguments))


def outcome(data, **arguments):
    release = select(data, **arguments)
    return release.to_pylist(), release.report.to_json()


def arrow(rows=ROWS):
    users, items = zip(*rows, strict=True)
    return pa.table({"user": users, "other": [0.5] * len(rows), "item": items})


def grouped(rows=ROWS):
    groups: dict[str, list[str]] = {}
    for user, item in rows:
        groups.setdefault(user, []).append(item)
    return groups


def encoded(table):
    return pa.table(
        {
            name: table[name].dictionary_encode() if name != "other" else table[name]
            for name in table.column_names
        }
    )


class Stream:
    """A stranger with the Arrow stream method only."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Batch:
    """A stranger with the Arrow array method only."""

    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


FRAMES = {
    "pyarrow": lambda: arrow(),
    "pyarrow batch": lambda: arrow().combine_chunks().to_batches()[0],
    "pyarrow reader": lambda: arrow().to_reader(max_chunksize=7),
    "pyarrow dataset": lambda: pa.dataset.dataset(arrow()),
    "pyarrow scanner": lambda: pa.dataset.dataset(arrow()).scanner(),
    "pyarrow dictionary": lambda: encoded(arrow()),
    "pyarrow large strings": lambda: arrow().set_column(2, "item", arrow()["item"].cast(pa.large_string())),
    "pyarrow string views": lambda: arrow().set_column(2, "item", arrow()["item"].cast(pa.string_view())),
    "polars": lambda: pl.from_arrow(arrow()),
    "polars lazy": lambda: pl.from_arrow(arrow()).lazy(),
    "polars categorical": lambda: pl.from_arrow(arrow()).with_columns(
        pl.col("item", "user").cast(pl.Categorical)
    ),
    "polars odd column": lambda: pl.from_arrow(arrow()).with_columns(
        pl.Series(ODD, [object()] * len(ROWS), dtype=pl.Object)
    ),
    "pandas": lambda: arrow().to_pandas(),
    "pandas object": lambda: arrow().to_pandas().astype({"item": object}),
    "pandas categorical": lambda: arrow().to_pandas().astype({"item": "category", "user": "category"}),
    "pandas mixed odd column": lambda: (
        arrow().to_pandas().assign(odd=[1, "a"] * (len(ROWS) // 2) + [2] * (len(ROWS) % 2))
    ),
    "duckdb": lambda: duckdb.from_arrow(arrow()),
    "stream": lambda: Stream(arrow()),
    "array": lambda: Batch(arrow().combine_chunks().to_batches()[0]),
    "pairs": lambda: list(ROWS),
    "generator": lambda: (row for row in ROWS),
    "groups": lambda: grouped().items(),
    "list column": lambda: pl.DataFrame({"user": list(grouped()), "item": list(grouped().values())}),
}


@pytest.fixture(scope="module")
def expected():
    items, report = outcome(arrow())
    assert len(items) > 5
    return items, report


@pytest.mark.parametrize("name", FRAMES)
def test_every_source_gives_the_same(name, expected):
    assert outcome(FRAMES[name]()) == expected


def write_ndjson(table, path):
    path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


FILES = {
    "data.parquet": lambda table, path: pyarrow.parquet.write_table(table, path),
    "zstd.parquet": lambda table, path: pyarrow.parquet.write_table(table, path, compression="zstd"),
    "plain.parquet": lambda table, path: pyarrow.parquet.write_table(table, path, use_dictionary=False),
    "data.csv": lambda table, path: pyarrow.csv.write_csv(table, path),
    "data.ndjson": write_ndjson,
    "data.jsonl": write_ndjson,
    "data.arrow": lambda table, path: pyarrow.feather.write_feather(table, path, compression="uncompressed"),
    "zstd.arrow": lambda table, path: pyarrow.feather.write_feather(table, path, compression="zstd"),
}


@pytest.mark.parametrize("name", FILES)
def test_every_file_format_gives_the_same(name, tmp_path, expected):
    path = tmp_path / name
    FILES[name](arrow(), path)
    for data in (path, str(path), [path], [str(path)], str(tmp_path / "*")):
        assert outcome(data) == expected


@pytest.mark.parametrize(
    ("name", "file_format"),
    [("data.parquet", "parquet"), ("data.csv", "csv"), ("data.ndjson", "ndjson"), ("data.arrow", "ipc")],
)
def test_the_format_can_be_named(name, file_format, tmp_path, expected):
    path = tmp_path / "nameless"
    FILES[name](arrow(), path)
    assert outcome(path, file_format=file_format) == expected
    with pytest.raises(InvalidParameterError, match="file_format must be"):
        select(path, file_format="xlsx")


def test_several_files_are_one_table(tmp_path, expected):
    for part in range(4):
        pyarrow.parquet.write_table(arrow(ROWS[part::4]), tmp_path / f"{part}.parquet")
    assert outcome(tmp_path / "*.parquet") == expected
    assert outcome([tmp_path / f"{part}.parquet" for part in (3, 1, 0, 2)]) == expected


@given(
    rows=st.permutations(range(len(ROWS))),
    again=st.lists(st.sampled_from(range(len(ROWS))), max_size=50),
    cuts=st.lists(st.integers(0, len(ROWS)), max_size=5),
    threads=st.sampled_from([1, 2, 8]),
    kind=st.sampled_from(["pyarrow", "polars", "pandas", "duckdb", "pairs"]),
)
@settings(max_examples=40, deadline=None)
def test_order_duplicates_chunks_and_threads_do_not_matter(rows, again, cuts, threads, kind):
    shuffled = [ROWS[row] for row in [*rows, *again]]
    table, borders = arrow(shuffled), [0, *sorted(cuts), len(shuffled)]
    chunked = pa.concat_tables(
        [table.slice(start, end - start) for start, end in itertools.pairwise(borders)]
    )
    data = {
        "pyarrow": lambda: chunked,
        "polars": lambda: pl.from_arrow(chunked, rechunk=False),
        "pandas": lambda: chunked.to_pandas(),
        "duckdb": lambda: duckdb.from_arrow(chunked),
        "pairs": lambda: iter(shuffled),
    }[kind]()
    assert outcome(data, threads=threads) == outcome(arrow())


OPTIONS = {
    "weights": {"with_weights": False},
    "threads": {"threads": 2},
    "memory": {"memory_limit": 1 << 30},
    "mechanism": {"mechanism": dpsel.CountGaussian()},
    "ngrams": {"ngrams": (1, 2)},
    "bound": {"max_items_per_user": 2},
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize(
    "name",
    ["pyarrow", "polars", "polars lazy", "pandas", "duckdb", "stream", "pairs", "groups", "parquet", "csv"],
)
def test_every_option_is_honoured_by_every_source(option, name, tmp_path):
    data = FRAMES[name]() if name in FRAMES else tmp_path / f"data.{name}"
    if isinstance(data, Path):
        FILES[data.name](arrow(), data)
    calls = []
    found = outcome(data, progress=lambda done, total: calls.append((done, total)), **OPTIONS[option])
    assert found == outcome(arrow(), **OPTIONS[option])
    assert calls, "progress is called at least once"
    if option in {"weights", "mechanism", "ngrams", "bound"}:
        assert found != outcome(arrow())


def test_object_columns_of_pandas_are_read_as_pairs_are():
    """Every kind of value, in three ways to have several, without an item, and as a part of an item."""
    users = [f"user {row % 30:02}" for row in range(300)]
    items = [f"item {row % 7}" for row in range(300)]
    expected = outcome(list(zip(users, items, strict=True)))
    frame = pd.DataFrame({"user": users, "item": pd.Series(items, dtype=object), ODD: 5})
    missing = pd.DataFrame({"user": ["user 00"] * 5, "item": [None, float("nan"), pd.NA, pd.NaT, []], ODD: 5})
    arrays = frame.assign(item=[np.array([item, None], dtype=object) for item in items])
    for same in (
        frame,
        frame.astype({"user": object}),
        frame.astype({"item": pd.CategoricalDtype(pd.Index(sorted(set(items)), dtype=object))}),
        frame.assign(item=[[item, item] for item in items]),
        frame.assign(item=[{item} if row % 2 else item for row, item in enumerate(items)]),
        arrays,
        pd.concat([missing, frame.astype({"user": object})]),
    ):
        assert outcome(same) == expected
    both = [(user, ((row % 2), item)) for row, (user, item) in enumerate(zip(users, items, strict=True))]
    parts = select(frame.assign(odd=np.arange(300, dtype="int8") % 2), item=["odd", "item"])
    assert parts.to_pylist() == select(both, item=["odd", "item"]).to_pylist()
    assert pa.table(parts).schema.types[:2] == [pa.int8(), pa.large_string()]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["a", 2**63], "column 'item' holds an int outside the supported range at position 1"),
        ([2**63, 1], "column 'item' holds an int outside the supported range at position 0"),
        (["a", ("b", "c")], "column 'item' holds a tuple at position 1"),
        (["a", {"b": 1}], "column 'item' holds a dict at position 1"),
        (["a", 1.5], "column 'item' holds a float at position 1; equal-looking floats"),
        ([uuid.UUID(int=1), "a"], "column 'item' holds a UUID at position 0"),
        ([[["a"]]] * 2, "column 'item' holds a list at position 0"),
        ([np.array([["a"]]), "a"], "column 'item' holds a ndarray at position 0"),
    ],
)
def test_object_columns_that_cannot_be_read(items, message):
    with pytest.raises(SchemaError, match=message):
        select(pd.DataFrame({"user": [1, 2], "item": pd.Series(items, dtype=object)}))
    users = pd.DataFrame({"user": pd.Series(items, dtype=object), "item": [1, 2]})
    with pytest.raises(SchemaError, match=message.replace("'item'", "'user'")):
        select(users)


def test_columns_that_are_not_there():
    for name in ("pyarrow", "polars", "polars lazy", "pandas", "duckdb", "stream"):
        with pytest.raises(SchemaError, match="(?s)nobody.*user") as caught:
            select(FRAMES[name](), user="nobody")
        assert "item" in str(caught.value)


@pytest.mark.parametrize("name", ["pyarrow", "polars", "pandas", "duckdb", "stream"])
def test_tables_need_names(name):
    for missing in ("user", "item"):
        message = f"user and item must name columns of the table, got no {missing}; write {missing}='...'$"
        with pytest.raises(InvalidParameterError, match=message):
            select(FRAMES[name](), **{missing: None})


def test_files_that_are_not_there(tmp_path):
    for data in (tmp_path / "none.parquet", str(tmp_path / "*.parquet")):
        with pytest.raises(FileNotFoundError, match="none|[*]"):
            select(data)


def test_an_empty_lazy_frame():
    lazy = pl.from_arrow(arrow()).lazy().filter(pl.col("user") == "nobody")
    assert select(lazy).items.height == 0


def test_a_failing_lazy_frame_is_an_error_and_nothing_is_released():
    def fail(_):
        raise ZeroDivisionError

    lazy = pl.from_arrow(arrow()).lazy().map_batches(fail, schema={"user": pl.String, "item": pl.String})
    with pytest.raises(dpsel.exceptions.DataError, match="ZeroDivisionError|ComputeError"):
        select(lazy)


def panic(*_):
    raise pl.exceptions.PanicException("unselected secret value")


@pytest.mark.parametrize(
    "broken",
    [
        lambda lazy: lazy.map_batches(panic),
        lambda lazy: pl.concat([lazy, lazy.map_batches(panic)]),
        lambda lazy: lazy.join(lazy.map_batches(panic), on="user"),
        lambda lazy: lazy.with_columns(pl.col("item").map_elements(panic, return_dtype=pl.String)),
    ],
    ids=["whole", "half", "join", "expression"],
)
def test_a_lazy_frame_that_panics_is_an_error_and_nothing_is_released(broken):
    """`collect_batches` of polars ends as if there were no more rows."""
    lazy = pl.from_arrow(arrow()).lazy()
    with pytest.raises(dpsel.exceptions.DataError, match="raised PanicException") as caught:
        select(broken(lazy))
    assert "secret" not in str(caught.value)


def test_a_lazy_frame_is_let_go_when_the_call_fails():
    def running():
        return [thread for thread in threading.enumerate() if thread.name == "dpsel query"]

    before = running()
    rows = pl.LazyFrame({"user": [None, *range(2_000_000)]}).with_columns(item=pl.col("user"))
    with pytest.raises(dpsel.exceptions.DataError, match="user column 'user' is null"):
        select(rows)
    for thread in set(running()) - set(before):
        thread.join(60)
        assert not thread.is_alive()


def test_all_rows_of_a_large_lazy_frame_are_read():
    lazy = pl.LazyFrame({"user": range(1_000_000)}).with_columns(item=pl.col("user") % 5)
    release = dpsel.select_top_k(
        lazy,
        user="user",
        item="item",
        domain=range(5),
        k=5,
        privacy=dpsel.PureDP(epsilon=1.0),
        counts=dpsel.PureDP(epsilon=1.0),
        ordered=False,
        insecure_test_key=KEY,
    )
    assert all(abs(count - 200_000) < 1_000 for count in release.counts)


INDICES = {
    "mixed": [1, "b", None],
    "named as a column": pd.Index(["x", "y", "z"], name="item"),
    "two levels": pd.MultiIndex.from_tuples([(1, "x"), ("y", 2), (None, 1.5)]),
    "periods": pd.period_range("2024-01", periods=3, freq="M"),
}


@pytest.mark.parametrize("kind", ["string", "object"])
@pytest.mark.parametrize("index", INDICES)
def test_the_index_of_a_pandas_frame_does_not_matter(index, kind):
    frame = pd.DataFrame({"user": [1, 2, 3], "item": ["a", "b", "c"]}).astype({"item": kind})
    indexed = frame.set_axis(INDICES[index], axis=0)
    assert select(indexed).report == select(frame).report
    assert indexed.index is INDICES[index] or list(indexed.index) == list(INDICES[index])


def test_a_failing_reader_is_an_error_and_nothing_is_released():
    def batches():
        yield arrow().select(["user", "item"]).to_batches()[0]
        raise RuntimeError("torn")

    schema = arrow().select(["user", "item"]).schema
    with pytest.raises(dpsel.exceptions.DataError, match=f"broke off with an error after {len(ROWS)} rows"):
        select(pa.RecordBatchReader.from_batches(schema, batches()))


def test_an_exception_of_the_stream_method_is_an_error_and_keeps_its_words():
    class Failing:
        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyError("own")

    with pytest.raises(dpsel.exceptions.DataError, match="raised KeyError when it was opened") as caught:
        select(Failing())
    assert "own" not in str(caught.value)


def test_spark_is_recognised_before_the_arrow_protocol():
    class DataFrame:
        __module__ = "pyspark.sql.classic.dataframe"

        def __arrow_c_stream__(self, requested_schema=None):
            raise AssertionError

    with pytest.raises(
        SchemaError,
        match=r"^a Spark DataFrame is selected from where it is; call dpsel.spark.select_partitions or "
        r"dpsel.spark.select_top_k instead$",
    ):
        select(DataFrame())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pl.Series([1]), "Series has no user column"),
        (pd.Series([1]), "Series or Index has no user column"),
        (pa.array([1]), "pyarrow Array or ChunkedArray has no user column"),
        (Stream(pl.Series([1])), "not a table of columns"),
        (Batch(pa.array([1])), "not a table of columns"),
        (pl.DataFrame({"user": [1], "item": [0.5]}), "item"),
        (pl.DataFrame({"user": [0.5], "item": [1]}), "user"),
        (pl.DataFrame({"user": [1], "item": [{"a": 1}]}), "item"),
        (
            pd.DataFrame({"user": [1, 2], "item": ["a secret value", 2]}),
            "int at position 1, but a str",
        ),
        (
            pd.DataFrame({"user": [1, 2], "item": [2, "a secret value"]}),
            "str at position 1, but an int",
        ),
    ],
)
def test_tables_that_cannot_be_read(data, message):
    with pytest.raises(SchemaError, match=message) as caught:
        select(data)
    assert "secret value" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "convert", [lambda t: t, pl.from_arrow, lambda t: t.to_pandas()], ids=["pa", "pl", "pd"]
)
def test_null_users_are_refused_and_null_items_dropped(convert):
    table = arrow().select(["user", "item"])
    rows = table.to_pylist()
    null_item = pa.Table.from_pylist([*rows, {"user": "user 00", "item": None}], table.schema)
    assert outcome(convert(null_item)) == outcome(table)
    null_user = pa.Table.from_pylist([*rows, {"user": None, "item": "item 00"}], table.schema)
    with pytest.raises(dpsel.exceptions.DataError, match="user"):
        select(convert(null_user))


def test_tabs_separate_the_fields_of_tsv(tmp_path) -> None:
    """By extension or by name; a comma is a character of a field."""
    text = "user\titem\n" + "".join(f"{user}\ttea, green\n" for user in range(400))
    named, unnamed = tmp_path / "rows.tsv", tmp_path / "rows.txt"
    named.write_text(text)
    unnamed.write_text(text)
    arguments = {
        "user": "user",
        "item": "item",
        "privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        "max_items_per_user": 1,
    }
    assert list(dpsel.select_partitions(named, **arguments)) == ["tea, green"]
    assert list(dpsel.select_partitions(unnamed, file_format="tsv", **arguments)) == ["tea, green"]
    with pytest.raises(dpsel.exceptions.SchemaError, match="separated by tabs"):
        dpsel.select_partitions(named, **(arguments | {"item": "drink"}))


def test_columns_that_folders_name_come_through_polars_and_duckdb(tmp_path) -> None:
    for year in (2025, 2026):
        (tmp_path / f"year={year}").mkdir()
        frame = pl.DataFrame({"user": range(400), "item": ["tea"] * 400})
        frame.write_parquet(tmp_path / f"year={year}" / "rows.parquet")
    arguments = {
        "user": "user",
        "item": ["year", "item"],
        "privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        "max_items_per_user": 2,
    }
    expected = [(2025, "tea"), (2026, "tea")]
    lazy = pl.scan_parquet(tmp_path, hive_partitioning=True)
    assert list(dpsel.select_partitions(lazy, **arguments)) == expected
    query = f"FROM read_parquet('{tmp_path}/*/*.parquet', hive_partitioning = true)"
    assert list(dpsel.select_partitions(duckdb.sql(query), **arguments)) == expected
