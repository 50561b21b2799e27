"""Nodes of a tree: closed lists, and Steered with lines of descent."""

from __future__ import annotations

from collections import defaultdict

from . import prf, steered


def node(item):
    """An item with its type, as the other modules have it."""
    return type(item), item


def above(item, separator: str = "/") -> list:
    """The nodes above a typed item: a tuple of values, or a path of parts."""
    kind, value = item
    if kind is tuple:
        return [node(value[:levels]) for levels in range(1, len(value))]
    parts = value.split(separator)
    return [node(separator.join(parts[:levels])) for levels in range(1, len(parts))]


def sets_of(rows, separator: str = "/") -> dict:
    """The nodes of each user: those of its rows, and all above them."""
    sets = defaultdict(set)
    for user, item in rows:
        sets[node(user)] |= {node(item), *above(node(item), separator)}
    return sets


def bound(sets: dict, max_items: int, key: bytes, separator: str = "/") -> dict:
    """Each user takes its lowest nodes by priority, each behind those above it, up to the limit."""
    kept = {}
    for user, items in sets.items():
        inner = {other for item in items for other in above(item, separator)}
        lowest = sorted(items - inner, key=lambda item: prf.bound_priority(key, user[1], item[1]))
        order = [each for item in lowest for each in [*above(item, separator), item]]
        kept[user] = list(dict.fromkeys(order))[:max_items]
    return kept


def select(rows, rounds: list[steered.ScoredRound], max_items: int, key: bytes, separator: str = "/") -> set:
    """The released nodes, with all nodes above them."""
    kept = bound(sets_of(rows, separator), max_items, key, separator)
    found = steered.select(kept, rounds, key, above=lambda item: above(item, separator))
    return {each[1] for item in found for each in [node(item), *above(node(item), separator)]}
