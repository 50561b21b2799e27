"""Adapters: only the needed columns of each library's tables, so that other columns never matter.

A column that is missing is left for the core to report, so that the message has one home: then nothing is
projected. Nor is it if there are no other columns, because in most libraries it takes longer than a tiny job.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from dpsel._ingest import _objects
from dpsel.exceptions import DpselError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["ADAPTERS", "Adapted"]


@dataclass(frozen=True)
class Adapted:
    """What the core reads, and the kind of table to return."""

    source: Any
    returns: str
    in_batches: bool = False
    found: list[str] = field(default_factory=list)
    """Columns without a declared type."""


class _Capsule:
    """A stream that was already exported."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the capsule; it can be read once."""
        return self._capsule


def _narrows(columns: list[str], names: Iterable[object]) -> bool:
    """Whether a table with these names has all of ``columns``, and others to leave behind."""
    there = list(names)
    return 0 < len(columns) < len(there) and set(columns) <= set(there)


def _polars(data: Any, columns: list[str]) -> Adapted | None:
    kind = type(data).__name__
    if kind == "LazyFrame":
        return Adapted(_polars_batches(data, columns), "polars", in_batches=True)
    if kind == "Series" and not hasattr(data, "columns"):
        raise SchemaError("a polars Series has no user column; pass a DataFrame with both columns")
    if not hasattr(data, "__arrow_c_stream__"):
        raise SchemaError("this polars object exports no Arrow stream; pass a DataFrame, or update polars")
    # Not `select`, which runs a query: on a tiny table that takes longer than the job.
    return Adapted(data[columns] if _narrows(columns, data.columns) else data, "polars")


def _polars_batches(lazy: Any, columns: list[str]) -> Iterable[Any]:
    schema = lazy.collect_schema()
    if _narrows(columns, schema.names()):
        lazy = lazy.select(columns)
        schema = lazy.collect_schema()
    if not hasattr(lazy, "collect_batches"):
        raise SchemaError(
            "this version of polars cannot stream a LazyFrame; pass data.collect(), or update polars"
        )
    # The empty frame first: a query without rows yields no batch, and then the types would be unknown.
    return chain([schema.to_frame()], lazy.collect_batches(maintain_order=False, engine="streaming"))


def _pandas(data: Any, columns: list[str]) -> Adapted | None:
    if not hasattr(data, "columns"):
        raise SchemaError("a pandas Series or Index has no user column; pass a DataFrame with both columns")
    if not hasattr(data, "__arrow_c_stream__"):
        raise SchemaError(
            "this version of pandas exports no Arrow stream; update to pandas 2.2, "
            "or pass pyarrow.Table.from_pandas(data)"
        )
    if _narrows(columns, data.columns):
        data = data[columns]
    found = _objects.found_in(data, columns)
    try:
        stream = _objects.as_arrow(data, columns, found) if found else _Capsule(data.__arrow_c_stream__())
        return Adapted(stream, "pandas", found=found)
    except DpselError:
        raise
    except (TypeError, ValueError):
        # The exception of the conversion quotes a value, so it is not chained.
        raise SchemaError(
            "pandas cannot export these columns to Arrow, most often because a column mixes types; "
            "give each column one type, for example with astype('string')"
        ) from None


def _pyarrow(data: Any, columns: list[str]) -> Adapted | None:
    if hasattr(data, "scanner"):
        names = columns if _narrows(columns, data.schema.names) else None
        return Adapted(data.scanner(columns=names).to_reader(), "pyarrow")
    if hasattr(data, "to_reader") and hasattr(data, "projected_schema"):
        return Adapted(data.to_reader(), "pyarrow")
    if not hasattr(data, "schema"):
        raise SchemaError(
            "a pyarrow Array or ChunkedArray has no user column; pass a Table with both columns"
        )
    if hasattr(data, "select") and _narrows(columns, data.schema.names):
        data = data.select(columns)
    return Adapted(data, "pyarrow")


def _duckdb(data: Any, columns: list[str]) -> Adapted | None:
    if not hasattr(data, "columns"):
        raise SchemaError("a DuckDB connection or statement is not a table; pass con.sql('select ...')")
    if _narrows(columns, data.columns):
        data = data.project(", ".join(_quoted(name) for name in columns))
    return Adapted(_duckdb_stream(data), "pyarrow" if find_spec("pyarrow") else "table")


def _duckdb_stream(relation: Any) -> Any:
    if hasattr(relation, "__arrow_c_stream__"):
        return relation
    for name in ("to_arrow_reader", "fetch_record_batch"):
        if hasattr(relation, name):
            return getattr(relation, name)()
    raise SchemaError("this version of DuckDB exports no Arrow stream; update DuckDB, or pass data.arrow()")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


ADAPTERS: Final[dict[str, Callable[[Any, list[str]], Adapted | None]]] = {
    "polars": _polars,
    "pandas": _pandas,
    "pyarrow": _pyarrow,
    "duckdb": _duckdb,
}
