"""The Arrow methods of tables, as protocols. ``dpsel.typing`` has them for users."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

__all__ = ["ArrowArrayExportable", "ArrowStreamExportable"]


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
