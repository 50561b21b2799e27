"""Law 1: a release is a function of the set of rows, the parameters and the key, and of nothing else."""

from __future__ import annotations

import random
from functools import cache

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
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from mechanisms import MECHANISMS
from strategies import keys, max_items, rows
from support import released, report_of, select, table

PRIVACY = dpsel.ApproxDP(epsilon=3.0, delta=0.05)
CASE = next(case for case in MECHANISMS if case.name == "sips")

#: Texts, so that formats without types (CSV) mean the same as the others.
TEXT_ROWS = [
    (f"user {u}", f"item {i} {'long ' * i}")
    for u in range(50)
    for i in range(30)
    if (u * 7 + i * 11) % 30 >= i
]


def run(data, case, *, privacy=PRIVACY, bound=4, **arguments):
    """Items, weights where there are any, and report of a run, in a form that can be compared."""
    release = select(
        data,
        privacy=privacy,
        max_items_per_user=case.bound(bound),
        mechanism=case.mechanism,
        with_weights=case.has_weights,
        **arguments,
    )
    return released(release).to_pydict(), report_of(release)


@given(rows=rows(), key=keys, bound=max_items, data=st.data())
def test_order_and_duplicates_do_not_matter(case, rows, key, bound, data) -> None:
    again = data.draw(st.lists(st.sampled_from(rows), max_size=20)) if rows else []
    if case.counts_rows:
        # How often a user has a row says which items it prefers; only if all its rows double nothing changes.
        again = rows
    shuffled = data.draw(st.permutations(rows + again))
    expected = run(table(rows), case, key=key, bound=bound)
    assert run(table(shuffled), case, key=key, bound=bound) == expected


@given(rows=rows(), sizes=st.lists(st.integers(0, 30), max_size=8))
def test_chunks_do_not_matter(case, rows, sizes) -> None:
    whole = table(rows)
    chunks, start = [], 0
    for size in sizes:
        chunks.append(whole.slice(start, size))
        start += size
    chunks.append(whole.slice(start))
    rechunked = pa.concat_tables(chunks)
    assert run(rechunked, case) == run(whole, case)


def _rows_of(users: int) -> list[tuple[int, int]]:
    draw = random.Random(users)
    return [(u, int(draw.paretovariate(0.5)) % 5000) for u in range(users) for _ in range(u % 40)]


@cache
def _large() -> pa.Table:
    """Enough rows that every one of eight threads gets some, and enough items likewise."""
    draw = np.random.default_rng(1)
    items = (draw.pareto(0.3, 400_000) * 10).astype(np.uint64) % 10**6
    return pa.table({"user": draw.integers(0, 20_000, 400_000), "item": items})


@pytest.mark.parametrize("threads", [2, 8])
def test_threads_do_not_matter(case, threads) -> None:
    """In small batches, so that threads take turns, against one thread and one batch."""
    many = pa.Table.from_batches(_large().to_batches(max_chunksize=3000))
    expected = run(_large(), case, threads=1)
    assert len(expected[0]["item"]) > 100
    assert run(many, case, threads=threads) == expected


class Capsule:
    """A stranger's table: nothing but the Arrow stream protocol."""

    def __init__(self, data: pa.Table) -> None:
        self.data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self.data.__arrow_c_stream__(requested_schema)


def _lists(data: pa.Table) -> list[tuple[str, list[str]]]:
    grouped: dict[str, list[str]] = {}
    for user, item in zip(data["user"].to_pylist(), data["item"].to_pylist(), strict=True):
        grouped.setdefault(user, []).append(item)
    return list(grouped.items())


def _list_column(data: pa.Table) -> pa.Table:
    users, items = zip(*_lists(data), strict=True)
    return pa.table({"user": users, "item": items})


def _encode(data: pa.Table) -> pa.Table:
    return pa.table({name: data[name].combine_chunks().dictionary_encode() for name in data.column_names})


def _cast(data: pa.Table, kind: pa.DataType) -> pa.Table:
    return data.cast(pa.schema([("user", kind), ("item", kind)]))


IN_MEMORY = {
    "reader": lambda d: pa.RecordBatchReader.from_batches(d.schema, d.to_batches(max_chunksize=17)),
    "capsule": Capsule,
    "dataset": pyarrow.dataset.dataset,
    "polars": pl.from_arrow,
    "polars-categorical": lambda d: pl.from_arrow(d).cast(pl.Categorical),
    "pandas": lambda d: d.to_pandas(),
    "pandas-categorical": lambda d: d.to_pandas().astype("category"),
    "duckdb": lambda d: duckdb.from_arrow(d),
    "pairs": lambda d: list(zip(d["user"].to_pylist(), d["item"].to_pylist(), strict=True)),
    "generator": lambda d: iter(list(zip(d["user"].to_pylist(), d["item"].to_pylist(), strict=True))),
    "pairs-of-lists": _lists,
    "list-column": _list_column,
    "dictionary": _encode,
    "large-string": lambda d: _cast(d, pa.large_string()),
    "string-view": lambda d: _cast(d, pa.string_view()),
    "more-columns": lambda d: d.add_column(0, "other", pa.nulls(len(d))).append_column("x", pa.nulls(len(d))),
}


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_source_kinds_agree(kind) -> None:
    data = table(TEXT_ROWS)
    expected = run(data, CASE)
    assert expected[0]["item"]
    assert run(IN_MEMORY[kind](data), CASE) == expected


def _ndjson(data: pa.Table, path) -> None:
    pl.from_arrow(data).write_ndjson(path)


def _stream(data: pa.Table, path) -> None:
    with pa.ipc.new_stream(path, data.schema) as out:
        out.write_table(data, max_chunksize=100)


FILES = {
    "plain.parquet": lambda d, p: pyarrow.parquet.write_table(d, p, compression="none", use_dictionary=False),
    "snappy.parquet": lambda d, p: pyarrow.parquet.write_table(d, p, compression="snappy", row_group_size=77),
    "zstd.parquet": lambda d, p: pyarrow.parquet.write_table(d, p, compression="zstd"),
    "gzip.parquet": lambda d, p: pyarrow.parquet.write_table(d, p, compression="gzip", data_page_size=64),
    "table.csv": lambda d, p: pyarrow.csv.write_csv(d, p),
    "table.csv.gz": lambda d, p: pyarrow.csv.write_csv(d, pa.CompressedOutputStream(p, "gzip")),
    "table.ndjson": _ndjson,
    "table.arrow": lambda d, p: pyarrow.feather.write_feather(d, p, compression="uncompressed"),
    "zstd.arrow": lambda d, p: pyarrow.feather.write_feather(d, p, compression="zstd"),
    "stream.arrows": _stream,
}


@pytest.mark.parametrize("name", FILES)
def test_files_agree(name, tmp_path) -> None:
    data = table(TEXT_ROWS)
    path = tmp_path / name
    FILES[name](data, str(path))
    expected = run(data, CASE)
    assert expected[0]["item"]
    assert run(path, CASE) == expected
    assert run(str(path), CASE) == expected


def test_several_files_and_globs_agree(tmp_path) -> None:
    data = table(TEXT_ROWS)
    paths = []
    for n, start in enumerate(range(0, len(data), 300)):
        paths.append(tmp_path / f"part-{n}.parquet")
        pyarrow.parquet.write_table(data.slice(start, 300), paths[-1])
    expected = run(data, CASE)
    assert run(paths, CASE) == expected
    assert run(paths[::-1], CASE) == expected
    assert run(str(tmp_path / "*.parquet"), CASE) == expected


def test_integer_widths_agree(case) -> None:
    rows = [(u, i) for u, i in _rows_of(200) if i < 100]
    expected = run(table(rows), case)[0]
    for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.uint32(), pa.uint64()):
        wide = table(rows, user_type=pa.uint16(), item_type=kind)
        assert run(wide, case)[0] == expected


@pytest.mark.parametrize("frame", ["polars", "pandas", "pyarrow", "duckdb"])
def test_items_come_back_as_the_kind_that_came_in(frame) -> None:
    data = table(TEXT_ROWS)
    kinds = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.Table}
    source = {"pyarrow": data}.get(frame) or IN_MEMORY[frame](data)
    release = select(source, privacy=PRIVACY, max_items_per_user=4, mechanism=CASE.mechanism)
    if frame in kinds:
        assert isinstance(release.items, kinds[frame])
