"""The rows of Parquet and Arrow files whose item was released, batch by batch, with pyarrow."""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from dpsel._filter._rows import filtered
from dpsel.exceptions import FileError, MissingFileError, SchemaError
from dpsel.quoting import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dpsel._filter._keys import Keys

__all__ = ["write_arrow"]

#: A file: its path, its bytes if it was a pipe, and the columns that its folders tell.
File: TypeAlias = "tuple[os.PathLike[str], bytes | None, list[tuple[str, str | None]]]"


def write_arrow(
    keys: Keys,
    files: list[File],
    paths: tuple[Path, Path],
    wanted: tuple[list[str], list[Any] | None],
    kind: str,
) -> None:
    """Write the rows of all files to one.

    Args:
        keys: The released items.
        files: The files.
        paths: Where the rows go, and the name of that in errors.
        wanted: The columns of the item, and the labels in place of other items.
        kind: ``"parquet"`` or ``"ipc"``.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError(f"filtering {os.fspath(files[0][0])} needs pyarrow; install it with pip") from None
    (made, target), (columns, labels) = paths, wanted
    try:
        reader = _reader(pa, files, kind)
        rows = filtered(keys, reader, columns, None if labels is None else tuple(labels), named=True)
        with _writer(pa, made, rows.schema, kind) as writer:
            # No variable holds a batch: a traceback would show its rows.
            for _ in map(writer.write_batch, rows):
                pass
    except FileNotFoundError as error:
        raise MissingFileError(f"cannot read {quoted_path(error.filename)}: {error.strerror}") from None
    except (OSError, pa.ArrowInvalid):
        raise FileError(
            f"cannot filter {os.fspath(files[0][0])}: it, or a file beside it, is damaged, or cannot be "
            f"written as {target.name}"
        ) from None


def _reader(pa: Any, files: list[File], kind: str) -> Any:
    """Return the rows of all files, with the columns that folders name."""
    parts = (_part(pa, file, kind) for file in files)
    schema, batches = next(parts)
    return pa.RecordBatchReader.from_batches(
        schema, chain(batches, chain.from_iterable(_alike(schema, *part) for part in parts))
    )


def _part(pa: Any, file: File, kind: str) -> tuple[Any, Iterator[Any]]:
    """Return the columns of a file and of its folders, and its rows."""
    path, data, folders = file
    source = pa.OSFile(os.fsencode(path)) if data is None else pa.BufferReader(data)
    schema, batches = _batches(pa, source, kind)
    for name, value in folders:
        if name not in schema.names:
            schema = schema.append(pa.field(name, pa.string()))
            batches = map(_with_column, batches, repeat(name), repeat(pa.scalar(value, pa.string())))
    return schema, batches


def _batches(pa: Any, source: Any, kind: str) -> tuple[Any, Iterator[Any]]:
    import pyarrow.parquet as pq

    if kind == "parquet":
        opened = pq.ParquetFile(source, page_checksum_verification=True)
        return opened.schema_arrow, opened.iter_batches()
    if source.read(6) == b"ARROW1":
        opened = pa.ipc.open_file(source)
        return opened.schema, map(opened.get_batch, range(opened.num_record_batches))
    source.seek(0)
    opened = pa.ipc.open_stream(source)
    return opened.schema, iter(opened)


def _with_column(batch: Any, name: str, value: Any) -> Any:
    import pyarrow as pa

    return batch.append_column(pa.field(name, pa.string()), pa.repeat(value, batch.num_rows))


def _alike(schema: Any, own: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """Return batches with the columns of the first file."""
    if sorted(own.names) != sorted(schema.names) or any(own.field(f.name).type != f.type for f in schema):
        raise SchemaError(
            "the files have different columns, or different types of a column, and make no table of rows; "
            "filter them apart"
        )
    return map(_ordered, batches, repeat(schema))


def _ordered(batch: Any, schema: Any) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([batch.column(name) for name in schema.names], schema=schema)


@contextmanager
def _writer(pa: Any, made: Path, schema: Any, kind: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    if kind == "parquet":
        new = pq.ParquetWriter
    else:
        new = pa.ipc.new_stream if made.suffix == ".arrows" else pa.ipc.new_file
    # By its bytes: a name may be no text.
    with pa.OSFile(os.fsencode(made), "wb") as sink, new(sink, schema) as writer:
        yield writer
