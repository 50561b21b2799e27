"""No unselected item in any form of any result, whatever table came in."""

from __future__ import annotations

import io
import pickle

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import dpsel

SECRET = "unselected secret"
PUBLIC = ["a published item", "another published item"]
ROWS = [(u, i) for u in range(500) for i in PUBLIC] + [(u, f"{SECRET} {u:04}") for u in range(500)]


def arrow():
    users, items = zip(*ROWS, strict=True)
    return pa.table({"user": users, "item": items})


SOURCES = {
    "dictionary": lambda: arrow().set_column(1, "item", arrow()["item"].dictionary_encode()),
    "string view": lambda: arrow().set_column(1, "item", arrow()["item"].cast(pa.string_view())),
    "polars": lambda: pl.from_arrow(arrow()),
    "polars categorical": lambda: pl.from_arrow(arrow()).with_columns(pl.col("item").cast(pl.Categorical)),
    "pandas categorical": lambda: arrow().to_pandas().astype({"item": "category"}),
    "duckdb": lambda: duckdb.from_arrow(arrow()),
    "pairs": lambda: ROWS,
}


def forms(release, folder):
    table = pa.table(release)
    yield "pickle", pickle.dumps(release)
    yield "items pickle", pickle.dumps(release.items)
    yield "table pickle", pickle.dumps(release.to_table())
    for chunk in (chunk for column in table.columns for chunk in column.chunks):
        yield "capsule", b"".join(buffer.to_pybytes() for buffer in chunk.buffers() if buffer)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    yield "ipc", sink.getvalue()
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    yield "parquet", sink.getvalue()
    sink = io.BytesIO()
    release.to_polars().write_ipc(sink, compression="uncompressed")
    yield "polars ipc", sink.getvalue()
    yield "polars pickle", pickle.dumps(release.to_polars())
    for extension in dpsel.release.EXTENSIONS:
        path = folder / f"items{extension}"
        release.write(path)
        yield extension, path.read_bytes()
    for text in (str(release), repr(release), release._repr_html_(), release.report.to_json()):
        yield "text", text.encode()


@pytest.mark.parametrize("name", SOURCES)
def test_no_unselected_item(name, tmp_path):
    release = dpsel.select_partitions(
        SOURCES[name](),
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=3.0, delta=1e-6),
        max_items_per_user=3,
    )
    assert release.to_pylist() == PUBLIC
    blobs = list(forms(release, tmp_path))
    assert [form for form, blob in blobs if SECRET.encode() in blob] == []
    assert sum(PUBLIC[0].encode() in blob for _, blob in blobs) >= 6
