"""Rows without a table library whose item was released: pairs, records, columns by name."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, Final

from dpsel._arguments import with_article
from dpsel._filter._keys import NO_ITEM, RELEASED
from dpsel._ingest._columns import check_rows
from dpsel.exceptions import SchemaError
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dpsel._filter._keys import Keys

__all__ = ["of_columns", "of_pairs", "of_records"]

#: What is left of the items of a row that goes.
_NOTHING: Final = object()


def of_pairs(keys: Keys, data: Iterable[Any], labels: list[Any] | None) -> list[Any]:
    """Rows of ``(user, item)``; of ``(user, [items])`` the released items stay."""
    rows = list(data)
    # A row with names of fields may have them in any order.
    if any(type(row) not in (tuple, list) or len(row) != 2 for row in rows):  # noqa: PLR2004 - a pair
        raise SchemaError(
            "the rows must be plain tuples (user, item) or (user, [items]); pass rows with names of "
            "fields as dicts, and name item="
        )
    left = _left(keys, [items for _, items in rows], labels)
    return [(user, items) for (user, _), items in zip(rows, left, strict=True) if items is not _NOTHING]


def of_records(
    keys: Keys, rows: Sequence[Any], columns: list[str], labels: list[Any] | None
) -> list[dict[Any, Any]]:
    """Rows that map names to values, with all their fields."""
    for position, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise SchemaError(
                f"the row at position {position} is {with_article(row)}, but the first one maps names to "
                "values; give rows of one kind"
            )
    # As in a selection, a field that a row does not have is null.
    _check_names(columns, chain.from_iterable(rows))
    left = _left(keys, [_one([row.get(name) for name in columns]) for row in rows], labels)
    pairs = zip(rows, left, strict=True)
    return [{**row, **_fields(columns, items)} for row, items in pairs if items is not _NOTHING]


def of_columns(
    keys: Keys, data: Mapping[str, Any], columns: list[str], labels: list[Any] | None
) -> dict[str, list[Any]]:
    """Columns by name, of lists or arrays, as lists."""
    _check_names(columns, data)
    check_rows(data, list(data.values()))
    lists = {name: _listed(column) for name, column in data.items()}
    left = _left(keys, [_one(values) for values in zip(*map(lists.get, columns), strict=True)], labels)
    lists |= {name: [_fields(columns, items).get(name) for items in left] for name in columns}
    stays = [items is not _NOTHING for items in left]
    return {name: list(compress(column, stays)) for name, column in lists.items()}


def _listed(column: Any) -> list[Any]:
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _check_names(columns: list[str], names: Iterable[Any]) -> None:
    there = set(names)
    for name in columns:
        if name not in there:
            # Not the names that are there: rows may be keyed by users or items.
            raise SchemaError(
                f"the rows have no field named {quoted(name)}; name those that hold the released items with "
                "item="
            )


def _one(values: Iterable[Any]) -> Any:
    """Return the value of one column, or the tuple of several."""
    found = tuple(values)
    return found[0] if len(found) == 1 else found


def _fields(columns: list[str], items: Any) -> dict[str, Any]:
    """Return the fields of what is left of an item."""
    if len(columns) == 1:
        return {columns[0]: items}
    return dict(zip(columns, items, strict=True)) if isinstance(items, tuple) else {}


def _left(keys: Keys, values: list[Any], labels: list[Any] | None) -> list[Any]:
    """Return what is left of the item, or of the list of items, of each row."""
    label = None if labels is None else (labels[0] if len(labels) == 1 else tuple(labels))
    is_group = [isinstance(value, list | set | frozenset) for value in values]
    groups = [list(value) if group else [value] for value, group in zip(values, is_group, strict=True)]
    mask = iter(keys.mask_of_values(item for items in groups for item in items))
    left: list[Any] = []
    for items, group in zip(groups, is_group, strict=True):
        marks = [(item, next(mask)) for item in items]
        if label is None:
            stay = [item for item, mark in marks if mark == RELEASED]
        else:
            stay = [label if mark not in (RELEASED, NO_ITEM) else item for item, mark in marks]
        left.append((stay if group else stay[0]) if stay else _NOTHING)
    return left
