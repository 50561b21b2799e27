"""A release of nodes as an indented tree: which nodes are shown, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel._tables import Display, cell
from dpsel.release._wording import counted_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Node", "is_tree", "largest_nodes", "tree_display"]

#: The nodes that are shown of a release; the others are counted.
_SHOWN: Final = 20
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Node:
    """A node that is shown: its place in the release, and what it is called below those above it."""

    place: int
    depth: int
    label: str


def is_tree(report: Mapping[str, Any]) -> bool:
    """Whether the items of a release are nodes."""
    return (report["request"].get("columns") or {}).get("levels") is not None


def tree_display(
    above: Sequence[str], report: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]
) -> Display:
    """Return lines and the tree for people; where there are numbers, the nodes of the largest."""
    request = report["request"]
    items: list[str] = request["columns"]["items"]
    nodes = largest_nodes(request, columns, _SHOWN)
    beside = [name for name in columns if name not in (*items, "level")]
    rows = [
        [_INDENT * node.depth + node.label, *(cell(columns[name][node.place]) for name in beside)]
        for node in nodes
    ]
    total = len(columns["level"])
    more = [f"and {total - len(rows):,} more nodes"] if total > len(rows) else []
    return Display(above, [" / ".join(items), *beside], rows, more)


def largest_nodes(request: Mapping[str, Any], columns: Mapping[str, Sequence[Any]], most: int) -> list[Node]:
    """Return nodes in the order of the tree, each with all that stand above it.

    Those of the largest numbers are taken, or the highest ones if there are none. Siblings are sorted alike,
    and without numbers by their keys, as the release is.

    Args:
        request: That of the release.
        columns: Of the release.
        most: How many nodes.
    """
    keys = _keys(request, columns)
    numbers = columns.get(counted_column(request) or "")
    ranked = sorted(range(len(keys)), key=lambda at: len(keys[at]) if numbers is None else -numbers[at])
    places = {key: place for place, key in enumerate(keys)}
    chosen: set[int] = set()
    for place in ranked:
        if len(chosen) == most:
            break
        for each in (*_above(keys[place], places), place):
            # The highest come first, so what is above a chosen one is chosen.
            if len(chosen) < most:
                chosen.add(each)
    below: dict[int | None, list[int]] = {}
    for place in (each for each in ranked if each in chosen):
        below.setdefault(next(reversed(_above(keys[place], places)), None), []).append(place)
    return [
        Node(place, depth, _label(keys[place], depth, request)) for place, depth in _in_order(below, None, 0)
    ]


def _keys(request: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return the parts of each node, from the top of the tree down."""
    items, tree = (request["columns"][name] for name in ("items", "levels"))
    if isinstance(tree, dict):
        return [tuple(path.split(tree["separator"])) for path in columns[items[0]]]
    values = zip(*(columns[name] for name in items), strict=True)
    return [parts[: int(level)] for parts, level in zip(values, columns["level"], strict=True)]


def _above(key: tuple[Any, ...], places: Mapping[tuple[Any, ...], int]) -> list[int]:
    """Return the places of the nodes above one, the highest first."""
    return [places[key[:level]] for level in range(1, len(key)) if key[:level] in places]


def _in_order(
    below: Mapping[int | None, list[int]], top: int | None, depth: int
) -> Iterator[tuple[int, int]]:
    """Yield the places of the nodes below one, each with its depth."""
    for place in below.get(top, ()):
        yield place, depth
        yield from _in_order(below, place, depth + 1)


def _label(key: tuple[Any, ...], depth: int, request: Mapping[str, Any]) -> str:
    """Return the part of a node that those above it do not show."""
    tree = request["columns"]["levels"]
    separator = tree["separator"] if isinstance(tree, dict) else " / "
    text = cell(separator.join(map(str, key[depth:])))
    # A space at the start would make it a child of another node.
    return text if text and text == text.strip() else f'"{text}"'
