"""Every form in which a result may be kept, sent or shown, as bytes to search."""

from __future__ import annotations

import copy
import io
import json
import pickle
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet

import dpsel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Part of every item that is not released, and longer than what a view keeps inside itself.
SECRET = "unselected secret"
PUBLIC = ["a published item", "another published item"]
#: 500 users share two items, and each has one of its own.
ROWS = [(u, i) for u in range(500) for i in PUBLIC] + [(u, f"{SECRET} {u:04}") for u in range(500)]


def arrow() -> pa.Table:
    """The rows as a table."""
    users, items = zip(*ROWS, strict=True)
    return pa.table({"user": users, "item": items})


def forms(release, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every form of a release of partitions or of a top-k."""
    yield from _pickles(release)
    yield from _texts(release)
    yield from _tables(pa.table(release.to_table()))
    table = release.to_table()
    sink = io.BytesIO()
    table.to_polars().write_ipc(sink, compression="uncompressed")
    yield "polars ipc", sink.getvalue()
    yield "polars pickle", pickle.dumps(table.to_polars())
    yield "pandas pickle", pickle.dumps(table.to_pandas())
    for extension in dpsel.release.EXTENSIONS:
        path = folder / f"items{extension}"
        table.write(path)
        yield extension, path.read_bytes()
    path = folder / "report.json"
    release.report.save(path)
    yield "report file", path.read_bytes()


def _pickles(release) -> Iterator[tuple[str, bytes]]:
    for name, made in (("", release), ("copy ", copy.copy(release)), ("deep copy ", copy.deepcopy(release))):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            yield f"{name}pickle {protocol}", pickle.dumps(made, protocol)
        yield f"{name}items pickle", pickle.dumps(made.items)
        yield f"{name}table pickle", pickle.dumps(made.to_table())


def _tables(table: pa.Table) -> Iterator[tuple[str, bytes]]:
    # The whole buffers, also what lies before and behind the rows.
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    yield "capsule", b"".join(buffer.to_pybytes() for chunk in chunks for buffer in chunk.buffers() if buffer)
    yield "schema", table.schema.serialize().to_pybytes() + repr(table.schema.metadata).encode()
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    yield "ipc", sink.getvalue()
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink)
    yield "parquet", sink.getvalue()


def _texts(release) -> Iterator[tuple[str, bytes]]:
    for shown in (release, release.to_table(), release.report):
        shows = [str, repr, lambda x: format(x, ""), *_displays(shown)]
        yield f"texts of {type(shown).__name__}", "".join(str(show(shown)) for show in shows).encode()
    yield "report", (release.report.to_json() + json.dumps(dict(release.report))).encode()
    yield "dir", repr([getattr(release, name, None) for name in dir(release)]).encode()


def _displays(shown) -> list:
    """What notebooks call."""
    names = [name for name in dir(type(shown)) if name.startswith("_repr_")]
    return [getattr(type(shown), name) for name in names]


def leaks(blobs: list[tuple[str, bytes]], secret: str = SECRET) -> list[str]:
    """The forms that hold the secret, in one of the encodings of texts."""
    spellings = [secret.encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be")]
    return [form for form, blob in blobs if any(spelling in blob for spelling in spellings)]
