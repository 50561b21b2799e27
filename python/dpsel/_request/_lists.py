"""Public lists of a selection: items that are left out, and items that come out in any case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpsel._arguments import elements, type_name, without_missing
from dpsel.exceptions import InvalidParameterError
from dpsel.item_table import ItemTable

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NO_LISTS", "PublicLists", "listed", "public_lists"]

#: As in the core.
_MOST_LEVELS = 32


@dataclass(frozen=True, slots=True)
class PublicLists:
    """The lists of a call.

    Args:
        exclude: Items that are removed before bounding, or ``None``.
        public_items: Items that are removed before bounding and come out in any case, or ``None``.
    """

    exclude: list[Any] | None = None
    public_items: list[Any] | None = None

    def stamps(self) -> dict[str, Any]:
        """Return what the request says of the lists: their lengths, and hashes of their items."""
        given = {"exclude": self.exclude, "public_items": self.public_items}
        return {name: _stamp(items) for name, items in given.items() if items is not None}


NO_LISTS = PublicLists()


def public_lists(
    exclude: Iterable[Any] | None, public_items: Iterable[Any] | None, *, levels: object = None
) -> PublicLists:
    """Check both lists: each item once, and none in both. A node of a tree ends with nulls."""
    excluded = listed("exclude", exclude, are_nodes=levels is True)
    public = listed("public_items", public_items, are_nodes=levels is True)
    if isinstance(levels, str) and levels:
        _check_paths("public_items", public or (), levels)
    if excluded and public and not {*map(_key, excluded)}.isdisjoint(map(_key, public)):
        raise InvalidParameterError(
            "exclude and public_items must have no item in common, and they have one; leave it out of one"
        )
    return PublicLists(excluded, public)


def _check_paths(name: str, items: Iterable[Any], separator: str) -> None:
    """Refuse paths that are no nodes: the core takes these for rows of the data."""
    for parts in (item.split(separator) for item in items if isinstance(item, str)):
        if not all(parts):
            raise InvalidParameterError(
                f"{name} must have paths without empty parts, whose nodes would have no name, and one has "
                "such a part; write the separator of levels= once between two parts"
            )
        if len(parts) > _MOST_LEVELS:
            raise InvalidParameterError(
                f"{name} must have paths of at most {_MOST_LEVELS} levels, and one has {len(parts)}; cut it "
                "off"
            )


def listed(name: str, items: Iterable[Any] | None, *, are_nodes: bool = False) -> list[Any] | None:
    """Check a list of public items: each once."""
    if items is None:
        return None
    # As a list, a table would be its columns, or their names.
    is_table = any(hasattr(type(items), part) for part in ("columns", "column_names"))
    if is_table and not isinstance(items, ItemTable):
        raise InvalidParameterError(
            f"{name} must be a list of items, got {type_name(items)}; give the values of its column as a list"
        )
    if isinstance(items, str | bytes) or not hasattr(items, "__iter__"):
        raise InvalidParameterError(
            f"{name} must be a list of items, got {type_name(items)}; give a list with an entry for each item"
        )
    found = elements(name, items)
    without_missing(name, [_down_to_null(item) for item in found] if are_nodes else found)
    try:
        return list({_key(item): item for item in found}.values())
    except (TypeError, ValueError):  # an array of several numbers, for example
        raise InvalidParameterError(
            f"{name} must have items that can be looked up, got a list or the like as one; "
            "give an item of several columns as a tuple"
        ) from None


def _down_to_null(item: Any) -> Any:
    """Return a node without the nulls at its end; the whole item if nothing else is in it."""
    if not isinstance(item, tuple):
        return item
    named = next((at for at in range(len(item), 0, -1) if item[at - 1] is not None), len(item))
    return item[:named]


def _key(item: Any) -> Any:
    """Return an item with its type: in Python True equals 1. Values of NumPy are those of Python."""
    if type(item).__module__ == "numpy" and hasattr(item, "item"):
        item = item.item()
    return tuple(map(_key, item)) if isinstance(item, tuple) else (type(item).__name__, item)


def _stamp(items: list[Any]) -> dict[str, Any]:
    import hashlib

    lines = "\n".join(sorted(repr(_key(item)) for item in items))
    return {"items": len(items), "sha256": hashlib.sha256(lines.encode()).hexdigest()}
