"""The rows of a file whose item was released, written to another file of the same format.

Text formats are read and written line by line with the standard library. Rows of NDJSON stay as they are
written. Parquet and Arrow need pyarrow, and go batch by batch.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import tempfile
from contextlib import closing, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from dpsel._arguments import type_name
from dpsel._filter._keys import NO_ITEM, RELEASED
from dpsel._filter._labels import labels_of
from dpsel._filter._rows import filtered
from dpsel._ingest._foreign import opened
from dpsel.exceptions import DataError, FileError, InvalidParameterError, MissingFileError, SchemaError
from dpsel.formats import Csv
from dpsel.quoting import quoted_path

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from dpsel._filter._keys import Keys
    from dpsel.typing import FileFormat

__all__ = ["filter_file", "lines_of"]

_ROWS: Final = 1 << 15
"""Rows at a time."""

_TEXT: Final = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".ndjson": "ndjson", ".jsonl": "ndjson"}
_ARROW: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".arrows": "stream",
}

#: As much as fits into a C long everywhere.
_LONGEST_FIELD: Final = (1 << 31) - 1
_DELIMITERS: Final = {"csv": ",", "tsv": "\t"}
_FORMATS: Final = ("parquet", "csv", "tsv", "ndjson", "ipc")
_PACKED: Final = (".gz", ".zst")

T = TypeVar("T")


class _Form(NamedTuple):
    """How a file is written."""

    kind: str
    delimiter: str = ","
    header: bool = True


def filter_file(
    keys: Keys,
    paths: tuple[str, str],
    columns: list[str],
    other: str | None,
    file_format: FileFormat | None = None,
) -> None:
    """Write the rows of a file whose item is one of ``keys`` to another file, complete or not at all."""
    source, target = (Path(path).expanduser() for path in paths)
    form = _form(source, target, file_format)
    if os.path.realpath(source) == os.path.realpath(target):
        raise FileError(f"cannot write {quoted_path(target)}: it is the file that is read; name another one")
    labels = labels_of(keys, other, columns)
    if form.kind in _DELIMITERS or form.kind == "ndjson":
        _check_written(labels, form.kind)
    else:
        _check_pyarrow(source)
    # What codecs and parsers raise holds rows.
    opened(lambda: _write(keys, (source, target), (columns, labels), form))


def _write(
    keys: Keys, paths: tuple[Path, Path], wanted: tuple[list[str], list[Any] | None], form: _Form
) -> None:
    source, target = paths
    try:
        with _aside(target) as made:
            if form.kind in _DELIMITERS:
                _csv(keys, source, made, wanted, form)
            elif form.kind == "ndjson":
                _ndjson(keys, source, made, wanted)
            else:
                _arrow(keys, source, made, wanted, form.kind)
    except FileError:
        raise
    except UnicodeEncodeError:
        raise DataError(f"{source} has text that is not valid Unicode; replace lone surrogates") from None
    except OSError as error:
        raise FileError(
            f"cannot write {quoted_path(target)}: {error.strerror or 'the disk failed'}"
        ) from None


def _check_written(labels: list[Any] | None, kind: str) -> None:
    """Refuse a label that a text format would write as something else."""
    for label in labels or []:
        if kind in _DELIMITERS and (not isinstance(label, str) or not label):
            raise InvalidParameterError(
                "other must be a text of at least one character in a file of this format, where an empty "
                f"field is a missing one, got {type_name(label)}; choose another text"
            )
        if kind == "ndjson" and type(label) not in (str, int, bool):
            raise InvalidParameterError(
                f"other must be a text, an integer or a boolean of JSON, got {type_name(label)}; choose such "
                "a value"
            )


def _check_pyarrow(source: Path) -> None:
    try:
        import pyarrow as pa  # noqa: F401 - whether it is there
    except ImportError:
        raise ImportError(f"filtering {source} needs pyarrow; install it with pip") from None


def _form(source: Path, target: Path, given: FileFormat | None) -> _Form:
    """Return the form of both files: as given, or as their names tell."""
    if isinstance(given, Csv):
        by_name = Path(source.stem).suffix if source.suffix in _PACKED else source.suffix
        kind = _TEXT.get(by_name.lower(), "csv")
        return _Form("csv", given.delimiter or _DELIMITERS.get(kind, ","), given.header)
    if given is None:
        kind = _format(source)
        if _format(target) != kind:
            raise FileError(
                f"cannot write {quoted_path(target)}: rows stay in the format of {source}; "
                "give both the same extension"
            )
    elif given in _FORMATS:
        kind = given
    else:
        raise InvalidParameterError(
            f"file_format must be one of {', '.join(_FORMATS)}, or Csv(...); give one of these"
        )
    return _Form(kind, _DELIMITERS.get(kind, ","))


def _format(path: Path) -> str:
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    known = _TEXT if path.suffix == ".gz" else _TEXT | _ARROW
    if suffix.lower() not in known:
        raise FileError(
            f"{quoted_path(path)} has no extension that rows can be filtered in; use one of "
            f"{', '.join(_TEXT | _ARROW)}, or .gz after those of text"
        )
    return known[suffix.lower()]


@contextmanager
def _aside(target: Path) -> Iterator[Path]:
    """Give a path beside the target, and rename it in the end; after an error nothing is left."""
    try:
        folder = tempfile.TemporaryDirectory(prefix=f".{target.stem}.", dir=target.parent)
    except OSError as error:
        raise FileError(f"cannot write {quoted_path(target)}: {error.strerror}") from None
    with folder as name:
        made = Path(name) / target.name
        yield made
        try:
            made.replace(target)
        except OSError as error:
            raise FileError(f"cannot write {quoted_path(target)}: {error.strerror}") from None


def lines_of(path: Path) -> Generator[str]:
    """Yield the lines of a text file, with their ends.

    Raises:
        FileError: If it cannot be read.
        DataError: If it is not UTF-8.
    """
    try:
        with _opened(path, "rt") as file:
            yield from file
    except FileNotFoundError as error:
        raise MissingFileError(f"cannot read {quoted_path(path)}: {error.strerror}") from None
    except FileError:
        raise
    except (OSError, EOFError) as error:
        raise FileError(
            f"cannot read {quoted_path(path)}: {getattr(error, 'strerror', None) or 'it is damaged'}"
        ) from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8 text; convert it first") from None


def _opened(path: Path, mode: str) -> IO[str]:
    encoding = "utf-8-sig" if mode == "rt" else "utf-8"
    if path.suffix == ".gz":
        binary: Any = gzip.GzipFile(path, mode[0])
        return io.TextIOWrapper(binary, encoding=encoding, newline="")
    if path.suffix == ".zst":
        raise FileError(f"cannot read {path}: unpack it first, for example with zstd -d")
    return path.open(mode, encoding=encoding, newline="")


def _chunks(rows: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(rows)
    while chunk := list(islice(rest, _ROWS)):
        yield chunk


def _items(rows: list[list[Any]]) -> Iterator[Any]:
    return (row[0] if len(row) == 1 else tuple(row) for row in rows)


def _csv(
    keys: Keys, source: Path, target: Path, wanted: tuple[list[str], list[Any] | None], form: _Form
) -> None:
    _allow_long_fields()
    with closing(lines_of(source)) as lines:
        reader = csv.reader(lines, strict=True, delimiter=form.delimiter)
        try:
            _csv_rows(keys, reader, (source, target), wanted, form)
        except csv.Error:
            raise DataError(
                f"{source} is damaged in line {reader.line_num}: a quote is never closed, or the like"
            ) from None


def _csv_rows(
    keys: Keys,
    reader: Iterator[list[str]],
    paths: tuple[Path, Path],
    wanted: tuple[list[str], list[Any] | None],
    form: _Form,
) -> None:
    (source, target), (columns, labels) = paths, wanted
    head, rows = _head(reader, form)
    places = [_place(head, name, source) for name in columns]
    with _opened(target, "wt") as file:
        writer = csv.writer(file, lineterminator="\n", delimiter=form.delimiter)
        if form.header:
            writer.writerow(head)
        for chunk in _chunks(row for row in rows if row):
            if any(len(row) != len(head) for row in chunk):
                raise DataError(f"{source} has a row with more or fewer fields than its first one")
            mask = keys.mask_of_values(_items([[row[at] or None for at in places] for row in chunk]))
            for row, mark in zip(chunk, mask, strict=True):
                if labels is not None and mark not in (RELEASED, NO_ITEM):
                    for at, label in zip(places, labels, strict=True):
                        row[at] = label
                if mark == RELEASED or labels is not None:
                    writer.writerow(row)


def _head(reader: Iterator[list[str]], form: _Form) -> tuple[list[str], Iterator[list[str]]]:
    """Return the names of the columns, and the rows. Without a header line names are numbers."""
    first = next(reader, [])
    if form.header:
        return first, reader
    return [f"column_{number}" for number in range(1, len(first) + 1)], chain([first], reader)


def _allow_long_fields() -> None:
    """Raise the limit of the standard library, which is one for the process, to what a selection reads."""
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))


def _place(head: list[str], name: str, source: Path) -> int:
    if head.count(name) != 1:
        raise SchemaError(
            f"{source} has {'no column' if name not in head else 'several columns'} named '{name}'; name the "
            "columns that hold the released items with item="
        )
    return head.index(name)


def _ndjson(keys: Keys, source: Path, target: Path, wanted: tuple[list[str], list[Any] | None]) -> None:
    columns, labels = wanted
    done = 0
    with closing(lines_of(source)) as lines, _opened(target, "wt") as file:
        for chunk in _chunks(line for line in lines if line.strip()):
            records = [_record(line, source, done + number) for number, line in enumerate(chunk, 1)]
            done += len(chunk)
            mask = keys.mask_of_values(_items([[record.get(name) for name in columns] for record in records]))
            for line, record, mark in zip(chunk, records, mask, strict=True):
                if labels is not None and mark not in (RELEASED, NO_ITEM):
                    changed = record | dict(zip(columns, labels, strict=True))
                    file.write(json.dumps(changed, ensure_ascii=False) + "\n")
                elif mark == RELEASED or labels is not None:
                    file.write(line if line.endswith("\n") else line + "\n")


def _record(line: str, source: Path, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if isinstance(record, dict):
        return record
    raise DataError(f"{source} has no JSON object in record {number}; write one for each line")


def _arrow(keys: Keys, source: Path, target: Path, wanted: tuple[list[str], Any], kind: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns, labels = wanted
    try:
        if kind == "parquet":
            file = pq.ParquetFile(source)
            reader = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
        elif kind == "ipc":
            opened = pa.ipc.open_file(source)
            batches = (opened.get_batch(at) for at in range(opened.num_record_batches))
            reader = pa.RecordBatchReader.from_batches(opened.schema, batches)
        else:
            reader = pa.ipc.open_stream(source)
        rows = filtered(keys, reader, columns, None if labels is None else tuple(labels), named=True)
        writer: Any
        if kind == "parquet":
            writer = pq.ParquetWriter(target, rows.schema)
        else:
            writer = (pa.ipc.new_file if kind == "ipc" else pa.ipc.new_stream)(str(target), rows.schema)
        with writer:
            for batch in rows:
                writer.write_batch(batch)
    except FileNotFoundError as error:
        raise MissingFileError(f"cannot read {quoted_path(source)}: {error.strerror}") from None
    except (OSError, pa.ArrowInvalid):
        raise FileError(
            f"cannot filter {source}: it is damaged, or cannot be written as {target.name}"
        ) from None
