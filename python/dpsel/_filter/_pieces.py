"""Rows of Arrow columns of every type: pieces are joined where pyarrow has no other function."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["labelled", "plain_type", "rows_where"]


def rows_where(table: Any, mask: Any) -> Any:
    """Return the rows of a pyarrow table for which the mask is true."""
    import pyarrow as pa

    def by_column() -> Any:
        columns = [_column_where(pa, column, mask) for column in table.columns]
        return pa.Table.from_arrays(columns, schema=table.schema)

    return _where_arrow_can(lambda: table.filter(mask), by_column)


def _where_arrow_can(whole: Callable[[], Any], pieces: Callable[[], Any]) -> Any:
    """Return what pyarrow makes of a whole column, or of its pieces if it has no function for the type."""
    import pyarrow as pa

    try:
        return whole()
    except pa.ArrowNotImplementedError:
        return pieces()


def _column_where(pa: Any, column: Any, mask: Any) -> Any:
    stays = mask.fill_null(fill_value=False)
    return _where_arrow_can(lambda: column.filter(mask), lambda: _joined(pa, column, stays, None))


def plain_type(kind: Any) -> Any:
    """Return the type of the values of a column: without a dictionary, runs or a logical type."""
    import pyarrow.types as pt

    if pt.is_dictionary(kind) or pt.is_run_end_encoded(kind):
        return kind.value_type
    return getattr(kind, "storage_type", kind)


def labelled(column: Any, mask: Any, label: Any) -> Any:
    """Return a column of the same type with a label where the mask is false.

    Args:
        column: The column.
        mask: Which rows stay; those that are null do, too.
        label: A scalar of the plain type of the column.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt

    stays, kind = mask.fill_null(fill_value=True), column.type
    if pt.is_dictionary(kind):
        return pc.if_else(stays, column.cast(kind.value_type), label).dictionary_encode().cast(kind)
    if pt.is_run_end_encoded(kind):
        values = labelled(pc.run_end_decode(column), mask, label)
        return pc.run_end_encode(values, run_end_type=kind.run_end_type)
    if hasattr(kind, "storage_type"):
        storage = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        values = labelled(storage, mask, label)
        chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
        return pa.chunked_array([pa.ExtensionArray.from_storage(kind, chunk) for chunk in chunks], kind)
    return _where_arrow_can(
        lambda: pc.if_else(stays, column, label), lambda: _joined(pa, column, stays, label.as_py())
    )


def _joined(pa: Any, column: Any, mask: Any, label: Any) -> Any:
    """Return the runs of rows that stay, with a label in place of the others if there is one."""
    if not len(column):
        return column
    whole, at, pieces = column.combine_chunks(), 0, []
    for stays, run in groupby(mask.to_pylist()):
        rows = sum(1 for _ in run)
        if stays:
            pieces.append(whole.slice(at, rows))
        elif label is not None:
            pieces.append(pa.array([label] * rows, column.type))
        at += rows
    return pa.concat_arrays(pieces) if pieces else whole.slice(0, 0)
