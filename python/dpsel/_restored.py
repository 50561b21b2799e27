"""Types of columns that a release restores in the library of the input.

The categories are the released items, sorted or in the order of the release. The categories of the input are
not used: they, their order and their codes may come from rows that were not released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ENUM", "Restored"]

ENUM: Final = "enum"
"""Stands for a polars Enum, which is made anew."""


@dataclass(frozen=True)
class Restored:
    """The declared types of some columns. It is pickled with a release and holds no category of the input."""

    library: str
    columns: tuple[tuple[str, Any], ...]

    def __call__(self, table: Any) -> Any:
        """Return the released table with these types."""
        return _BY_LIBRARY[self.library](table, self.columns) if self.columns else table


def _polars(table: Any, columns: tuple[tuple[str, Any], ...]) -> Any:
    import polars as pl

    types = {
        name: pl.Enum(table[name].drop_nulls().unique().sort()) if declared == ENUM else declared
        for name, declared in columns
        # Items of a public list that nobody holds have values all the same.
        if declared != pl.Null or table[name].null_count() == table.height
    }
    return table.cast(types)


def _pandas(table: Any, columns: tuple[tuple[str, Any], ...]) -> Any:
    return table.astype(dict(columns))


def _pyarrow(table: Any, columns: tuple[tuple[str, Any], ...]) -> Any:
    import pyarrow as pa

    for name, index in columns:
        encoded = table[name].combine_chunks().dictionary_encode()
        width = index if _fits(index, len(encoded.dictionary)) else encoded.indices.type
        column = pa.DictionaryArray.from_arrays(encoded.indices.cast(width), encoded.dictionary)
        table = table.set_column(table.schema.get_field_index(name), pa.field(name, column.type), column)
    return table


def _fits(index: Any, categories: int) -> bool:
    """Whether an index type, narrow if the input had several dictionaries, can number the released items."""
    bits = index.bit_width - (0 if str(index).startswith("u") else 1)
    return bool(categories <= 1 << bits)


_BY_LIBRARY: Final[dict[str, Callable[[Any, tuple[tuple[str, Any], ...]], Any]]] = {
    "polars": _polars,
    "pandas": _pandas,
    "pyarrow": _pyarrow,
}
