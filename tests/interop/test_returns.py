"""The kind of table that came in comes out, with its column names and types."""

from __future__ import annotations

import datetime as dt
import pickle

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import dpsel
from weak import WEAK

pytestmark = WEAK

PRIVACY = dpsel.ApproxDP(epsilon=3.0, delta=0.05)
TABLE = pa.table({"who": [u for u in range(300) for _ in "ab"], "what": ["a", "b"] * 300})
COMPOSITE = pa.table(
    {
        "who": list(range(300)),
        "day": pa.array([dt.date(2024, 1, 1)] * 300),
        "flag": [True] * 300,
        "code": pa.array([7] * 300, pa.uint16()),
    }
)


def select(data, **arguments):
    return dpsel.select_partitions(
        data, **({"user": "who", "item": "what", "privacy": PRIVACY, "max_items_per_user": 2} | arguments)
    )


class Stream:
    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (TABLE, pa.Table),
        (TABLE.to_batches()[0], pa.Table),
        (pl.from_arrow(TABLE), pl.DataFrame),
        (pl.from_arrow(TABLE).lazy(), pl.DataFrame),
        (TABLE.to_pandas(), pd.DataFrame),
        (duckdb.from_arrow(TABLE), pa.Table),
        (Stream(TABLE), dpsel.release.ItemTable),
    ],
    ids=["pyarrow", "batch", "polars", "lazy", "pandas", "duckdb", "stream"],
)
def test_kinds(data, kind):
    release = select(data)
    assert isinstance(release.items, kind)
    assert pa.table(release).to_pydict() == {"what": ["a", "b"]}
    again = pickle.loads(pickle.dumps(release))
    assert isinstance(again.items, kind)
    assert pa.table(again).to_pydict() == {"what": ["a", "b"]}


def test_files_and_pairs(tmp_path):
    pyarrow.parquet.write_table(TABLE, tmp_path / "t.parquet")
    assert isinstance(select(tmp_path / "t.parquet").items, dpsel.release.ItemTable)
    assert select(zip(*TABLE.to_pydict().values(), strict=True)).items == ["a", "b"]


@pytest.mark.parametrize(
    "convert", [lambda t: t, pl.from_arrow, lambda t: t.to_pandas()], ids=["arrow", "pl", "pd"]
)
def test_composite_items_keep_names_and_types(convert):
    data = convert(COMPOSITE)
    items = select(data, item=["day", "flag", "code"], with_weights=True).items
    assert list(items.columns if not isinstance(items, pa.Table) else items.column_names) == [
        "day",
        "flag",
        "code",
        "weight",
    ]
    if isinstance(items, pa.Table):
        assert items.schema.types == [pa.date32(), pa.bool_(), pa.uint16(), pa.float64()]
    elif isinstance(items, pl.DataFrame):
        assert items.dtypes == [pl.Date, pl.Boolean, pl.UInt16, pl.Float64]
    else:
        assert str(items["code"].dtype) == "uint16"
        assert str(items["flag"].dtype) == "bool"


def test_item_tables_convert():
    table = select(Stream(TABLE)).items
    assert table.to_arrow().to_pydict() == {"what": ["a", "b"]}
    assert table.to_polars().to_dict(as_series=False) == {"what": ["a", "b"]}
    assert table.to_pandas().to_dict("list") == {"what": ["a", "b"]}
    assert table.columns == ["what"]
    assert repr(table) == "<dpsel.ItemTable: 2 items, column what>\nwhat\n----\na\nb"
    assert duckdb.from_arrow(pa.table(table)).fetchall() == [("a",), ("b",)]


def test_an_empty_release_keeps_names_and_types():
    empty = select(COMPOSITE.slice(0, 0), item=["day", "code"])
    assert empty.items.schema == pa.schema([("day", pa.date32()), ("code", pa.uint16())])
    assert empty.items.num_rows == len(empty) == 0
    assert str(empty).startswith("0 items released by")
    assert pickle.loads(pickle.dumps(empty)).items.schema == empty.items.schema


def test_nanoseconds_that_python_cannot_hold_are_refused_in_lists_only():
    column = pa.array([1] * 300, pa.timestamp("ns"))
    release = select(pa.table({"who": list(range(300)), "what": column}))
    assert release.items["what"].cast(pa.int64()).to_pylist() == [1]
    with pytest.raises(dpsel.exceptions.SchemaError, match=r"cannot hold exactly; use to_arrow\(\)"):
        release.to_pylist()


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (253_402_300_800, pa.timestamp("s")),
        (-(10**14), pa.timestamp("s", "UTC")),
        (2_932_897, pa.date32()),
        (253_402_300_800_000, pa.date64()),
    ],
)
def test_years_that_python_does_not_have_are_an_error_of_ours(value, kind):
    """After the budget is spent nothing is lost: the tables still hold the items."""
    values = pa.array([value] * 300, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    release = select(pa.table({"who": range(300), "what": values}))
    assert len(release.items) == 1
    with pytest.raises(dpsel.exceptions.SchemaError, match="cannot hold exactly") as caught:
        release.to_pylist()
    assert caught.value.__context__ is None
