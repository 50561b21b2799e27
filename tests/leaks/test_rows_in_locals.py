"""Rows from files, queries and callbacks stand in no local variable of ours when a job fails."""

from __future__ import annotations

import tempfile
import traceback
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import dpsel
from dpsel.cli import top_k
from dpsel.cli._app import every_command
from dpsel.cli._sql import rows_of_query
from dpsel.exceptions import DpselError

SECRET = "unselected secret value"
PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
PACKAGE = str(Path(dpsel.__file__).parent)
ROWS, AT = 3000, 2000
#: What a table shows of itself, its first and last rows, is nothing to hide here.
ITEMS = [f"{SECRET} {n}" if 100 < n < ROWS - 100 else "shown" for n in range(ROWS)]
USERS = [*range(AT), None, *range(AT, ROWS - 1)]


class Quiet:
    """An Arrow stream that does not show its rows."""

    def __init__(self, data):
        self._data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self._data.__arrow_c_stream__(requested_schema)


class Rows:
    """Rows that are read one by one, and not shown."""

    def __init__(self, rows):
        self._rows = rows

    def __iter__(self):
        return iter(self._rows)


def table():
    return pa.table({"user": pa.array(USERS, pa.int64()), "item": ITEMS})


def good():
    return table().set_column(0, "user", pa.array(range(ROWS)))


def dataset():
    return pytest.importorskip("datasets").Dataset(good())


def raising(row):
    if row["user"] == AT:
        raise LookupError(f"no entry for {row}")
    return row


def refusing(frame):
    raise LookupError(f"no entry for {frame.to_dict(as_series=False)}")


def raising_rows():
    yield from zip(range(AT), ITEMS, strict=False)
    raise LookupError(f"no entry for {ITEMS[AT]}")


def parquet(folder):
    pq.write_table(table(), folder / "rows.parquet", row_group_size=500)
    return folder / "rows.parquet"


def text(folder, name, lines):
    (folder / name).write_text("".join(lines))
    return folder / name


def csv(folder):
    rows = (f"{'' if user is None else user},{item}\n" for user, item in zip(USERS, ITEMS, strict=True))
    return text(folder, "rows.csv", ["user,item\n", *rows])


def ndjson(folder):
    rows = (
        f'{{"user": {"null" if user is None else user}, "item": "{item}"}}\n'
        for user, item in zip(USERS, ITEMS, strict=True)
    )
    return text(folder, "rows.ndjson", rows)


def bad_text(folder):
    path = csv(folder)
    path.write_bytes(path.read_bytes().replace(b"value 1999\n", b"value \xff\n"))
    return path


SOURCES = {
    "parquet": parquet,
    "csv": csv,
    "ndjson": ndjson,
    "csv that is no UTF-8": bad_text,
    "stream": lambda _: Quiet(table()),
    "reader": lambda _: table().to_reader(100),
    "scanner": lambda folder: pa.dataset.dataset(parquet(folder)),
    "pyarrow": lambda _: table(),
    "polars": lambda _: pl.from_arrow(table()),
    "polars scan": lambda folder: pl.scan_parquet(parquet(folder)),
    "polars query": lambda _: pl.from_arrow(table()).lazy(),
    "polars callback": lambda _: (
        pl.from_arrow(good()).lazy().map_batches(refusing, schema={"user": pl.Int64, "item": pl.String})
    ),
    "polars cast": lambda _: pl.from_arrow(good()).lazy().with_columns(user=pl.col("item").cast(pl.Int64)),
    "pandas": lambda _: table().to_pandas(),
    "pandas texts": lambda _: pd.DataFrame(
        {"user": pd.array(USERS, "Int64"), "item": pd.array(ITEMS, "string")}
    ),
    "pandas objects": lambda _: pd.DataFrame(
        {"user": range(ROWS), "item": pd.Series([*ITEMS[:AT], 3.5, *ITEMS[AT + 1 :]], dtype=object)}
    ),
    "pandas categories": lambda _: pd.DataFrame(
        {"user": range(len(set(ITEMS)) + 1), "item": pd.Categorical([*dict.fromkeys(ITEMS), 3.5])}
    ),
    "duckdb": lambda folder: duckdb.read_parquet(str(parquet(folder))),
    "duckdb cast": lambda folder: (
        duckdb.read_parquet(str(parquet(folder))).filter("user > 500").project("item::int as user, item")
    ),
    "query of the command": lambda folder: rows_of_query(
        f"select cast(item as int) as user, item from '{parquet(folder)}' where user > 500",  # noqa: S608
        None,
        None,
    ),
    "datasets": lambda _: pytest.importorskip("datasets").Dataset(table()),
    "datasets streamed": lambda _: dataset().to_iterable_dataset().map(raising, features=dataset().features),
    "numpy": lambda _: {"user": np.array(USERS, dtype=object), "item": np.array(ITEMS, dtype=object)},
    "pairs": lambda _: Rows(list(zip(USERS, ITEMS, strict=True))),
    "pairs of a generator": lambda _: zip(USERS, ITEMS, strict=True),
    "raising pairs": lambda _: raising_rows(),
}


def broken(words):
    if words != "shown" and words.endswith("2000"):
        raise LookupError(f"no entry for {words}")
    return words.split()


def invalid(words):
    return [words, None] if words != "shown" else [words]


def consumed(rows):
    """Read what is filtered when it is read."""
    return rows.read_all() if hasattr(rows, "read_all") else rows.collect()


RELEASED = dpsel.select_partitions(
    [(user, "shown") for user in range(500)], privacy=PRIVACY, max_items_per_user=1
)
NAMES = {"user": "user", "item": "item"}


def released_in_a_series(data):
    with tempfile.TemporaryDirectory() as folder:
        series = dpsel.Series.create(
            Path(folder, "series"),
            key=bytes(32),
            privacy=PRIVACY,
            releases=3,
            max_items_per_user=2,
            **NAMES,
        )
        series.release(data, "week")


CALLS = {
    "select": lambda data, **more: dpsel.select_partitions(
        data, privacy=PRIVACY, max_items_per_user=2, **NAMES, **more
    ),
    "top-k": lambda data: dpsel.select_top_k(data, privacy=PRIVACY, k=2, **NAMES),
    "compare": lambda data: dpsel.compare(
        data, privacy=PRIVACY, max_items_per_user=2, public_data=True, **NAMES
    ),
    "tokens": lambda data: CALLS["select"](data, tokenizer=str.split),
    "raising tokens": lambda data: CALLS["select"](data, tokenizer=broken),
    "invalid tokens": lambda data: CALLS["select"](data, tokenizer=invalid),
    "series": released_in_a_series,
    "bar": lambda data: CALLS["select"](data, progress=True),
    "scratch": lambda data: CALLS["select"](data, scratch="auto", memory_limit="64MiB"),
}


def variables_with_rows(error, data, seen=None):
    """Return where variables of ours show a row that the data of the caller does not."""
    seen = set() if seen is None else seen
    if error is None or id(error) in seen:
        return []
    seen.add(id(error))
    found = [f"{type(error).__name__}: {error}"] if SECRET in str(error) else []
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename.startswith(PACKAGE):
            found += [
                f"{frame.f_code.co_filename}:{line} {name}"
                for name, value in frame.f_locals.items()
                if value is not data and SECRET in repr(value)
            ]
    return (
        found
        + variables_with_rows(error.__cause__, data, seen)
        + variables_with_rows(error.__context__, data, seen)
    )


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("call", CALLS)
def test_no_variable_of_ours_shows_a_row(call, source, tmp_path):
    data = SOURCES[source](tmp_path)
    with pytest.raises(DpselError) as caught:
        CALLS[call](data)
    assert variables_with_rows(caught.value, data) == []


#: Tables whose items, or rows beside them, fail while they are filtered.
FILTERED = {
    name: SOURCES[name]
    for name in [
        "pandas objects",
        "pandas categories",
        "duckdb cast",
        "datasets streamed",
        "raising pairs",
    ]
} | {
    "pairs of unlike values": lambda _: Rows([(1, ITEMS[200]), (2, 3.5)]),
    "records": lambda _: Rows([{"item": ITEMS[200]}, {"item": 3.5}]),
}


@pytest.mark.parametrize("source", FILTERED)
def test_no_variable_of_a_filter_shows_a_row(source, tmp_path):
    data = FILTERED[source](tmp_path)
    named = {} if "pairs" in source else {"item": "item"}
    with pytest.raises(Exception) as caught:  # noqa: PT011 - other libraries wrap ours
        consumed(RELEASED.filter(data, **named))
    assert variables_with_rows(caught.value, data) == []


def test_a_batch_that_fails_is_in_no_variable_of_a_filter():
    whole = pa.table({"item": ITEMS})

    def batches():
        yield from whole.slice(500, 500).to_batches(100)
        raise LookupError(ITEMS[200])

    reader = pa.RecordBatchReader.from_batches(whole.schema, batches())
    with pytest.raises(Exception) as caught:  # noqa: PT011 - Arrow wraps ours
        RELEASED.filter(reader, item="item").read_all()
    assert variables_with_rows(caught.value, reader) == []


#: Files that somebody names in place of a public list.
LISTS = {
    "csv": csv,
    "parquet": parquet,
    "no UTF-8": bad_text,
    "a header": lambda folder: text(folder, "list.csv", ["item\n", f"{SECRET}\n"]),
    "a number too many": lambda folder: text(folder, "list.csv", ["item,count\n", f"{SECRET},1,2\n"]),
    "no number": lambda folder: text(folder, "list.csv", ["item,count\n", f"tea,{SECRET}\n"]),
    "an item twice": lambda folder: text(folder, "list.csv", ["item,count\n", f"{SECRET},1\n" * 2]),
    "no item": lambda folder: text(folder, "list.csv", ["item\n", f"{SECRET}\n", '""\n']),
    "an open quote": lambda folder: text(folder, "list.csv", ["item\n", f'"{SECRET}']),
}
#: The types of options, each of which may read the file that it is given.
TYPES = {
    type(param.type).__name__: param.type
    for command in every_command().values()
    for param in command.params
    if type(param.type).__module__.startswith("dpsel.")
}


READERS = {name: lambda path, kind=kind: kind.convert(path, None, None) for name, kind in TYPES.items()}
READERS["--domain"] = lambda path: top_k._lines(Path(path), "item")


def failure(call):
    """The exception that a call raises, if it does."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it raises
        return error
    return None


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("name", LISTS)
def test_no_variable_of_an_option_shows_a_row_of_its_file(name, kind, tmp_path):
    path = str(LISTS[name](tmp_path))
    for given in (path, f"@{path}"):
        assert variables_with_rows(failure(lambda given=given: READERS[kind](given)), None) == []


@pytest.mark.parametrize("wrong", [3.5, None, [SECRET], (SECRET, SECRET), {SECRET}], ids=str)
@pytest.mark.parametrize("name", ["exclude", "public_items", "domain"])
def test_no_error_shows_a_public_list(name, wrong):
    call = dpsel.select_top_k if name == "domain" else dpsel.select_partitions
    limits = {"k": 1} if name == "domain" else {"max_items_per_user": 1}
    rows = [(user, "tea") for user in range(9)]
    error = failure(lambda: call(rows, privacy=PRIVACY, **limits, **{name: [SECRET, wrong]}))
    assert SECRET not in str(error)


def test_no_row_of_a_file_stands_in_a_variable_of_a_filter(tmp_path):
    """Every format; what fails is a value, a type, or the end of the file."""
    files = [csv(tmp_path), ndjson(tmp_path), parquet(tmp_path), tmp_path / "rows.arrows"]
    with pa.ipc.new_stream(files[-1], table().schema) as writer:
        writer.write_table(table())
    for path in files:
        data = path.read_bytes()
        for damaged in (data[: len(data) // 2] + b"\xff", data + b"\xff\xfe"):
            path.write_bytes(damaged)
            with pytest.raises(DpselError) as caught:
                RELEASED.filter_file(path, tmp_path / f"out{path.suffix}", item="item")
            assert variables_with_rows(caught.value, None) == []
