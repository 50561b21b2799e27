"""The largest released keys, in all or of each group: post-processing of published numbers."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import at_least_one
from dpsel._request import columns_of
from dpsel.exceptions import InvalidParameterError
from dpsel.item_table import ItemTable
from dpsel.quoting import quoted
from dpsel.release._counts import counts_of
from dpsel.release._tree import is_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpsel.release._report import Report

__all__ = ["places_of_top", "taken"]

_LEVEL: Final = "level"
_WEIGHT: Final = "weight"


def places_of_top(
    report: Report, read: Callable[[], ItemTable], k: int, by: str | Sequence[str] | None, level: int | None
) -> list[int]:
    """Return the places of the ``k`` largest keys of each group, group after group, the largest first.

    Of a tree, ``level`` takes the nodes of one level alone.
    """
    most, grouping = at_least_one("k", k), [] if by is None else columns_of(None, by).items
    if report["task"] != "select":
        raise InvalidParameterError(
            "the release is a top-k already, and its keys are all that it picked; select keys with their "
            "numbers, select_partitions(..., counts=0.2), for the largest of each group"
        )
    number = counts_of(report)["count"]
    items: list[str] = report["request"]["columns"]["items"]
    if missing := [name for name in grouping if name not in items]:
        raise InvalidParameterError(
            f"by= must name item columns of the release, and {quoted(missing[0])} is none of "
            f"{', '.join(map(quoted, items))}; name some of these, or leave by= out"
        )
    only = None if level is None else _checked_level(report, level)
    table = read()
    columns = dict(zip(table.columns, table.core.to_columns(), strict=True))
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place in range(len(table)):
        if only is not None and columns[_LEVEL][place] != only:
            continue
        groups.setdefault(tuple(columns[name][place] for name in grouping), []).append(place)
    numbers = columns[number]
    # The table is sorted by its keys, and a sort keeps the order of equals.
    return [
        place
        for group in sorted(groups, key=_order)
        for place in sorted(groups[group], key=lambda place: -numbers[place])[:most]
    ]


def _checked_level(report: Report, level: int) -> int:
    """Return a level of the tree; refuse one that no node can have."""
    if not is_tree(report):
        raise InvalidParameterError(
            "level= takes nodes of one level of a tree, but these items are no nodes; leave it out, or "
            "select nodes with levels="
        )
    columns = report["request"]["columns"]
    most = None if isinstance(columns["levels"], dict) else len(columns["items"])
    if at_least_one("level", level) > (most or level):
        raise InvalidParameterError(f"level must be at most {most}, the levels of the tree, got {level}")
    return level


def _order(group: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    """Return what groups are sorted by; a missing value comes last."""
    return [(value is None, value) for value in group]


def taken(items: Any, returns: str, places: list[int]) -> Any:
    """Return the rows of released items, of any kind of table, at these places."""
    if places:
        return _TAKEN[returns](items, places)
    # Each kind has a slice, which keeps the types of columns without a row.
    if returns != "table":
        return items[:0]
    return _of_table(items, []) if len(items) else items


def _of_table(table: ItemTable, places: list[int]) -> ItemTable:
    report = table.core.report.text
    if find_spec("pyarrow"):
        import pyarrow as pa

        arrow = table.to_arrow().take(pa.array(places, pa.int64())).combine_chunks()
        arrays = {name: arrow[name].combine_chunks() for name in table.columns}
        return ItemTable(_core_calls.release_of(arrays, None, report), is_ranked=True)
    # Without pyarrow the columns have the types of Python's values.
    columns = {name: [table.column(name)[place] for place in places] for name in table.columns}
    return ItemTable(_core_calls.release_of(columns, columns.pop(_WEIGHT, None), report), is_ranked=True)


_TAKEN: Final[dict[str, Callable[[Any, list[int]], Any]]] = {
    "polars": lambda items, places: items[places],
    "pandas": lambda items, places: items.iloc[places].reset_index(drop=True),
    "pyarrow": lambda items, places: items.take(places),
    "list": lambda items, places: [items[place] for place in places],
    "table": _of_table,
}
