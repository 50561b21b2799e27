"""Rows and columns without a table library: records, columns by name, NumPy arrays, SciPy's sparse matrices.

Records become pairs. Columns and arrays become Arrow data where a library for that is installed, and pairs
otherwise, which gives the same release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from dpsel._arguments import type_name, with_article
from dpsel._core_calls import object_column
from dpsel._ingest._libraries import library_of
from dpsel.exceptions import DpselError, SchemaError
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from dpsel._request import NamedColumns

__all__ = ["Plain", "check_rows", "of_columns", "of_numpy", "of_records", "of_scipy"]

#: NumPy's kinds of types whose `tolist` gives keys: integers, bools, texts, bytes, objects.
_LISTED: Final = "iubUSO"
_INEXACT: Final = "fc"
#: As many names of columns are listed in an error, as for tables.
_SHOWN: Final = 20


@dataclass(frozen=True)
class Plain:
    """What the core reads: pairs, or an Arrow table of the named columns."""

    rows: Any
    is_table: bool
    has_named_columns: bool


def of_records(rows: Sequence[Any], columns: NamedColumns) -> Plain:
    """Return the pairs of rows that are mappings from names to values. They declare no fields."""
    return Plain(_pairs_of_records(rows, columns), is_table=False, has_named_columns=True)


def _pairs_of_records(rows: Iterable[Any], columns: NamedColumns) -> Iterator[tuple[Any, Any]]:
    unseen = dict.fromkeys(columns)
    for position, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise SchemaError(
                f"the row at position {position} is {with_article(row)}, but the first one maps names to "
                "values; give rows of one kind"
            )
        for name in [name for name in unseen if name in row]:
            del unseen[name]
        if without := next((name for name in columns.users if name in unseen), None):
            raise _without_field(f"the row at position {position} has no field", without)
        # As a field that is missing in a line of NDJSON: null.
        yield _one(map(row.get, columns.users)), _one(map(row.get, columns.items))
    if unseen:
        raise _without_field("no row has a field", next(iter(unseen)))


def _without_field(problem: str, name: str) -> SchemaError:
    # Not the names that are there: rows may be keyed by users or items.
    return SchemaError(f"{problem} named {quoted(name)}; name the fields of the rows with user= and item=")


def _one(parts: Iterable[Any]) -> Any:
    """Return the value of one column, or the tuple of several."""
    found = tuple(parts)
    return found[0] if len(found) == 1 else found


def of_columns(data: Mapping[Any, Any], columns: NamedColumns) -> Plain | None:
    """Return the rows of a mapping from names to columns; ``None`` if it lacks names that nobody wrote."""
    if any(name not in data for name in columns.named):
        raise _without_column(data, columns)
    if any(name not in data for name in columns):
        return None
    values = [data[name] for name in columns]
    for name, column in zip(columns, values, strict=True):
        if isinstance(column, str | bytes | AbstractSet | Mapping) or _size(column) is None:
            raise SchemaError(
                f"column '{name}' is {with_article(column)}; give a list or an array of its values"
            )
    return _rows(columns, values, named=True)


def _without_column(data: Mapping[Any, Any], columns: NamedColumns) -> SchemaError:
    """Return the refusal of a mapping without a named column.

    Its keys are shown only if another named column is one of them, and all values have one length. Then they
    are names of columns: nobody names a user as the column of users.
    """
    if all(name not in data for name in columns.named):
        return SchemaError(
            f"none of the named columns is a key of the {type_name(data)}; set user= and item= to its keys, "
            "or pass data.items() if it maps users to lists of items"
        )
    name = next(name for name in columns.named if name not in data)
    is_item = name in columns.items
    purpose = "to take items from; set item=" if is_item else "to tell users apart; set user="
    keys = f"columns: {_names(data)}" if _has_columns(data) else "keys"
    return SchemaError(f"the input has no column {quoted(name)} {purpose} to one of its {keys}")


def _has_columns(data: Mapping[Any, Any]) -> bool:
    """Whether a mapping looks like a table: from texts to values of one length."""
    sizes = {_size(each) for each in data.values()}
    texts = any(isinstance(each, str | bytes) for each in data.values())
    return len(sizes) == 1 and None not in sizes and not texts and all(isinstance(key, str) for key in data)


def _size(value: Any) -> int | None:
    try:
        return len(value)
    except TypeError:  # also of an array without dimensions
        return None


def _names(data: Mapping[Any, Any]) -> str:
    more = f", and {len(data) - _SHOWN} more" if len(data) > _SHOWN else ""
    return ", ".join(map(quoted, list(data)[:_SHOWN])) + more


def of_numpy(data: Any, columns: NamedColumns) -> Plain:
    """Return the rows of a structured array, or of a two-dimensional one: users, then items."""
    if data.dtype.names is not None:
        missing = next((name for name in columns if name not in data.dtype.names), None)
        if missing is not None:
            raise SchemaError(
                f"the array has no field named {quoted(missing)}; name its fields with user= and item="
            )
        return _rows(columns, [data[name].ravel() for name in columns], named=True)
    if data.ndim != 2 or data.shape[1] != len(columns):  # noqa: PLR2004 - a matrix
        raise SchemaError(
            f"a NumPy array must have one row for each pair and {len(columns)} columns, the user and then "
            "the item, or named fields; pass {'user': users, 'item': items} for arrays of their own"
        )
    return _rows(columns, [data[:, at] for at in range(len(columns))], named=False)


def of_scipy(data: Any, columns: NamedColumns) -> Plain:
    """Return the entries that are not zero of a matrix of users by items; both are numbered from zero."""
    if len(data.shape) != 2 or len(columns) != 2:  # noqa: PLR2004 - a matrix, a user and an item
        raise SchemaError("a sparse matrix has users as rows and items as columns; name at most one item=")
    entries = data.tocoo(copy=True)
    # A position may be there repeatedly, and is one entry: the sum.
    entries.sum_duplicates()
    stored = entries.data != 0
    return _rows(columns, [entries.row[stored], entries.col[stored]], named=False)


def _rows(columns: NamedColumns, values: list[Any], *, named: bool) -> Plain:
    for name, column in zip(columns, values, strict=True):
        if getattr(column, "ndim", 1) != 1:
            raise SchemaError(f"column '{name}' has several dimensions; give one value for each row")
    if all(map(_declares_type, values)) and find_spec("pyarrow"):
        return Plain(_Table(columns, values), is_table=True, has_named_columns=named)
    for name, column in zip(columns, values, strict=True):
        _check_listed(name, column)
    return Plain(_pairs_of_columns(columns, values), is_table=False, has_named_columns=named)


def _pairs_of_columns(columns: NamedColumns, values: list[Any]) -> Iterator[tuple[Any, Any]]:
    check_rows(columns, values)
    listed, split = list(map(_listed, values)), len(columns.users)
    yield from zip(_joined(listed[:split]), _joined(listed[split:]), strict=True)


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


def _joined(columns: list[Sequence[Any]]) -> Iterable[Any]:
    """Return the values of one column, or the tuples of several."""
    return columns[0] if len(columns) == 1 else zip(*columns, strict=True)


class _Table:
    """Columns that are converted when they are read: an error may depend on a row, so a budget pays first."""

    def __init__(self, columns: NamedColumns, values: list[Any]) -> None:
        self._columns, self._values = columns, values
        self.schema = _arrow(columns, [column[:0] for column in values]).schema

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the capsule of all columns.

        Raises:
            SchemaError: If a time is beyond its type.
        """
        check_rows(self._columns, self._values)
        return _arrow(self._columns, self._values).__arrow_c_stream__(requested_schema)


def _arrow(columns: NamedColumns, values: list[Any]) -> Any:
    import pyarrow as pa

    arrays = [_exact_array(pa, name, column) for name, column in zip(columns, values, strict=True)]
    return pa.table(dict(zip(columns, arrays, strict=True)))


def _exact_array(pa: Any, name: str, column: Any) -> Any:
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
    if library_of(column) == "pyarrow":
        return column
    is_numpy, kind = library_of(column) == "numpy", getattr(column.dtype, "kind", "O")
    if is_numpy and kind == "M":
        _refuse_inexact_times(name, column)
    if not is_numpy or kind not in "SU":
        return pa.array(column)
    # As Python values: pyarrow cuts texts and bytes of NumPy off at the first NUL.
    if len(column):
        return pa.array(object_column(column.tolist(), name, lists=False))
    return pa.array([], pa.large_binary() if kind == "S" else pa.large_string())


#: The days of the largest date that pyarrow makes of NumPy's days.
_LARGEST_DAY: Final = 2**31


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


def _declares_type(column: Any) -> bool:
    """Whether a column says what its values are: of pyarrow or NumPy, or of pandas without objects."""
    return library_of(column) == "pyarrow" or getattr(getattr(column, "dtype", None), "kind", "O") != "O"


def _has_kind(column: Any) -> bool:
    return hasattr(getattr(column, "dtype", None), "kind")


def _listed(column: Any) -> Sequence[Any]:
    if _has_kind(column):
        listed: list[Any] = column.tolist()
        return listed
    # As Python values: those of pyarrow and polars, and of a column of lists.
    of_library = getattr(column, "to_pylist", None) or getattr(column, "to_list", None)
    return list(column) if of_library is None else list(of_library())


def _check_listed(name: str, column: Any) -> None:
    """Refuse a column whose declared type has no Python values that are keys."""
    if not _has_kind(column):
        return
    if column.dtype.kind in _INEXACT:
        raise SchemaError(
            f"column '{name}' holds floating-point numbers, which have no exact equality; round them to "
            "integers, or format them as texts; where pandas made floats of integers because a value is "
            "missing, write astype('Int64')"
        )
    if column.dtype.kind not in _LISTED:
        raise SchemaError(
            f"column '{name}' is an array of a type that needs pyarrow; install it (pip install pyarrow), "
            "or give a list"
        )
