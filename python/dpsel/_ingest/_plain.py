"""Rows and columns without a table library: records, columns by name, NumPy arrays, SciPy's sparse matrices.

Records become pairs. Columns and arrays become Arrow data if one of them declares its type and pyarrow is
installed, and pairs otherwise, which gives the same release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from dpsel._arguments import type_name, with_article
from dpsel._ingest._columns import ArrowColumns, check_column, check_rows, declares_type, listed_values
from dpsel.exceptions import SchemaError
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel._request import NamedColumns

__all__ = ["Plain", "of_columns", "of_iterator", "of_numpy", "of_records", "of_scipy"]

#: NumPy's kinds of types whose `tolist` gives keys: integers, bools, texts, bytes, objects.
_LISTED: Final = "iubUSO"
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


def of_iterator(rows: Iterable[Any], columns: NamedColumns) -> Iterator[Any]:
    """Return pairs as they are, and the pairs of mappings if the first row is one."""
    rest = iter(rows)
    first = list(islice(rest, 1))
    pairs: Iterable[Any] = chain(first, rest)
    yield from _pairs_of_records(pairs, columns) if isinstance(next(iter(first), None), Mapping) else pairs


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
    # Made of them when they are read: it takes time and memory, and may fail.
    return Plain(_pairs_of_columns(columns, lambda: _entries(data)), is_table=False, has_named_columns=False)


def _entries(data: Any) -> list[Any]:
    entries = data.tocoo(copy=True)
    # A position may be there repeatedly, and is one entry: the sum.
    entries.sum_duplicates()
    stored = entries.data != 0
    return [entries.row[stored], entries.col[stored]]


def _rows(columns: NamedColumns, values: list[Any], *, named: bool) -> Plain:
    for name, column in zip(columns, values, strict=True):
        if getattr(column, "ndim", 1) != 1:
            raise SchemaError(f"column '{name}' has several dimensions; give one value for each row")
    for name, column in zip(columns, values, strict=True):
        check_column(name, column, columns.users)
    if any(map(declares_type, values)) and find_spec("pyarrow"):
        return Plain(ArrowColumns(columns, values), is_table=True, has_named_columns=named)
    for name, column in zip(columns, values, strict=True):
        _check_listed(name, column)
    return Plain(_pairs_of_columns(columns, lambda: values), is_table=False, has_named_columns=named)


def _pairs_of_columns(columns: NamedColumns, make: Callable[[], list[Any]]) -> Iterator[tuple[Any, Any]]:
    values = make()
    check_rows(columns, values)
    listed, split = list(map(listed_values, values)), len(columns.users)
    yield from zip(_joined(listed[:split]), _joined(listed[split:]), strict=True)


def _joined(columns: list[Sequence[Any]]) -> Iterable[Any]:
    """Return the values of one column, or the tuples of several."""
    return columns[0] if len(columns) == 1 else zip(*columns, strict=True)


def _check_listed(name: str, column: Any) -> None:
    """Refuse a column whose declared type has no Python values that are keys."""
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if isinstance(kind, str) and kind not in _LISTED:
        raise SchemaError(
            f"column '{name}' is an array of a type that needs pyarrow; install it (pip install pyarrow), "
            "or give a list"
        )
