"""The rows of Parquet and Arrow files whose item was released, batch by batch, with pyarrow."""

from __future__ import annotations

import os
from contextlib import contextmanager
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dpsel._filter._rows import filtered
from dpsel.exceptions import FileError, MissingFileError, SchemaError
from dpsel.quoting import quoted, quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dpsel._filter._keys import Keys

__all__ = ["write_arrow"]

#: A file: its path, its bytes if it was a pipe, and the columns that its folders tell.
File: TypeAlias = "tuple[os.PathLike[str], bytes | None, list[tuple[str, str | None]]]"
#: The unit of INT96, which nanoseconds of 64 bits do not hold.
_MICROSECONDS: Final = "us"


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
    except FileError:
        raise
    except FileNotFoundError as error:
        raise MissingFileError(f"cannot read {quoted_path(error.filename)}: {error.strerror}") from None
    except (OSError, pa.ArrowInvalid):
        raise FileError(
            f"cannot filter {os.fspath(files[0][0])}: it, or a file beside it, is damaged, or cannot be "
            f"written as {target.name}"
        ) from None


def _reader(pa: Any, files: list[File], kind: str) -> Any:
    """Return the rows of all files, with the columns that folders name."""
    schema = _common(pa, [_part(pa, file, kind)[0] for file in files])
    parts = (_part(pa, file, kind) for file in files)
    return pa.RecordBatchReader.from_batches(
        schema, chain.from_iterable(_alike(schema, *part) for part in parts)
    )


def _common(pa: Any, schemas: list[Any]) -> Any:
    """Return the columns of all files, with the widest type of integers and of texts."""
    if any(sorted(schema.names) != sorted(schemas[0].names) for schema in schemas):
        raise _different()
    if all(schema.equals(schemas[0]) for schema in schemas):
        return schemas[0]
    try:
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise _different() from None
    # Others than these could change a value.
    exact = (pa.types.is_integer, pa.types.is_large_string, pa.types.is_large_binary)
    for field in schema:
        is_same = all(other.field(field.name).type == field.type for other in schemas)
        if not is_same and not any(check(field.type) for check in exact):
            raise _different()
    return schema


def _part(pa: Any, file: File, kind: str) -> tuple[Any, Iterator[Any]]:
    """Return the columns of a file and of its folders, and its rows."""
    path, data, folders = file
    source = pa.OSFile(os.fsencode(path)) if data is None else pa.BufferReader(data)
    schema, batches = _batches(pa, source, kind)
    batches = _whole(pa, os.fsdecode(path), iter(batches))
    for name, value in folders:
        if name not in schema.names:
            schema = schema.append(pa.field(name, pa.string()))
            batches = map(_with_column, batches, repeat(name), repeat(pa.scalar(value, pa.string())))
    return schema, batches


def _whole(pa: Any, file: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Return the batches of a file; words of the decoder may quote it."""
    while True:
        try:
            batch = next(batches, None)
            damage = None
        except (OSError, pa.ArrowException) as error:
            damage = "does not have its checksum" if "CRC" in str(error) else "cannot be decoded"
        if damage:
            raise FileError(
                f"cannot filter {file}: a page of it {damage}; the file was damaged, or is of a form that "
                "pyarrow does not read, so write it again from its source"
            )
        if batch is None:
            return
        yield batch
        del batch


def _batches(pa: Any, source: Any, kind: str) -> tuple[Any, Iterator[Any]]:
    import pyarrow.parquet as pq

    if kind == "parquet":
        opened = pq.ParquetFile(
            source, page_checksum_verification=True, coerce_int96_timestamp_unit=_MICROSECONDS
        )
        instants = _of_int96(opened.schema)
        if not instants:
            return opened.schema_arrow, opened.iter_batches()
        fine = pq.ParquetFile(source, page_checksum_verification=True)
        return opened.schema_arrow, map(
            _exact, opened.iter_batches(), fine.iter_batches(columns=instants), repeat(instants)
        )
    if source.read(6) == b"ARROW1":
        opened = pa.ipc.open_file(source)
        return opened.schema, map(opened.get_batch, range(opened.num_record_batches))
    source.seek(0)
    opened = pa.ipc.open_stream(source)
    return opened.schema, iter(opened)


def _of_int96(schema: Any) -> list[str]:
    """Return the columns of type INT96, which pyarrow reads in one unit."""
    leaves = (schema.column(at) for at in range(len(schema)))
    found = [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]
    if any(path not in schema.names or "." in path for path in found):
        raise SchemaError(
            "a nested column has times of type INT96, which a filter would alter; leave it out, or write the "
            "file again with another type"
        )
    return found


def _exact(batch: Any, fine: Any, instants: list[str]) -> Any:
    """Return a batch if its times are exact: ``fine`` has their nanoseconds modulo 64 bits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in instants:
        whole = batch.column(name).cast(pa.int64())
        rest = pc.subtract(fine.column(name).cast(pa.int64()), pc.multiply(whole, 1000))
        if batch.schema.field(name).type.unit == _MICROSECONDS and pc.any(pc.not_equal(rest, 0)).as_py():
            raise SchemaError(
                f"column {quoted(name)} has times of type INT96 finer than a microsecond, which a filter "
                "would round; write the file again with nanoseconds of 64 bits"
            )
    return batch


def _with_column(batch: Any, name: str, value: Any) -> Any:
    import pyarrow as pa

    return batch.append_column(pa.field(name, pa.string()), pa.repeat(value, batch.num_rows))


def _alike(schema: Any, own: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """Return batches with the columns of the first file."""
    if sorted(own.names) != sorted(schema.names):
        raise _different()
    return map(_ordered, batches, repeat(schema))


def _as(column: Any, kind: Any) -> Any:
    return column if column.type.equals(kind) else column.cast(kind)


def _different() -> SchemaError:
    return SchemaError(
        "the files have different columns, or different types of a column, and make no table of rows; "
        "filter them apart"
    )


def _ordered(batch: Any, schema: Any) -> Any:
    import pyarrow as pa

    columns = [_as(batch.column(field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


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
