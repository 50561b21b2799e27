"""A release read back from the files that it was written to."""

from __future__ import annotations

import csv
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import as_name_of_file
from dpsel.exceptions import FileError, MissingFileError, ReportError
from dpsel.outputs import endings, report_beside
from dpsel.quoting import quoted_path
from dpsel.release._lines import lines_of
from dpsel.release._report import Report
from dpsel.release._rest_row import MARK
from dpsel.release._wording import counted_column

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["loaded"]

_LEVEL: Final = "level"
_WEIGHT: Final = "weight"
_PUBLIC: Final = "public"


def loaded(
    items: str | os.PathLike[str], report: str | os.PathLike[str] | Report | None
) -> _core_calls.Release:
    """Return the items of a file with their report."""
    path = Path(as_name_of_file("path", items))
    if report is None:
        report = report_beside(path)
        if not os.path.exists(path):  # noqa: PTH110 - false for a name that is too long
            raise MissingFileError(f"cannot read {quoted_path(path)}: no such file")
        if not report.exists():
            raise MissingFileError(
                f"cannot read {quoted_path(report)}, the report of {quoted_path(path)}: no such file; "
                "a selection writes one only if it is asked to, and none can be made later; if it has "
                "another name, pass that as report="
            )
    found = report if isinstance(report, Report) else Report.load(report)
    request = found["request"]
    names: list[str] = list(request["columns"]["items"])
    weighted = bool(request.get("with_weights"))
    columns = _columns(path)
    if MARK in columns and MARK not in names:
        raise ReportError(
            f"{path} has the column {MARK}, of a row that is no key; pass the file that the release wrote"
        )
    numbers, listed = _numbers(found), bool(request.get("public_items"))
    is_tree = request["columns"].get("levels") is not None
    asked = (
        (_LEVEL, is_tree),
        (_WEIGHT, weighted),
        (numbers, numbers is not None),
        (_PUBLIC, listed),
    )
    beside = [name for name, is_there in asked if name and is_there]
    missing = [name for name in [*names, *beside] if name not in columns]
    if missing or not names:
        raise ReportError(
            f"the report names the column '{(missing or ['item'])[0]}', which {path} does not have; pass the "
            "report that was written with these items"
        )
    weights = (
        [math.nan if weight in ("", None) else float(weight) for weight in _listed(columns[_WEIGHT])]
        if weighted
        else None
    )
    made = {name: columns[name] for name in names}
    if is_tree:
        levels = _whole(_listed(columns[_LEVEL]), _LEVEL, path)
        made = {name: _down_to(levels, place, columns[name]) for place, name in enumerate(names)}
        made[_LEVEL] = levels
    if numbers:
        made[numbers] = _whole(_listed(columns[numbers]), numbers, path)
    if listed and isinstance(marks := columns.get(_PUBLIC, []), list):
        made[_PUBLIC] = [mark if isinstance(mark, bool) else mark == "true" for mark in marks]
    elif listed:
        made[_PUBLIC] = marks
    return _core_calls.release_of(made, weights, found.to_json())


def _numbers(report: Report) -> str | None:
    """Return the name of the column of noisy numbers, if there is one."""
    if report["task"] == "select":
        return counted_column(report["request"])
    return "count" if report["request"].get("counts") else None


def _whole(values: list[Any], name: str, path: Path) -> list[int]:
    try:
        return [int(value) for value in values]
    except (TypeError, ValueError):
        raise ReportError(
            f"the column '{name}' of {path} does not have a whole number in each row; pass the file as it "
            "was written"
        ) from None


def _down_to(levels: list[int], place: int, column: Any) -> Any:
    """Return an item column of a file of text, with nulls below each node; there a text may be empty."""
    if not isinstance(column, list):
        return column
    return [value if place < level else None for level, value in zip(levels, column, strict=True)]


def _listed(column: Any) -> list[Any]:
    return column if isinstance(column, list) else list(column.to_pylist())


def _columns(path: Path) -> dict[str, Any]:
    """Return the columns by name: lists of values, or arrays of pyarrow."""
    kind = endings(path)[0] if endings(path) else ""
    if kind == ".csv":
        rows = csv.reader(lines_of(path), strict=True)
        head = next(rows, [])
        return _turned(head, list(rows))
    if kind in {".ndjson", ".jsonl"}:
        records = [json.loads(line) for line in lines_of(path) if line.strip()]
        names = list(dict.fromkeys(name for record in records for name in record))
        return _turned(names, [[record.get(name) for name in names] for record in records])
    return _arrow(path, kind)


def _turned(names: list[str], rows: Iterable[list[Any]]) -> dict[str, Any]:
    columns: list[list[Any]] = [[] for _ in names]
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return dict(zip(names, columns, strict=True))


def _arrow(path: Path, kind: str) -> dict[str, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError(
            f"reading {quoted_path(path)} needs pyarrow; install it with pip, or write the items as .csv or "
            ".ndjson"
        ) from None
    try:
        if kind == ".parquet":
            table = pq.read_table(path)
        elif kind in {".arrow", ".feather", ".ipc"}:
            table = pa.ipc.open_file(path).read_all()
        elif kind == ".arrows":
            table = pa.ipc.open_stream(path).read_all()
        else:
            raise FileError(
                f"cannot read {quoted_path(path)}: its extension is none that a release is written with"
            )
    except FileNotFoundError as error:
        raise MissingFileError(f"cannot read {quoted_path(path)}: {error.strerror}") from None
    except (OSError, pa.ArrowInvalid) as error:
        raise FileError(f"cannot read {quoted_path(path)}: it is damaged, or no {kind} file") from error
    return {name: table[name].combine_chunks() for name in table.column_names}
