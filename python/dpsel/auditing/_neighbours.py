"""Neighbouring tables: small gadgets in which one user changes as much as it can, and ways to vary them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, floor
from typing import TYPE_CHECKING, TypeAlias

from dpsel.release._wording import quantity

if TYPE_CHECKING:
    from random import Random

__all__ = ["Neighbours", "crafted", "crowd", "varied"]

Items: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Groups of (number of users, the rows of each), and the rows of the user who is in one table only."""

    name: str
    groups: tuple[tuple[int, Items], ...]
    added: Items
    #: Whether the added user comes before all others in the table, for functions that go by this.
    first: bool = True
    #: How many more items the added user has that all copies share. No other user has them.
    common: int = 0

    @property
    def width(self) -> int:
        """Number of items."""
        return 1 + max((item for _, items in (*self.groups, (1, self.added)) for item in items), default=0)

    @property
    def size(self) -> int:
        """Number of rows with the added user, but for items that copies share."""
        return sum(users * len(items) for users, items in self.groups) + len(self.added)

    def rows(self, *, with_user: bool) -> list[tuple[int, int]]:
        """Return one copy as pairs."""
        return [(user, item) for user, items in self.users(1, with_user=with_user) for item in items]

    def users(self, copies: int, *, with_user: bool) -> list[tuple[int, list[int]]]:
        """Return the users of ``copies`` disjoint copies with their rows, one copy after the other."""
        base = [items for number, items in self.groups for _ in range(number)]
        added = [self.added] if with_user else []
        place, after = 0 if self.first else len(base), copies * self.width
        common = list(range(after, after + self.common)) if with_user else []
        # The others keep their numbers when the added user is not there.
        start = int(self.first and not with_user)
        one = list(enumerate([*added, *base] if self.first else [*base, *added], start=start))
        step, width = len(base) + 1, self.width
        return [
            (copy * step + user, [copy * width + item for item in items] + (common if user == place else []))
            for copy in range(copies)
            for user, items in one
        ]


def crafted(bound: int, levels: list[int]) -> list[Neighbours]:
    """Return the known worst cases for users of at most ``bound`` items.

    Args:
        bound: The limit that is enforced.
        levels: Numbers of users at which an item is likely to be released or not.
    """
    most = tuple(range(bound))
    tables = [
        Neighbours(f"{quantity(len(set(t)), 'item')} of nobody else", (), t)
        for t in dict.fromkeys((most, (0,)))
    ]
    tables += [
        Neighbours("an item of nobody else in 9 rows", (), (0,) * 9),
        Neighbours("more items of nobody else than the limit", (), tuple(range(4 * bound))),
    ]
    for level in levels:
        tables.append(Neighbours(f"an item of {quantity(level, 'other')}", ((level, (0,)),), (0,)))
        if bound > 1:
            half = most[bound // 2 :]
            tables += [
                Neighbours(f"{bound} items of {quantity(level, 'other')} each", ((level, most),), most),
                Neighbours(f"items of {quantity(level, 'other')} and of nobody", ((level, half),), most),
                Neighbours(
                    f"a full item of {quantity(level, 'other')} with more", ((level, (0, 0, 1)),), (0,)
                ),
            ]
    return tables


def crowd(cutoff: float, most_rows: int) -> list[Neighbours]:
    """Return the input on which greedy by frequency spills over on to items of nobody else.

    Groups of users fill the same items and have a little left, which goes to an item that all groups share,
    and only when that is full to an item of the group alone. The added user fills the shared item. See
    <https://dpsel.github.io/dpsel/algorithms/greedy_frequency/>.
    """
    if cutoff < 2:  # noqa: PLR2004 - with less room nobody else fits beside the added user
        return []
    best: tuple[float, int, int, float] | None = None
    for filled in range(1, 13):
        members = ceil(filled * cutoff)
        left = members - filled * cutoff
        if left < 1e-6:  # noqa: PLR2004 - nothing is left over
            continue
        groups = floor((cutoff - floor(cutoff) + 1) / left)
        rows = groups * members * (3 * filled + 3)
        if groups > 0 and rows <= most_rows and (best is None or left < best[0]):
            best = (left, filled, groups, rows)
    if best is None:
        return []
    _, filled, groups, _ = best
    alone, shared = floor(cutoff) - 1, 0
    users: list[tuple[int, Items]] = [(alone, (shared,))]
    for group in range(groups):
        start = 1 + group * (filled + 1)
        own = tuple(range(start, start + filled))
        # Three rows for what is filled first, two for the shared item, one for the last.
        users.append((ceil(filled * cutoff), own * 3 + (shared, shared) + (start + filled,)))
    return [Neighbours(f"{groups} groups that overflow", tuple(users), (shared,))]


def varied(tables: Neighbours, random: Random, bound: int) -> Neighbours:
    """Return tables that differ in one place, for hill climbing."""
    change = random.choice((_resized, _resized, _regrouped, _readded, _moved))
    changed = change(tables, random, bound)
    return replace(changed, name="found by search")


def _resized(tables: Neighbours, random: Random, _bound: int) -> Neighbours:
    groups = list(tables.groups)
    if not groups:
        return _regrouped(tables, random, _bound)
    place = random.randrange(len(groups))
    users, items = groups[place]
    users = max(1, random.choice((users - 3, users - 2, users - 1, users + 1, users + 2, 2 * users)))
    groups[place] = (users, items)
    return replace(tables, groups=tuple(groups))


def _regrouped(tables: Neighbours, random: Random, bound: int) -> Neighbours:
    """Add a group of users with some of the items, or take one out."""
    groups = list(tables.groups)
    if groups and random.random() < 0.3:  # noqa: PLR2004 - more often added than taken out
        groups.pop(random.randrange(len(groups)))
    else:
        groups.append((random.randint(1, 6), _some_items(random, tables.width, bound)))
    return replace(tables, groups=tuple(groups))


def _readded(tables: Neighbours, random: Random, bound: int) -> Neighbours:
    return replace(tables, added=_some_items(random, tables.width, bound))


def _moved(tables: Neighbours, _random: Random, _bound: int) -> Neighbours:
    return replace(tables, first=not tables.first)


def _some_items(random: Random, width: int, bound: int) -> Items:
    number = random.randint(1, max(1, min(width + 1, 2 * bound)))
    return tuple(sorted(random.sample(range(width + 1), min(number, width + 1))))
