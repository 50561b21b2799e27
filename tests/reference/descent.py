"""Items that stand above others: closed lists, and Steered with lines of descent."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from . import prf, steered


def node(item):
    """An item with its type, as the other modules have it."""
    return type(item), item


@dataclass(frozen=True)
class Tree:
    """The nodes of a tree: tuples of values, or paths of parts."""

    separator: str = "/"

    def level(self, item) -> int:
        """How many parts a typed item has."""
        kind, value = item
        return len(value) if kind is tuple else 1 + value.count(self.separator)

    def above(self, item) -> list:
        """The nodes above a typed item."""
        kind, value = item
        if kind is tuple:
            return [node(value[:levels]) for levels in range(1, len(value))]
        parts = value.split(self.separator)
        return [node(self.separator.join(parts[:levels])) for levels in range(1, len(parts))]

    def of_row(self, item) -> list:
        """What the user of a row holds."""
        return [node(item), *self.above(node(item))]


@dataclass(frozen=True)
class NGrams:
    """N-grams of texts of plain words with a space between two of them."""

    fewest: int
    most: int

    def level(self, item) -> int:
        """How many words a typed n-gram has."""
        return 1 + item[1].count(" ")

    def above(self, item) -> list:
        """The n-grams inside of one."""
        return [other for other in self.of_row(item[1]) if other != item]

    def of_row(self, text) -> list:
        """What the user of a text holds."""
        words, sizes = text.split(" "), range(self.fewest, self.most + 1)
        found = (words[at : at + size] for size in sizes for at in range(len(words) - size + 1))
        return [node(" ".join(gram)) for gram in found]


def sets_of(rows, lines: Tree | NGrams) -> dict:
    """The items of each user."""
    sets = defaultdict(set)
    for user, item in rows:
        sets[node(user)] |= set(lines.of_row(item))
    return sets


def bound(sets: dict, max_items: int, key: bytes, lines: Tree | NGrams) -> dict:
    """Each user takes its items by priority, each behind those above it, up to the limit."""
    kept = {}
    for user, items in sets.items():
        priority = {item: prf.bound_priority(key, user[1], item[1]) for item in items}
        place = {item: (lines.level(item), priority[item]) for item in items}
        line = {item: [item, *(other for other in lines.above(item) if other in items)] for item in items}
        order = (
            each for item in sorted(items, key=priority.get) for each in sorted(line[item], key=place.get)
        )
        kept[user] = list(dict.fromkeys(order))[:max_items]
    return kept


def select(rows, rounds: list[steered.ScoredRound], max_items: int, key: bytes, lines: Tree | NGrams) -> set:
    """The released items, with all items above them."""
    kept = bound(sets_of(rows, lines), max_items, key, lines)
    found = steered.select(kept, rounds, key, above=lines.above)
    return {each[1] for item in found for each in [node(item), *lines.above(node(item))]}
