"""A filter of Parquet and Arrow reads what a selection reads, and alters no column."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import dpsel
from dpsel.exceptions import FileError, SchemaError

PRIVACY = dpsel.ApproxDP(epsilon=4.0, delta=1e-4)
FAR = [dt.datetime(1, 1, 1), dt.datetime(2026, 1, 1), dt.datetime(9999, 12, 31)]  # noqa: DTZ001


@pytest.fixture(scope="module")
def tea():
    return dpsel.select_partitions([(u, "tea") for u in range(300)], privacy=PRIVACY, max_items_per_user=1)


ITEMS = ["tea", "gin", "tea", None, "rum", "tea"]
TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.run_end_encoded(pa.int32(), pa.string()),
]


def column(kind):
    values = pa.array(ITEMS, pa.string())
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_encode(values)
    return values.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else values.cast(kind)


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("beside", TYPES, ids=str)
def test_rows_of_every_type_are_kept_as_they_are(tea, tmp_path, kind, beside):
    table = pa.table({"item": column(kind), "beside": column(beside), "n": range(6)})
    for made in (tea.filter(table, item="item"), pa.table(tea.filter(table.to_batches()[0], item="item"))):
        assert made.schema == table.schema
        assert made["n"].to_pylist() == [0, 2, 5]
        assert made["beside"].to_pylist() == ["tea"] * 3
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    tea.filter_file(tmp_path / "x.arrow", tmp_path / "out.arrow", item="item")
    with pa.ipc.open_file(tmp_path / "out.arrow") as reader:
        assert reader.read_all()["n"].to_pylist() == [0, 2, 5]
    other = tea.filter(table, item="item", other="others")
    assert other.schema == table.schema
    assert other["item"].to_pylist() == ["tea", "others", "tea", None, "others", "tea"]
    assert other["beside"].to_pylist() == ITEMS


def test_no_row_and_every_row(tea):
    table = pa.table({"item": column(pa.string_view())})
    assert tea.filter(table.slice(1, 1), item="item").num_rows == 0
    assert tea.filter(table.slice(0, 1), item="item").num_rows == 1
    assert tea.filter(table.slice(0, 0), item="item").num_rows == 0


def test_files_of_polars_are_read(tea, tmp_path):
    frame = pl.DataFrame({"item": ITEMS, "binary": [b"x"] * 6, "list": [["a"]] * 6})
    frame.write_ipc(tmp_path / "x.arrow")
    tea.filter_file(tmp_path / "x.arrow", tmp_path / "out.arrow", item="item")
    assert pl.read_ipc(tmp_path / "out.arrow")["item"].to_list() == ["tea"] * 3


def test_json_takes_a_label(tmp_path):
    values = pa.array(['"tea"', '"gin"', '"tea"'], pa.json_())
    release = dpsel.select_partitions(
        pa.table({"user": range(300), "item": pa.array(['"tea"'] * 300, pa.json_())}),
        user="user", item="item", privacy=PRIVACY, max_items_per_user=1,
    )  # fmt: skip
    pq.write_table(pa.table({"item": values}), tmp_path / "x.parquet")
    release.filter_file(tmp_path / "x.parquet", tmp_path / "out.parquet", other='"others"')
    assert pq.read_table(tmp_path / "out.parquet")["item"].to_pylist() == ['"tea"', '"others"', '"tea"']


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("kinds", [(pa.int8(), pa.int64()), (pa.string(), pa.large_string())], ids=str)
def test_files_of_several_widths_make_one(tea, tmp_path, order, kinds):
    for at in order:
        beside = pa.array([7 + at] * 6).cast(kinds[at])
        table = pa.table({"item": ITEMS, "beside": beside})
        pq.write_table(
            table if at else table.select(["beside", "item"]), tmp_path / f"{order.index(at)}.parquet"
        )
    tea.filter_file(tmp_path / "*.parquet", tmp_path / "out.parquet", item="item")
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.num_rows == 6
    assert sorted(map(int, found["beside"].to_pylist())) == [7] * 3 + [8] * 3


def test_types_that_would_change_a_value_are_refused(tea, tmp_path):
    for at, beside in enumerate(([2**53 + 1] * 6, [0.5] * 6)):
        pq.write_table(pa.table({"item": ITEMS, "beside": beside}), tmp_path / f"{at}.parquet")
    with pytest.raises(SchemaError, match="filter them apart"):
        tea.filter_file(tmp_path / "*.parquet", tmp_path / "out.parquet", item="item")


def int96(path, table, **options):
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, **options)
    return path


@pytest.mark.parametrize("store_schema", [False, True])
def test_int96_is_kept_exactly(tea, tmp_path, store_schema):
    times = pa.array(FAR, pa.timestamp("us"))
    table = pa.table({"item": ["tea"] * 3, "time": times, "other": times})
    path = int96(tmp_path / "x.parquet", table, store_schema=store_schema, row_group_size=2)
    tea.filter_file(path, tmp_path / "out.parquet", item="item")
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["time"].cast(pa.timestamp("us")).to_pylist() == FAR == found["other"].to_pylist()
    users, times = [u for u in range(300) for _ in FAR], pa.array(FAR * 300, pa.timestamp("us"))
    release = dpsel.select_partitions(
        pa.table({"user": users, "time": times}),
        user="user", item="time", privacy=PRIVACY, max_items_per_user=3,
    )  # fmt: skip
    release.filter_file(path, tmp_path / "times.parquet")
    assert pq.read_table(tmp_path / "times.parquet")["time"].to_pylist() == FAR


@pytest.mark.parametrize("store_schema", [False, True])
def test_int96_that_is_finer_is_refused_or_kept(tea, tmp_path, store_schema):
    fine = pa.array([1_700_000_000_000_000_001], pa.timestamp("ns"))
    path = int96(tmp_path / "x.parquet", pa.table({"item": ["tea"], "time": fine}), store_schema=store_schema)
    with pytest.raises(SchemaError, match="finer than a microsecond") as caught:
        tea.filter_file(path, tmp_path / "out.parquet", item="item")
    assert "1700" not in str(caught.value)
    lists = pa.array([FAR], pa.list_(pa.timestamp("us")))
    path = int96(
        tmp_path / "y.parquet", pa.table({"item": ["tea"], "time": lists}), store_schema=store_schema
    )
    with pytest.raises(SchemaError, match="a nested column has times of type INT96"):
        tea.filter_file(path, tmp_path / "out.parquet", item="item")
    assert not (tmp_path / "out.parquet").exists()


def test_a_wrong_checksum_is_called_so(tea, tmp_path):
    path = tmp_path / "x.parquet"
    table = pa.table({"item": ["tea"] * 999, "secret": [f"secret {n}" for n in range(999)]})
    pq.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=False)
    path.write_bytes(path.read_bytes().replace(b"secret 500", b"secret 501"))
    with pytest.raises(FileError, match=r"x\.parquet: a page of it does not have its checksum") as caught:
        tea.filter_file(path, tmp_path / "out.parquet", item="item")
    assert "secret" not in str(caught.value)
