"""Large inputs whose small integers are their own codes release what others release."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpsel
from support import released, report_of, select

#: From so many rows of a Parquet file on, integers are their own codes. The rows of a stream are not known.
ROWS = 1 << 20
PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Small, large and negative integers; users and items in no order."""
    draw = np.random.default_rng(5)
    items = np.minimum(draw.zipf(1.2, ROWS), 1 << 40)
    items[::97] = -items[::97]
    users = draw.integers(0, 50_000, ROWS)
    users[::5] += 1 << 33
    return pa.table({"user": users, "item": items})


@pytest.mark.long("tables of a million rows")
@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.string()], ids=str)
@pytest.mark.parametrize(
    "mechanism", [dpsel.Sips(rounds=3), dpsel.UnitGreedy(), dpsel.Mad2R()], ids=lambda m: type(m).__name__
)
def test_a_file_of_small_integers_releases_what_a_stream_does(rows, tmp_path, kind, mechanism):
    if pa.types.is_int32(kind):
        small = pa.array(rows["item"].to_numpy() % (1 << 31)).cast(kind)
    else:
        small = rows["item"].cast(kind)
    table = rows.set_column(1, "item", small)
    pq.write_table(table, tmp_path / "rows.parquet")
    arguments = {"privacy": PRIVACY, "max_items_per_user": 10, "mechanism": mechanism}
    stream = released(select(table, **arguments))
    assert stream.num_rows > 100
    for threads in (1, 2):
        assert released(select(tmp_path / "rows.parquet", threads=threads, **arguments)).equals(stream)


def test_numbers_of_users_with_and_without_items_are_the_same(rows, tmp_path):
    """A user whose items are all null is a user, whether or not it is its own code."""
    items = pa.array(rows["item"].to_numpy(), mask=rows["user"].to_numpy() % 7 == 3)
    table = rows.set_column(1, "item", items)
    pq.write_table(table, tmp_path / "rows.parquet")
    sources = (table, tmp_path / "rows.parquet")
    arguments = {"privacy": PRIVACY, "max_items_per_user": dpsel.Quantile(0.9), "mechanism": dpsel.Sips()}
    looks = [select(source, **arguments) for source in sources]
    assert report_of(looks[0])["look"] == report_of(looks[1])["look"]
    assert released(looks[0]).equals(released(looks[1]))
