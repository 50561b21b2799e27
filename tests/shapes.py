"""Tables of every kind of source, from rows of values of any kind: for tests of the shape of a release."""

from __future__ import annotations

import datetime as dt
import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from hypothesis import strategies as st

EAST = dt.timezone(dt.timedelta(hours=9))

#: Values of each kind of key, the first of which most users hold.
KINDS = {
    "text": ["tea", "gin", ""],
    "bytes": [b"x", b"", b"tea"],
    "int": [7, -1, 2**63 - 1, np.int16(3), np.uint64(5)],
    "large": [2**63, 7, 2**64 - 1],
    "negative": [7, -1, 5],
    "bool": [True, False, np.bool_(True)],
    "date": [dt.date(2024, 1, 1), dt.date(1, 1, 1), np.datetime64("2020-02-02")],
    "naive": [
        dt.datetime(2024, 1, 1),  # noqa: DTZ001
        pd.Timestamp("2024-01-01 00:00:00.000001"),
        np.datetime64("2024-01-01T01", "ms"),
        pd.Timestamp("2024-01-01 00:00:00.000000001"),
    ],
    "aware": [
        dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2024, 1, 1, tzinfo=EAST),
        pd.Timestamp("2024-06-01", tz="Europe/Vienna"),
    ],
    "null": [None, pd.NA, pd.NaT, float("nan")],
    "other": [1.5, 10**30, {"a": 1}, (1, 2)],
}

#: For kinds of key, texts that are values of it. As texts they have another order than as numbers.
WRITTEN = {
    "text": ["9", "10"],
    "int": ["9", "10"],
    "large": ["9", "10", "9223372036854775808"],
    "negative": ["-1", "-10"],
    "bool": ["true", "false"],
    "date": ["2024-01-02", "1999-01-01"],
    "naive": ["2024-01-02T00:00:00", "1999-01-01T12:00:00"],
    "aware": ["2024-01-02T00:00:00Z", "1999-01-01T12:00:00Z"],
}

#: Kinds that JSON has.
JSON_KINDS = ["text", "int", "large", "negative", "bool", "null", "other"]


def _objects(rows) -> pd.DataFrame:
    users, items = [user for user, _ in rows], pd.Series([item for _, item in rows], dtype=object)
    return pd.DataFrame({"user": pd.Series(users, dtype="int64"), "item": items})


def _ndjson(rows, path):
    """Rows as lines; values that JSON does not have become null."""
    path = path / "rows.ndjson"

    def plain(value):
        if isinstance(value, np.generic):
            return value.item()
        known = isinstance(value, str | int | float | list | dict | None) and value == value  # noqa: PLR0124
        return value if known else None

    lines = [json.dumps({"user": user, "item": plain(item)}) for user, item in rows]
    path.write_text("".join(line + "\n" for line in [*lines, '{"user": -1, "item": null}']))
    return path


def _csv(rows, path):
    path = path / "rows.csv"
    text = (f'{user},"{item}"\n' for user, item in rows if isinstance(item, str | int))
    path.write_text("user,item\n" + "".join(text))
    return path


#: Sources without declared types, of any values.
FOUND = {
    "pairs": lambda rows, _path: iter(rows),
    "groups": lambda rows, _path: iter([(user, [item]) for user, item in rows]),
    "pandas objects": lambda rows, _path: _objects(rows),
    "pandas lists": lambda rows, _path: _objects([(user, [item]) for user, item in rows]),
    "ndjson": _ndjson,
    "csv": _csv,
}


def _typed(rows) -> pa.Table:
    """Rows of texts, as a table that declares its types."""
    schema = pa.schema({"user": pa.int64(), "item": pa.string()}, metadata={"rows": str(len(rows))})
    return pa.Table.from_arrays(
        [pa.array([u for u, _ in rows], pa.int64()), pa.array([i for _, i in rows], pa.string())],
        schema=schema,
    )


def _file(write, name):
    def written(rows, path):
        write(_typed(rows), path / name)
        return path / name

    return written


#: Sources that declare types, of texts.
DECLARED = {
    "pyarrow": lambda rows, _path: _typed(rows),
    "dictionary": lambda rows, _path: pa.table(
        {"user": _typed(rows)["user"], "item": _typed(rows)["item"].dictionary_encode()}
    ),
    "chunks": lambda rows, _path: pa.concat_tables([_typed(rows[:3]), _typed(rows[3:])]),
    "polars": lambda rows, _path: pl.from_arrow(_typed(rows)),
    "polars lazy": lambda rows, _path: pl.from_arrow(_typed(rows)).lazy(),
    "polars categorical": lambda rows, _path: pl.from_arrow(_typed(rows)).cast({"item": pl.Categorical}),
    "pandas": lambda rows, _path: _typed(rows).to_pandas().astype({"item": "string"}),
    "duckdb": lambda rows, _path: duckdb.from_arrow(_typed(rows)),
    "parquet": _file(pyarrow.parquet.write_table, "rows.parquet"),
    "arrow": _file(pyarrow.feather.write_feather, "rows.arrow"),
}


def values(kinds=tuple(KINDS)):
    """A value of any kind."""
    return st.sampled_from(kinds).flatmap(lambda kind: st.sampled_from(KINDS[kind]))


@st.composite
def options(draw, rows):
    """Public lists beside some rows, often of texts of their kind, and items that are parts of texts."""
    items = {id(item) for _, item in rows}
    of_rows = [texts for kind, texts in WRITTEN.items() if items & {id(each) for each in KINDS[kind]}]
    others = [*WRITTEN.values(), [], [9, 10], [True], [b"x"], [dt.date(2024, 1, 2)]]
    listed = draw(st.sampled_from(of_rows or others) | st.sampled_from(others))
    lists = draw(
        st.sampled_from([{}, {"public_items": listed}, {"public_items": listed}, {"exclude": listed}])
    )
    return lists | draw(st.sampled_from([{}, {}, {}, {"levels": "/"}, {"ngrams": (1, 2)}]))


@st.composite
def neighbours(draw, kinds=tuple(KINDS)):
    """Rows in which nobody or everybody holds an item, and the same in another order with one more user."""
    kind = draw(st.sampled_from(kinds))
    rare = draw(st.lists(values([kind]), max_size=3))
    holders = draw(st.sampled_from([0, 2, 60]))
    rows = [(user, KINDS[kind][0]) for user in range(holders)] + [
        (100 + at, item) for at, item in enumerate(rare)
    ]
    added = [
        (1000, item)
        for item in draw(st.lists(values(draw(st.sampled_from([kinds, (kind, "null")]))), max_size=3))
    ]
    return rows, draw(st.permutations(rows + added))
