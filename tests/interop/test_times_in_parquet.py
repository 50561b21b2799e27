"""Dates and times of a release in Parquet: types that every reader knows, and the same values."""

from __future__ import annotations

import datetime as dt

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpsel

DAY = dt.datetime(2026, 3, 1)  # noqa: DTZ001
KINDS = {
    "s": (pa.timestamp("s"), [DAY]),
    "s with zone": (pa.timestamp("s", "Europe/Vienna"), [DAY.replace(tzinfo=dt.UTC)]),
    "s far away": (pa.timestamp("s"), [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)]),  # noqa: DTZ001
    "date64": (pa.date64(), [DAY.date(), dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    "date32": (pa.date32(), [DAY.date()]),
    "ms": (pa.timestamp("ms"), [DAY]),
    "us": (pa.timestamp("us"), [DAY]),
    "ns": (pa.timestamp("ns"), [DAY]),
}


def rows_of(kind, values):
    items = pa.array([value for value in values for _ in range(300)], kind)
    return pa.table({"user": list(range(300)) * len(values), "item": items})


@pytest.mark.parametrize("name", KINDS)
def test_other_readers_see_times(tmp_path, name):
    kind, values = KINDS[name]
    rows = rows_of(kind, values)
    release = dpsel.select_partitions(
        rows, user="user", item="item", privacy=dpsel.ApproxDP(epsilon=4, delta=1e-4), max_items_per_user=5
    )
    path = tmp_path / "x.parquet"
    release.write(path)
    release.report.save(tmp_path / "x.json")
    expected = sorted(rows["item"].unique().to_pylist())
    for found in (pq.read_table(path), pq.ParquetFile(path).read()):
        assert not pa.types.is_integer(found.schema.field("item").type)
        assert found["item"].to_pylist() == expected
    assert not pl.read_parquet(path).schema["item"].is_integer()
    assert "INT" not in str(duckdb.sql(f"from '{path}'").types[0])
    logical = pq.ParquetFile(path).schema.column(0).logical_type.type
    assert logical in ("TIMESTAMP", "DATE")
    _filtered(tmp_path, rows)


def _filtered(folder, rows):
    loaded = dpsel.Release.load(folder / "x.parquet")
    assert loaded.filter(rows).num_rows == rows.num_rows
    pq.write_table(rows, folder / "rows.parquet")
    loaded.filter_file(folder / "rows.parquet", folder / "kept.parquet")
    assert pq.ParquetFile(folder / "kept.parquet").metadata.num_rows == rows.num_rows
    pq.write_table(pa.table({"item": rows["item"]}), folder / "own.parquet")
    loaded.filter_file(folder / "x.parquet", folder / "itself.parquet")
    assert pq.ParquetFile(folder / "itself.parquet").metadata.num_rows == len(loaded)


def test_dates_beyond_32_bits_of_days_stay_what_they_are(tmp_path):
    days = pa.array([2**35 * 86_400_000] * 300, pa.int64()).cast(pa.date64())
    release = dpsel.select_partitions(
        pa.table({"user": range(300), "item": days}),
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=4, delta=1e-4),
        max_items_per_user=5,
    )
    release.write(tmp_path / "x.parquet")
    stored = pq.ParquetFile(tmp_path / "x.parquet").read()["item"]
    assert stored.cast(pa.int64()).to_pylist() == [2**35 * 86_400_000]
