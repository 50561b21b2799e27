"""Declared types whose Arrow form is not their value, where that form does not say so.

The core checks every Arrow schema against its table of kinds. It cannot see what a library leaves out of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dpsel.exceptions import SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = ["check_duckdb", "check_pandas", "check_polars"]

#: DuckDB exports bits as bytes of its own, and wraps the upper half of the numbers around to negative ones.
_DUCKDB: Final = ("bit", "uhugeint")
#: The libraries whose types of pandas columns have Arrow types that declare what they are.
_PANDAS: Final = ("pandas", "numpy")


def _refused(name: str, what: str, fix: str) -> SchemaError:
    return SchemaError(f"column '{name}' has {what}; {fix}")


def check_polars(schema: Mapping[str, Any], columns: Iterable[str], users: Collection[str]) -> None:
    """Refuse columns of Python objects, of which polars exports the addresses, and users without a type."""
    import polars as pl

    for name in columns:
        dtype = schema.get(name)
        if isinstance(dtype, pl.Null) and name in users:
            raise _refused(
                name, "the polars dtype Null, so no row has a user", "give it the type of its users"
            )
        while isinstance(dtype, pl.List | pl.Array):
            dtype = dtype.inner
        if isinstance(dtype, pl.Object) or dtype is pl.Object:
            raise _refused(
                name,
                "the polars dtype Object, which is exported as the addresses of Python objects",
                f"convert it, for example with pl.col('{name}').map_elements(str, return_dtype=pl.String)",
            )


def check_duckdb(relation: Any, columns: Iterable[str]) -> None:
    """Refuse columns that DuckDB exports as other values than theirs."""
    types = dict(zip(relation.columns, getattr(relation, "types", ()), strict=False))
    for name in columns:
        kind = types.get(name)
        while kind is not None and kind.id in ("list", "array"):
            kind = dict(kind.children)["child"]
        if kind is not None and kind.id in _DUCKDB:
            raise _refused(
                name,
                f"DuckDB's type {kind}, whose values are others in Arrow",
                "cast it to VARCHAR in the query",
            )


def check_pandas(dtypes: Mapping[str, Any], columns: Iterable[str]) -> None:
    """Refuse columns of a type that another library defines, which says nothing about its form in Arrow."""
    for name in columns:
        dtype = dtypes.get(name)
        library = type(dtype).__module__.partition(".")[0]
        if dtype is not None and library not in _PANDAS:
            raise _refused(
                name,
                f"the type '{type(dtype).__name__}', which is none of pandas",
                "convert it, for example with astype('string')",
            )
