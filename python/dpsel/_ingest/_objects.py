"""Columns of pandas, which are converted when they are read: an error may depend on a row.

Values of columns of Python objects are read one by one, like pairs. Such a column declares no type. A
conversion that infers one from all rows would let a single row decide what type every released value has, or
whether there is an error that quotes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel import _core_calls
from dpsel._ingest._libraries import library_of
from dpsel.exceptions import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpsel._request import NamedColumns

__all__ = ["Exported"]


class Exported:
    """A DataFrame as a table of Arrow, which is made when it is read.

    Args:
        data: The DataFrame, whose index is no part of it.
        columns: The user columns, and then the item columns.
    """

    def __init__(self, data: Any, columns: NamedColumns) -> None:
        """Convert nothing yet."""
        self._data, self.found = data, _found_in(data, columns)
        # A single item column may hold collections of items. A user, or a part of an item, is one value.
        is_single = len(columns.items) == 1 and not set(columns.items) & set(columns.users)
        self._lists = columns.items if is_single else []

    def declared(self) -> Any:
        """Return the table without rows. Objects declare no type; texts stand in, which no column refuses.

        Raises:
            SchemaError: If the type of a column has no form in Arrow.
        """
        empty = self._data.head(0)
        # Categories are values, and dropped with the rows.
        dropped = {name: empty[name].cat.remove_unused_categories() for name in _categories_of(empty)}
        return _table(empty.assign(**dropped), self.found, [])

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the capsule of all columns.

        Raises:
            SchemaError: If a value has no form in Arrow, or cannot be a key.
        """
        return _table(self._data, self.found, self._lists).__arrow_c_stream__(requested_schema)


def _found_in(data: Any, columns: Iterable[str]) -> list[str]:
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


def _categories_of(data: Any) -> list[str]:
    return [name for name, dtype in data.dtypes.items() if hasattr(dtype, "categories")]


def _table(data: Any, found: list[str], lists: list[str]) -> Any:
    """Return a table of Arrow; the columns that are found are of objects."""
    try:
        import pyarrow as pa
    except ImportError:
        raise SchemaError("tables of pandas are read with pyarrow; pip install pyarrow") from None

    def column(name: Any) -> Any:
        if name not in found:
            return _declared(pa, data, name)
        if data.empty:
            return pa.array([], pa.string())
        return _objects(pa, data[name], lists=name in lists)

    return pa.table({str(name): column(name) for name in data.columns})


def _declared(pa: Any, data: Any, name: Any) -> Any:
    """Return a column of a declared type."""
    frame = data[[name]]
    dtype = frame.dtypes.iloc[0]
    try:
        if library_of(dtype) == "numpy" and not dtype.isnative:
            frame = frame.astype(dtype.newbyteorder("="))
        return pa.Table.from_pandas(frame, preserve_index=False).column(0)
    except Exception:  # noqa: BLE001, S110 - whatever it is, its words quote a value
        pass
    # Raised behind the handler, which would chain the exception of the conversion to it.
    raise SchemaError(
        f"column '{name}' has a type or a value that pandas cannot export to Arrow, such as a text with half "
        "of a surrogate pair; give it one plain type, such as with astype('string'), and replace such texts"
    )


def _objects(pa: Any, column: Any, *, lists: bool) -> Any:
    if hasattr(column, "cat"):
        codes, values = column.cat.codes.to_numpy(), column.cat.categories.to_numpy()
        categories = pa.array(_core_calls.object_column(values, str(column.name), lists=False))
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), categories)
    return pa.array(_core_calls.object_column(column.to_numpy(), str(column.name), lists=lists))
