"""Columns of a mapping or an array, each of its own library, as one table of Arrow.

What a column declares is checked before a budget pays. Its values are converted when they are read. A column
without a declared type is read value by value, as pairs are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dpsel._arguments import with_article
from dpsel._core_calls import object_column
from dpsel._ingest._declared import check_pandas, check_polars
from dpsel._ingest._frames import polars_column
from dpsel._ingest._libraries import library_of
from dpsel.exceptions import DpselError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from dpsel._request import NamedColumns

__all__ = ["ArrowColumns", "check_column", "check_rows", "declares_type", "listed_values"]

#: The codes of floating-point numbers: of NumPy's kinds, and of the formats of buffers.
_INEXACT: Final = tuple("fcdeg")
#: The days of the largest date that pyarrow makes of NumPy's days.
_LARGEST_DAY: Final = 2**31


def declares_type(column: Any) -> bool:
    """Whether a column says what its values are; objects do not."""
    library = library_of(column)
    if library in ("pyarrow", "polars"):
        return True
    dtype = getattr(column, "dtype", None)
    if library == "pandas" and dtype is not None:
        categories = getattr(dtype, "categories", None)
        return str(getattr(categories, "dtype", dtype)) != "object"
    return getattr(dtype, "kind", "O") != "O"


def check_column(name: str, column: Any, users: Collection[str]) -> None:
    """Refuse a column whose declared type has no exact form here, or that nobody here knows."""
    library = library_of(column)
    if library == "polars":
        check_polars({name: column.dtype}, [name], users)
    elif library == "pandas" and hasattr(column, "dtype"):
        check_pandas({name: column.dtype}, [name])
    elif not library and hasattr(column, "dtype"):
        raise SchemaError(
            f"column '{name}' is {with_article(column)}, an array that is not read here; convert it, for "
            "example with numpy.asarray"
        )
    if _is_inexact(column):
        raise SchemaError(
            f"column '{name}' holds floating-point numbers, which have no exact equality; round them to "
            "integers, or format them as texts; where pandas made floats of integers because a value is "
            "missing, write astype('Int64')"
        )


def _is_inexact(column: Any) -> bool:
    code = getattr(getattr(column, "dtype", None), "kind", None)
    # An array of the standard library, or a view of memory.
    code = code or getattr(column, "typecode", None) or getattr(column, "format", None)
    return isinstance(code, str) and code.endswith(_INEXACT)


def listed_values(column: Any) -> Sequence[Any]:
    """Return the Python values of a column: also of pyarrow and polars, and of a column of lists."""
    of_library = (getattr(column, name, None) for name in ("tolist", "to_pylist", "to_list"))
    make = next((method for method in of_library if method is not None), None)
    return list(column) if make is None else list(make())


def check_rows(names: Iterable[Any], values: list[Any]) -> None:
    """Refuse columns whose values do not stand beside each other."""
    if len({len(column) for column in values}) > 1:
        raise SchemaError("the columns have different lengths; give one value for each row in all of them")
    # Series of pandas are numbered by their indexes, and not by their places.
    labelled = [
        (name, column)
        for name, column in zip(names, values, strict=True)
        if library_of(column) == "pandas" and hasattr(column, "index")
    ]
    for name, column in labelled[1:]:
        if not column.index.equals(labelled[0][1].index):
            raise SchemaError(
                f"column '{name}' has another pandas index than column '{labelled[0][0]}', so its values "
                "belong to other rows; pass a DataFrame, which pairs them by index, or reset_index(drop=True)"
            )


class ArrowColumns:
    """Columns that are converted when they are read: an error may depend on a row, so a budget pays first.

    Args:
        columns: The names, of the users and then of the items.
        values: The columns.
    """

    def __init__(self, columns: NamedColumns, values: list[Any]) -> None:
        """Convert the types alone."""
        self._columns, self._values = columns, values
        self.found = [name for name, each in zip(columns, values, strict=True) if not declares_type(each)]
        # A single item column may hold collections of items.
        self._lists = columns.items if len(columns.items) == 1 else []
        self.schema = self._table(is_empty=True).schema

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the capsule of all columns.

        Raises:
            SchemaError: If a value cannot be a key, or has no form in Arrow.
        """
        check_rows(self._columns, self._values)
        return self._table(is_empty=False).__arrow_c_stream__(requested_schema)

    def _table(self, *, is_empty: bool) -> Any:
        import pyarrow as pa

        def made(name: str, column: Any) -> Any:
            if name not in self.found:
                return _declared(pa, name, column[:0] if is_empty else column)
            # Texts stand in, which no column refuses.
            values = [] if is_empty else listed_values(column)
            lists = name in self._lists
            return pa.array([], pa.string()) if is_empty else _objects(pa, name, values, lists=lists)

        return pa.table({n: made(n, each) for n, each in zip(self._columns, self._values, strict=True)})


def _objects(pa: Any, name: str, values: Sequence[Any], *, lists: bool = False) -> Any:
    return pa.array(object_column(values, name, lists=lists, of_pandas=False))


def _declared(pa: Any, name: str, column: Any) -> Any:
    try:
        return _array(pa, name, column)
    except DpselError:
        raise
    except Exception:  # noqa: BLE001, S110 - whatever it is, its words may quote a value
        pass
    # Raised behind the handler, which would chain the exception of the conversion to it.
    raise SchemaError(
        f"column '{name}' has a type or a value that pyarrow does not convert; give integers, texts or dates"
    )


def _array(pa: Any, name: str, column: Any) -> Any:
    """Return a column as pyarrow has it. Arrays of pyarrow stay what they are."""
    library = library_of(column)
    if library == "pyarrow":
        return column
    if library == "polars":
        return pa.table(polars_column(name, column)).column(0)
    if library == "pandas":
        import pandas as pd

        frame = pd.DataFrame({name: pd.Series(column).array})
        return pa.Table.from_pandas(frame, preserve_index=False).column(0)
    return _of_numpy(pa, name, column)


def _of_numpy(pa: Any, name: str, column: Any) -> Any:
    if column.dtype.kind == "M":
        _refuse_inexact_times(name, column)
    if column.dtype.kind not in "SU":
        return pa.array(column if column.dtype.isnative else column.astype(column.dtype.newbyteorder("=")))
    # As Python values: pyarrow cuts texts and bytes of NumPy off at the first NUL.
    if len(column):
        return _objects(pa, name, column.tolist())
    return pa.array([], pa.large_binary() if column.dtype.kind == "S" else pa.large_string())


def _refuse_inexact_times(name: str, column: Any) -> None:
    """Refuse times that pyarrow would make others of, because it leaves a part of their unit out."""
    unit = str(column.dtype).partition("[")[2].rstrip("]")
    if unit not in ("D", "s", "ms", "us", "ns"):
        raise SchemaError(
            f"column '{name}' has times of {column.dtype}; convert them to days, seconds or a part of one, "
            "such as astype('datetime64[s]')"
        )
    # What is no time is not equal to itself.
    days: Any = column[column == column].astype("int64") if unit == "D" else ()  # noqa: PLR0124
    if len(days) and not -_LARGEST_DAY <= days.min() <= days.max() < _LARGEST_DAY:
        raise SchemaError(f"column '{name}' has dates beyond 32 bits of days; leave them out")
