"""INT96 timestamps of Parquet files: exact, or refused; never two times for one."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet
import pytest

import dpsel
from dpsel.exceptions import DataError

KEY = bytes(range(32))


def written(path, items, *, store_schema=False, **options):
    """A file with INT96 in which 300 users have each item."""
    users = [user for user in range(300) for _ in range(len(items))]
    table = pa.table({"user": users, "item": pa.concat_arrays([items] * 300)})
    pyarrow.parquet.write_table(
        table, path, use_deprecated_int96_timestamps=True, store_schema=store_schema, **options
    )
    schema = pyarrow.parquet.ParquetFile(path).schema
    assert "INT96" in {schema.column(at).physical_type for at in range(len(schema))}
    return path


def in_microseconds(items):
    return pa.array(items, pa.string()).cast(pa.timestamp("us"))


def released(path):
    release = dpsel.select_partitions(
        path,
        user="user",
        item="item",
        privacy=dpsel.ZCDP(rho=1e3, delta=1e-3),
        max_items_per_user=10,
        insecure_test_key=KEY,
    )
    return pa.table(release.items)["item"]


def test_times_far_away_are_what_they_were(tmp_path):
    items = [
        "0001-01-01 00:00:00.000000",
        "1816-03-29 05:56:08.066277",  # close to 9999-12-31 modulo 2^64 nanoseconds
        "1970-01-01 00:00:00.000000",
        "2026-11-22 16:30:00.123456",
        "9999-12-31 00:00:00.000000",
    ]
    column = released(written(tmp_path / "data.parquet", in_microseconds(items)))
    assert column.type == pa.timestamp("us")
    assert column.cast(pa.string()).to_pylist() == items


def test_two_times_that_are_equal_modulo_64_bits_of_nanoseconds_stay_two(tmp_path):
    # 2^61 microseconds are 125 times 2^64 nanoseconds, and 73,000 years.
    items = [1_700_000_000_000_000, 1_700_000_000_000_000 + 2**61]
    times = pa.array(items, pa.int64()).cast(pa.timestamp("us"))
    assert released(written(tmp_path / "data.parquet", times)).cast(pa.int64()).to_pylist() == items


def test_lists_of_them_too(tmp_path):
    items = ["1816-03-29 00:00:00.000000", "9999-12-31 00:00:00.000000"]
    lists = pa.ListArray.from_arrays([0, 2], in_microseconds(items))
    column = released(written(tmp_path / "data.parquet", lists))
    assert column.cast(pa.string()).to_pylist() == items


FINE = pa.array([1_700_000_000_000_000_001, 1_700_000_000_000_000_002], pa.timestamp("ns"))


@pytest.mark.parametrize("nullable", [False, True])
def test_what_is_finer_than_a_microsecond_is_refused_and_not_rounded(tmp_path, nullable):
    whole = in_microseconds(
        ["2026-01-01 00:00:00.000000", None if nullable else "2026-01-02 00:00:00.000000"]
    )
    items = pa.concat_arrays([whole.cast(pa.timestamp("ns")), FINE[:1]])
    path = written(tmp_path / "data.parquet", items, row_group_size=100)
    with pytest.raises(DataError, match=r"row group \d of column 'item' holds an INT96 timestamp") as caught:
        released(path)
    assert "1700" not in str(caught.value)
    assert "2023" not in str(caught.value)


def test_the_unit_of_an_arrow_schema_is_kept(tmp_path):
    column = released(written(tmp_path / "data.parquet", FINE, store_schema=True))
    assert column.type == pa.timestamp("ns")
    assert column.cast(pa.int64()).to_pylist() == FINE.cast(pa.int64()).to_pylist()


def test_the_type_does_not_depend_on_the_values(tmp_path):
    near = released(written(tmp_path / "near.parquet", in_microseconds(["2026-01-01 00:00:00.000000"])))
    far = released(written(tmp_path / "far.parquet", in_microseconds(["9999-12-31 00:00:00.000000"])))
    assert near.type == far.type == pa.timestamp("us")
