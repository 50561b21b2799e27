"""The shapes that dpsel accepts, as protocols: no library has to be installed to be understood.

Examples:
    >>> from dpsel.typing import ArrowStreamExportable
    >>> isinstance([("ada", "tea")], ArrowStreamExportable)
    False
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

__all__ = [
    "ArrowArrayExportable",
    "ArrowStreamExportable",
    "FileFormat",
    "IntoContributions",
    "Neighbours",
    "Pair",
    "Progress",
]


@runtime_checkable
class ArrowStreamExportable(Protocol):
    """Anything with the Arrow stream method.

    Polars, pandas (from 2.2) and PySpark (from 4.2) DataFrames, pyarrow Tables, RecordBatchReaders, DuckDB
    relations, and the results of this package have it.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a PyCapsule with an Arrow C stream."""
        ...


@runtime_checkable
class ArrowArrayExportable(Protocol):
    """Anything with the Arrow array method, such as one pyarrow RecordBatch."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Return PyCapsules with an Arrow C schema and array."""
        ...


Pair: TypeAlias = tuple[Any, Any]
"""``(user, item)`` or ``(user, [items])``."""

FileFormat: TypeAlias = Literal["parquet", "csv", "ndjson", "ipc"]
"""The formats of files that are read."""

Neighbours: TypeAlias = Literal["add_remove", "swap"]
"""The tables that must be hard to tell apart: with and without one user, or with one in place of another."""

Progress: TypeAlias = Callable[[int, int], object]
"""Called with (work done, total work); a total of 0 means that it is not known."""

IntoContributions: TypeAlias = (
    ArrowStreamExportable
    | ArrowArrayExportable
    | str
    | PathLike[str]
    | Sequence[str]
    | Sequence[PathLike[str]]
    | Iterable[Pair]
)
"""Everything that ``select_partitions`` takes as data. Polars LazyFrames are understood, too."""
