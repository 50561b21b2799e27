"""Pairs of neighbouring tables for functions: groups of users, and one user who differs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from dpsel.exceptions import InvalidParameterError
from dpsel.release._wording import quantity

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KINDS", "Kind", "Pair", "converter", "mixed_key", "varied"]

Items: TypeAlias = tuple[int, ...]
Kind: TypeAlias = Literal["int", "str", "numpy"]
KINDS: Final[tuple[Kind, ...]] = ("int", "str", "numpy")
#: How many rows a variation may have, as a multiple of the rows before.
_GROWTH: Final = 2
_MANY: Final = 8


def converter(kind: Kind) -> Callable[[int], Any]:
    """Return what makes an item of a kind out of a whole number."""
    if kind == "numpy":
        try:
            import numpy as np
        except ImportError as error:
            raise InvalidParameterError('items="numpy" needs numpy, which is not installed') from error
        return np.int64
    return str if kind == "str" else int


def mixed_key(user: int, place: int) -> float:
    """Return a pseudorandom place for a row of a user; rows of others keep their order if the user comes."""
    return Random(1000 * user + place).random()  # noqa: S311 - an order of rows


@dataclass(frozen=True, slots=True)
class Pair:
    """Groups of (number of users, the rows of each), and the rows of the one user that differs.

    ``added`` are the rows of this user on one side. On the other side it has the rows ``instead``, or it is
    absent if this is ``None``.
    """

    name: str
    groups: tuple[tuple[int, Items], ...]
    added: Items
    instead: Items | None = None
    #: Where the rows of this user stand: before all others, after them, or all rows in some order.
    place: Literal["first", "last", "mixed"] = "last"
    kind: Kind = "int"
    #: So many more users have one more item, which is always the last one.
    padding: int = 0

    @property
    def width(self) -> int:
        """Number of items, the one of the padding included."""
        held = [item for _, items in self.groups for item in items]
        return 1 + max((*held, *self.added, *(self.instead or ())), default=0) + (self.padding > 0)

    @property
    def size(self) -> int:
        """Number of rows on the larger side."""
        others = sum(users * len(items) for users, items in self.groups) + self.padding
        return others + max(len(self.added), len(self.instead or ()))

    @property
    def touched(self) -> tuple[int, ...]:
        """Items that the user has on one side only."""
        return tuple(sorted(set(self.added) ^ set(self.instead or ())))

    def holders(self, item: int) -> int:
        """Return the number of other users that have an item."""
        return sum(users for users, items in self.groups if item in items)

    def users(self, *, added: bool) -> list[Items]:
        """Return the rows of each user, by their numbers."""
        others = [items for number, items in self.groups for _ in range(number)]
        others += [(self.width - 1,)] * self.padding
        own = self.added if added else self.instead
        mine = [own] if own is not None else []
        return [*mine, *others] if self.place == "first" else [*others, *mine]

    def rows(self, copies: int = 1, *, added: bool) -> list[tuple[int, Any]]:
        """Return pairs (user, item) of ``copies`` disjoint tables, one after the other."""
        users, width, item_of = self.users(added=added), self.width, converter(self.kind)
        # The others keep their numbers if the first one is absent.
        start = int(self.place == "first" and not added and self.instead is None)
        step = len(self.users(added=True))
        numbered = [
            (copy * step + user, place, item_of(copy * width + item))
            for copy in range(copies)
            for user, items in enumerate(users, start)
            for place, item in enumerate(items)
        ]
        if self.place == "mixed":
            numbered.sort(key=lambda row: mixed_key(row[0], row[1]))
        return [(user, item) for user, _, item in numbered]

    @property
    def shows_order(self) -> bool:
        """Whether the order of an answer counts.

        The order in which items first occur in the rows, and that of a set of all items, are not held
        against a function. They are the same on both sides if the user comes last and has only items of
        others.
        """
        return self.place == "last" and all(self.holders(item) for item in self.touched)

    @property
    def words(self) -> str:
        """The name, with what differs from plain tables."""
        marks = [f"{self.kind} items"] if self.kind != "int" else []
        marks += {"first": ["first user"], "last": [], "mixed": ["mixed rows"]}[self.place]
        return f"{self.name} ({', '.join(marks)})" if marks else self.name


def varied(pair: Pair, random: Random, bound: int, most_items: int) -> Pair:
    """Return tables that differ in one place: others, items of the user, repeated rows or the order."""
    changes = (_resized, _resized, _shifted, _shifted, _regrouped, _readded, _repeated, _moved)
    for _ in range(_MANY):
        changed = random.choice(changes)(pair, random, bound)
        fits = changed.width <= most_items and changed.size <= _GROWTH * pair.size + _MANY * bound
        if fits and changed != pair and changed.added:
            return replace(changed, name=_described(changed))
    return pair


def _resized(pair: Pair, random: Random, _bound: int) -> Pair:
    groups = list(pair.groups)
    if not groups:
        return _regrouped(pair, random, _bound)
    place = random.randrange(len(groups))
    users, items = groups[place]
    groups[place] = (max(1, _step(users, random)), items)
    return replace(pair, groups=tuple(groups))


def _shifted(pair: Pair, random: Random, bound: int) -> Pair:
    """Change all groups alike."""
    if not pair.groups:
        return _regrouped(pair, random, bound)
    move = random.choice((-3, -2, -1, 1, 2, 3))
    return replace(pair, groups=tuple((max(1, users + move), items) for users, items in pair.groups))


def _step(users: int, random: Random) -> int:
    tenth = max(1, users // 10)
    return users + random.choice((-3 * tenth, -2, -1, -1, 1, 1, 2, 3 * tenth))


def _regrouped(pair: Pair, random: Random, bound: int) -> Pair:
    """Add a group of users with some of the items, or take one out."""
    groups = list(pair.groups)
    if groups and random.random() < 0.4:  # noqa: PLR2004 - more often added than taken out
        groups.pop(random.randrange(len(groups)))
    else:
        like = random.choice([users for users, _ in groups] or [random.randint(1, 6)])
        groups.append((like, _some(random, pair.width, bound)))
    return replace(pair, groups=tuple(groups))


def _readded(pair: Pair, random: Random, bound: int) -> Pair:
    if pair.instead is not None and random.random() < 0.5:  # noqa: PLR2004 - either side
        return replace(pair, instead=_some(random, pair.width, bound))
    return replace(pair, added=_some(random, pair.width, bound))


def _repeated(pair: Pair, random: Random, _bound: int) -> Pair:
    times = random.choice((2, 3, 9))
    return replace(pair, added=pair.added * times if len(pair.added) < _MANY else pair.added)


def _moved(pair: Pair, random: Random, _bound: int) -> Pair:
    return replace(pair, place=random.choice(("first", "last", "mixed")))


def _some(random: Random, width: int, bound: int) -> Items:
    number = random.randint(1, max(1, min(width + 1, 2 * bound)))
    return tuple(sorted(random.sample(range(width + 1), min(number, width + 1))))


def _described(pair: Pair) -> str:
    others = sum(users for users, _ in pair.groups)
    return f"a user of {quantity(len(pair.added), 'row')} among {quantity(others, 'other')}"
