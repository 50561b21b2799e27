"""The one door: every kind of source becomes something that the core reads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpsel import _core
from dpsel._arguments import type_name
from dpsel._ingest import _frames
from dpsel._ingest._foreign import opened
from dpsel._ingest._libraries import library_of
from dpsel.exceptions import InvalidParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel._restored import Restored
    from dpsel.typing import FileFormat

__all__ = ["Opened", "is_read_once", "open_data"]


@dataclass(frozen=True)
class Opened:
    """Data that is ready to be read once: by which functions of the core, and what to return afterwards."""

    select: Callable[[_core.Job], _core.Release]
    count: Callable[[_core.Job], list[tuple[int, int]]]
    top_k: Callable[[_core.Job], _core.Release]
    returns: str
    check: Callable[[_core.Job], None]
    """Refuses, without a row, missing columns and files: a wrong name must cost no budget."""
    has_named_columns: bool = True
    restored: Restored | None = None


def open_data(data: object, *, columns: list[str], file_format: FileFormat | None) -> Opened:
    """Recognise ``data``; nothing is read yet.

    Args:
        data: Any source.
        columns: The needed columns, for projection; empty if they are not named.
        file_format: The format of files; refused for everything else.

    Raises:
        SchemaError: If it is nothing that can be read; the message has the fix.
        InvalidParameterError: If ``file_format`` does not apply.
        DataError: If a table's own library fails to open it.
    """
    paths = _as_paths(data)
    if paths is not None:
        quoted = _may_be_quoted(data)
        return Opened(
            lambda job: _core.select_files(paths, file_format, quoted, job),
            lambda job: _core.count_files(paths, file_format, quoted, job),
            lambda job: _core.top_k_files(paths, file_format, quoted, job),
            "table",
            lambda job: _core.check_files(paths, file_format, quoted, job),
        )
    if file_format is not None:
        raise InvalidParameterError(f"file_format applies to paths only, got {type_name(data)}; leave it out")
    return opened(lambda: _open_object(data, columns))


def _open_object(data: object, columns: list[str]) -> Opened:
    library = library_of(data)
    if library == "pyspark":
        # Before the Arrow protocol: from 4.2 on a Spark DataFrame has it, and would stream every partition
        # through the driver without a word.
        raise SchemaError(
            "a Spark DataFrame is selected from where it is; call dpsel.spark.select_partitions or "
            "dpsel.spark.select_top_k instead"
        )
    if (adapter := _frames.ADAPTERS.get(library)) and (adapted := adapter(data, columns)):
        return _open_frames(adapted) if adapted.in_batches else _open_stream(adapted)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _open_stream(_frames.Adapted(data, "table"))
    return _open_pairs(data)


def _open_frames(adapted: _frames.Adapted) -> Opened:
    frames: Any = adapted.source
    return Opened(
        lambda job: _core.select_batches(frames, job),
        lambda job: _core.count_batches(frames, job),
        lambda job: _core.top_k_batches(frames, job),
        adapted.returns,
        _names_check(adapted.names),
        restored=adapted.restored,
    )


def _open_stream(adapted: _frames.Adapted) -> Opened:
    stream, found = adapted.source, adapted.found
    return Opened(
        lambda job: _core.select_stream(stream, job, found),
        lambda job: _core.count_stream(stream, job, found),
        lambda job: _core.top_k_stream(stream, job, found),
        adapted.returns,
        _names_check(adapted.names),
        restored=adapted.restored,
    )


def _names_check(names: list[str] | None) -> Callable[[_core.Job], None]:
    """Return the check of a table with these columns; nothing is known of other producers before they run."""
    return lambda job: None if names is None else _core.check_names(names, job)


def _open_pairs(data: object) -> Opened:
    if isinstance(data, Mapping):
        raise SchemaError(
            f"a {type_name(data)} is not a table; pass data.items() if it maps users to lists of items, "
            "or make a DataFrame if it maps names to columns"
        )
    if isinstance(data, bytes | bytearray | memoryview) or not isinstance(data, Iterable):
        raise SchemaError(
            f"{type_name(data)} cannot be read; pass a DataFrame, an Arrow table, paths of files, "
            "or an iterable of (user, item) pairs"
        )
    return Opened(
        lambda job: _core.select_pairs(data, job),
        lambda job: _core.count_pairs(data, job),
        lambda job: _core.top_k_pairs(data, job),
        "list",
        _names_check(None),
        has_named_columns=False,
    )


def is_read_once(data: object) -> bool:
    """Whether ``data`` can be read once only: an iterator, a pipe, a device, the standard input."""
    return isinstance(data, Iterator) or any(_is_pipe(path) for path in _as_paths(data) or ())


def _is_pipe(path: str) -> bool:
    # As the core decides it in `files/input.rs`.
    descriptor = re.match(r"/dev/fd/|/dev/stdin$|/proc/", path)
    return path == "-" or descriptor is not None or (os.path.exists(path) and not os.path.isfile(path))  # noqa: PTH110, PTH113


def _as_paths(data: object) -> list[str] | None:
    if isinstance(data, str | os.PathLike):
        return [_as_path(data)]
    if isinstance(data, list | tuple) and data and all(isinstance(path, str | os.PathLike) for path in data):
        return [_as_path(path) for path in data]
    return None


def _may_be_quoted(data: object) -> bool:
    """Whether errors may quote the paths before they turn out to name files.

    A list of texts looks like a list of paths, and its elements are data. One path on its own, and what only
    a path can be, is what the caller wrote.
    """
    return isinstance(data, str | os.PathLike) or (
        isinstance(data, list | tuple) and all(isinstance(path, os.PathLike) for path in data)
    )


def _as_path(path: str | os.PathLike[Any]) -> str:
    text = os.fspath(path)
    if isinstance(text, bytes):
        raise SchemaError("a path of bytes cannot be read; pass os.fsdecode(path)")
    return os.path.expanduser(text)  # noqa: PTH111 - a pattern is not a Path
