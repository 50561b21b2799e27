"""The row of all that a list does not have, beside its keys: post-processing of published numbers."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import is_unicode, type_name
from dpsel.exceptions import InvalidParameterError
from dpsel.item_table import ItemTable
from dpsel.release._counts import counts_of
from dpsel.release._rest import numbers_of_rest
from dpsel.release._tree import is_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dpsel.release._report import Report

__all__ = ["MARK", "with_rest_row"]

#: The column that tells the row of the rest from keys.
MARK: Final = "is_rest"


def with_rest_row(report: Report, table: ItemTable, label: str) -> ItemTable:
    """Return the keys with their numbers, and a last row with that of everything else."""
    number = counts_of(report)["count"]
    value = _number(report, number)
    items: list[str] = report["request"]["columns"]["items"]
    if MARK in items:
        raise InvalidParameterError(
            f"an item column is named {MARK}, as the column that marks the row of the rest; rename it"
        )
    # The row has no weight.
    kept = [name for name in table.columns if name != "weight"]
    columns = {name: table.column(name) for name in kept}
    # The row is like a node of the top of a tree.
    named = [name for name in (items[:1] if is_tree(report) else items) if _is_text(table, name)]
    _check_label(label, [columns[name] for name in named])
    row = {name: label if name in named else None for name in items} | {number: value}
    if "public" in kept:
        row["public"] = False
    return ItemTable(_core_calls.release_of(_longer(table, columns, row), None, table.core.report.text))


def _number(report: Report, number: str) -> int:
    """Return the number of users who hold an item outside of the list, or of the rows there."""
    rest = numbers_of_rest(report)
    if rest is None:
        raise InvalidParameterError(
            "the release has no numbers of the rest; a selection publishes them if it is asked to, with rest="
        )
    if number == "users":
        value = rest.users.some + rest.users.none
    elif rest.rows is not None:
        value = rest.rows.outside
    else:
        raise InvalidParameterError(
            "the numbers are rows, and rows of the rest were not counted; select with "
            "rest=dpsel.Rest(share, max_rows_per_user=...)"
        )
    return max(0, value) if counts_of(report)["nonnegative"] else value


def _check_label(label: object, texts: Sequence[Sequence[Any]]) -> None:
    if not isinstance(label, str):
        raise InvalidParameterError(f"label must be a text, got {type_name(label)}; give a str")
    if not label or not is_unicode(label):
        raise InvalidParameterError("label must be a text of Unicode that is not empty; give another one")
    if any(all(part == label for part in key) for key in zip(*texts, strict=True)):
        raise InvalidParameterError(
            "a released key is the label of the row of the rest; give it another one with label="
        )


def _is_text(table: ItemTable, name: str) -> bool:
    if not find_spec("pyarrow"):
        return all(isinstance(key, str | None) for key in table.column(name))
    import pyarrow.types as pt

    kind = table.to_arrow()[name].type
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def _longer(table: ItemTable, columns: Mapping[str, Sequence[Any]], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns with one row more, and the column that marks it."""
    marks = [*[False] * len(table), True]
    if not find_spec("pyarrow"):
        # The columns have the types of Python's values.
        return {name: [*values, row.get(name)] for name, values in columns.items()} | {MARK: marks}
    import pyarrow as pa

    arrow = table.to_arrow()
    longer = {
        name: pa.concat_arrays([*arrow[name].chunks, pa.array([row.get(name)], arrow[name].type)])
        for name in columns
    }
    return longer | {MARK: pa.array(marks)}
