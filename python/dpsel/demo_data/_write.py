"""Rows to files: CSV and NDJSON by the standard library, Parquet by pyarrow when it is there."""

from __future__ import annotations

import csv
import json
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsel._arguments import as_name_of_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

EXTENSIONS = (".csv", ".ndjson", ".jsonl", ".parquet")
_ROWS_PER_GROUP = 1_000_000

Row = tuple[int, int | str]


def write(rows: Iterable[Row], path: str | Path) -> int:
    """Write ``(user, item)`` rows to ``path`` in the format of its extension; return the number of rows.

    Raises:
        ValueError: for another extension than those of ``EXTENSIONS``.
        ImportError: for Parquet without pyarrow.
    """
    path = Path(as_name_of_file("path", path))
    writer = _writer(path.suffix)
    counter = _Counter(rows)
    writer(counter, path)
    return counter.rows


class _Counter:
    """Passes rows on and counts them."""

    def __init__(self, source: Iterable[Row]) -> None:
        self._source = source
        self.rows = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._source:
            self.rows += 1
            yield row


def _writer(suffix: str) -> Callable[[Iterable[Row], Path], None]:
    match suffix:
        case ".csv":
            return _write_csv
        case ".ndjson" | ".jsonl":
            return _write_ndjson
        case ".parquet":
            return _write_parquet
    message = f"the extension must be one of {', '.join(EXTENSIONS)}, got {suffix or 'none'}"
    raise ValueError(message)


def _write_csv(rows: Iterable[Row], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("user", "item"))
        writer.writerows(rows)


def _write_ndjson(rows: Iterable[Row], path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for user, item in rows:
            file.write(json.dumps({"user": user, "item": item}) + "\n")


def _write_parquet(rows: Iterable[Row], path: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        message = "writing demo data as Parquet needs pyarrow (pip install pyarrow); or name a .csv file"
        raise ImportError(message) from error
    iterator = iter(rows)
    first = next(iterator)
    rows = chain([first], iterator)
    item_type = pa.int64() if isinstance(first[1], int) else pa.string()
    schema = pa.schema([("user", pa.int64()), ("item", item_type)])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while group := list(islice(rows, _ROWS_PER_GROUP)):
            columns: list[Any] = list(zip(*group, strict=True))
            writer.write_table(pa.table(columns, schema=schema))
