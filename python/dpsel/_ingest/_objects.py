"""Columns of Python objects in pandas: their values are read one by one, like pairs.

Such a column declares no type. A conversion that infers one from all rows would let a single row decide what
type every released value has, or whether there is an error that quotes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel import _core_calls
from dpsel._ingest._foreign import opened

if TYPE_CHECKING:
    from dpsel._request import NamedColumns

__all__ = ["as_arrow", "found_in"]


def found_in(data: Any, columns: list[str]) -> list[str]:
    """Return the needed columns whose dtype, or the dtype of their categories, is ``object``.

    None of them, if a column is missing or there are several of one name: the core has the message.
    """
    names = list(data.columns)
    if any(names.count(name) != 1 for name in columns):
        return []
    return [name for name in dict.fromkeys(columns) if _is_object(data[name].dtype)]


def _is_object(dtype: Any) -> bool:
    categories = getattr(dtype, "categories", None)
    return str(dtype if categories is None else categories.dtype) == "object"


def as_arrow(data: Any, columns: NamedColumns, found: list[str]) -> Any:
    """Return a stream of the needed columns: the users and the items.

    Declared types are converted now. Objects are inspected when the stream is read, because an error may
    depend on a row, and a budget pays first.

    Args:
        data: A DataFrame with each of the columns once.
        columns: The user columns, and then the item columns.
        found: The columns whose values have to be inspected.
    """
    import pyarrow as pa

    table = pa.Table.from_pandas(
        data[[name for name in dict.fromkeys(columns) if name not in found]], preserve_index=False
    )
    # A single item column may hold collections of items; a user is one value, and so is a part of an item.
    lists = columns.items if len(columns.items) == 1 and not set(columns.items) & set(columns.users) else []
    return _Objects(table, {name: data[name] for name in found}, lists)


class _Objects:
    """A table whose columns of objects are converted when it is read."""

    def __init__(self, table: Any, columns: dict[str, Any], lists: list[str]) -> None:
        self._table, self._columns, self._lists = table, columns, lists

    def declared(self) -> Any:
        """Return the table without rows. Objects declare no type; texts stand in, which no column refuses."""
        import pyarrow as pa

        texts = dict.fromkeys(self._columns, pa.array([], pa.string()))
        return pa.table(dict(zip(self._table.column_names, self._table.slice(0, 0), strict=True)) | texts)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the capsule of all columns.

        Raises:
            SchemaError: If a value cannot be a key.
        """
        # Below `opened` no frame is left in an error: their variables show values.
        return opened(lambda: self._table_of_all().__arrow_c_stream__(requested_schema))

    def _table_of_all(self) -> Any:
        import pyarrow as pa

        arrays = {name: self._table.column(name) for name in self._table.column_names}
        arrays |= {
            name: _array(pa, column, lists=name in self._lists) for name, column in self._columns.items()
        }
        return pa.table(arrays)


def _array(pa: Any, column: Any, *, lists: bool) -> Any:
    if hasattr(column, "cat"):
        codes, values = column.cat.codes.to_numpy(), column.cat.categories.to_numpy()
        categories = pa.array(_core_calls.object_column(values, str(column.name), lists=False))
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), categories)
    return pa.array(_core_calls.object_column(column.to_numpy(), str(column.name), lists=lists))
