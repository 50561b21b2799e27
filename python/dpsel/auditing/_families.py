"""The neighbouring tables that a function is tried on, around the boundary that was found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product, zip_longest
from math import ceil, floor
from typing import TYPE_CHECKING, Final

from dpsel.auditing._tables import Pair
from dpsel.release._wording import quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpsel.auditing._tables import Items, Kind

__all__ = ["USUAL", "Levels", "family", "swapped"]

#: Tables of more rows are tried only if they are the first of their kind.
_MOST_ROWS: Final = 3000
_MOST_OWN: Final = 12
#: The first tables are the usual worst ones.
USUAL: Final = 4
#: So many tables have items of another type than whole numbers.
_MOST_OF_A_KIND: Final = 16
#: Numbers of items in equal demand, of which some may share noise with one that the user has.
_MANY_EQUAL: Final = (64, 256)
#: Rows of a user who leaves no place for others in a table that is cut off.
_LONG: Final = 1000
#: Fractions of a user by which a cutoff of greedy filling may miss a whole number.
_LEFT: Final = (0.05, 0.15, 0.3, 0.5)


@dataclass(frozen=True, slots=True)
class Levels:
    """Numbers of users at which an item comes out with small, even and large odds.

    ``alone`` is for items of users who have nothing else, ``full`` for users who all have ``size`` items,
    the same ones.
    """

    alone: tuple[int, int, int]
    full: tuple[int, int, int]
    size: int

    def around(self, *, full: bool) -> list[int]:
        """Return numbers of others around the boundary, the nearest ones first."""
        low, middle, high = self.full if full else self.alone
        near = [middle - 1, middle, middle - 2, middle + 1, low - 1, high, low, (middle + high) // 2]
        # Beyond large odds an item that is missing tells something.
        near += [high + 1, high + 2]
        return list(dict.fromkeys(max(1, level) for level in near))


def family(bound: int, levels: Levels, kind: Kind = "int", *, whole: bool = True) -> list[Pair]:
    """Return pairs of tables, those that mostly matter first; without ``whole`` there are a few only."""
    boundary = list(_boundary(bound, levels))
    families = [iter(boundary), _novel(bound), _several(bound, levels), _ranked(bound, levels)]
    if whole:
        families += [_crowds(levels), _bounded(bound, levels), _moving_others(bound, levels)]
    # In turns: if time is short, all families lose their last ones. The usual worst tables come first.
    usual = [next(_novel(bound)), *boundary[: USUAL - 1]]
    turns = [pair for turn in zip_longest(*families) for pair in turn if pair]
    small = [pair for pair in (*usual, *turns) if pair.size <= _MOST_ROWS]
    unique = {replace(pair, name=""): pair for pair in reversed(small)}
    found = [replace(pair, kind=kind) for pair in reversed(unique.values())]
    return found if whole else found[:_MOST_OF_A_KIND]


def _items(number: int) -> str:
    return "an item" if number == 1 else quantity(number, "item")


def _novel(bound: int) -> Iterator[Pair]:
    for number in dict.fromkeys((bound, 1)):
        yield Pair(f"{_items(number)} of nobody else", (), tuple(range(number)))
    yield Pair(f"{4 * bound} items of nobody else, above the limit", (), tuple(range(4 * bound)))
    yield Pair("an item of nobody else in 9 rows", (), (0,) * 9)
    yield Pair("100 items of nobody else", (), tuple(range(max(100, 10 * bound))))


def _boundary(bound: int, levels: Levels) -> Iterator[Pair]:
    sizes = [size for size in dict.fromkeys(min(bound, most) for most in (_MOST_OWN, 3, 2)) if size > 1]
    alone, full = levels.around(full=False), levels.around(full=True)
    for place, level in enumerate(alone):
        yield Pair(f"an item of {quantity(level, 'other')}", ((level, (0,)),), (0,))
        for own in sizes:
            mine = tuple(range(own))
            if own == levels.size and place < len(full):
                name = f"{own} items of the same {quantity(full[place], 'other')}"
                yield Pair(name, ((full[place], mine),), mine)
            yield _each(level, own)
            if place == 0:
                yield from _mixed(own, levels)
        if place == 0 and bound > _MOST_OWN:
            yield _each(level, bound)


def _each(level: int, own: int) -> Pair:
    groups = tuple((level, (item,)) for item in range(own))
    return Pair(f"{own} items of {quantity(level, 'other')} each", groups, tuple(range(own)))


def _mixed(own: int, levels: Levels) -> Iterator[Pair]:
    """A user with items of others and with items of nobody."""
    mine = tuple(range(own))
    level = levels.around(full=False)[0]
    half = mine[: own // 2]
    groups = tuple((level, (item,)) for item in half)
    yield Pair(
        f"{_items(len(half))} of {quantity(level, 'other')}, {own - len(half)} of nobody", groups, mine
    )


def _several(bound: int, levels: Levels) -> Iterator[Pair]:
    """Items in equal demand, one of which the user has: noise that they share decides about both."""
    near = levels.around(full=False)
    for level in near[:3]:
        yield Pair(
            f"an item of {quantity(level, 'other')} beside an equal one", ((level, (0,)), (level, (1,))), (0,)
        )
    for number, levels_of in ((12, near[:2]), *((number, near[:1]) for number in _MANY_EQUAL)):
        for level in levels_of:
            groups = tuple((level, (item,)) for item in range(number))
            yield Pair(f"an item of {quantity(level, 'other')} beside {number - 1} equal ones", groups, (0,))
    if bound > 1:
        level, own = near[0], min(bound, _MOST_OWN)
        groups = tuple((level, (item,)) for item in range(own + 1))
        yield Pair(f"{own} of {own + 1} items of {quantity(level, 'other')} each", groups, tuple(range(own)))
        # The others show a noise that all items share, so that those of the user tell what is left.
        groups = tuple((level, (item,)) for item in range(own + _MANY_EQUAL[0]))
        name = f"{own} items of {quantity(level, 'other')} each beside {_MANY_EQUAL[0]} equal ones"
        yield Pair(name, groups, tuple(range(own)))
    low, middle = near[0], near[0] + 1
    yield Pair(f"items of {low} and {middle} others", ((low, (0,)), (middle, (1,))), (0,))


def _ranked(bound: int, levels: Levels) -> Iterator[Pair]:
    """Items that all come out, or a public list: their order and numbers tell them apart."""
    high = 2 * levels.alone[2] + 6
    for level in dict.fromkeys((high, 3 * high, levels.alone[2] + 2)):
        for other in (level, level + 1):
            two = ((level, (0,)), (other, (1,)))
            yield Pair(f"an item of {quantity(level, 'other')} beside one of {other}", two, (0,))
    # A user of many items, whose numbers come out: shares of a budget that are too large add up.
    yield from (_each(high, own) for own in dict.fromkeys((bound, 3 * bound // 4, bound // 2)) if own > 3)  # noqa: PLR2004
    if bound > 1:
        three = ((high, (0,)), (high, (1,)), (high, (2,)))
        yield Pair(f"2 of 3 items of {high} others", three, (0, 1))
    for level in (1, 4):
        groups = tuple((level, (item,)) for item in range(4))
        own = min(bound, 3)
        yield Pair(f"{own} of 4 items of {quantity(level, 'other')} each", groups, tuple(range(own)))


def _bounded(bound: int, levels: Levels) -> Iterator[Pair]:
    """Users with more rows or items than the limit."""
    low, middle, _ = levels.alone
    for level in dict.fromkeys((max(1, low - 1), max(1, middle - 1), max(1, middle // 2))):
        yield Pair(f"an item of {quantity(level, 'other')} in 9 rows", ((level, (0,)),), (0,) * 9)
        own = tuple(range(min(4 * bound, 4 * _MOST_OWN)))
        groups = tuple((level, (item,)) for item in own)
        yield Pair(f"{len(own)} items of {quantity(level, 'other')} each, above the limit", groups, own)
    level = max(1, middle - 1)
    yield replace(
        Pair(f"an item of {quantity(level, 'other')} in mixed rows", ((level, (0, 1)),), (0, 1, 0, 1)),
        place="mixed",
    )
    yield Pair(f"an item of {quantity(level, 'other')} with repeated rows", ((level, (0, 0, 1)),), (0,))
    groups = tuple((2 * levels.alone[2] + 6, (item,)) for item in range(6))
    long = Pair(
        f"6 items of {groups[0][0]} others; the user has another in {_LONG} rows",
        groups,
        (6,) * _LONG,
    )
    yield replace(long, place="first")
    yield from _tipped(bound, levels)


def _tipped(bound: int, levels: Levels) -> Iterator[Pair]:
    """The user tips what depends on all users: which item is the most frequent, how many items are usual."""
    crowd, many = 2 * levels.alone[2] + 6, tuple(range(1, 1 + max(3, min(bound, _MOST_OWN))))
    for more in (0, 1):
        name = f"{crowd + more} users of an item and {crowd} of {len(many)} others, which the user has"
        yield Pair(name, ((crowd + more, (0,)), (crowd, many)), many)
    for level in dict.fromkeys((2 * levels.alone[2] + 6, levels.alone[1])):
        mine = tuple(range(min(bound, 4 * _MOST_OWN) + 1))
        for own in (mine[-1], 0):
            name = f"{len(mine)} items of the same {quantity(level, 'other')}, one more than the limit"
            yield Pair(f"{name}; the user has item {own}", ((level, mine),), (own,))


def _moving_others(bound: int, levels: Levels) -> Iterator[Pair]:
    """Items that the user does not have, which its presence may move all the same."""
    low, middle, high = levels.alone
    yield Pair(f"an item of nobody else beside one of {high + 6} others", ((high + 6, (0,)),), (1,))
    for level in dict.fromkeys((middle, max(1, low))):
        groups = tuple((level, (item,)) for item in range(6))
        for own in dict.fromkeys((bound, 4 * bound)):
            mine = tuple(range(6, 6 + min(own, 4 * _MOST_OWN)))
            yield Pair(f"6 items of {quantity(level, 'other')}; the user has {len(mine)} more", groups, mine)
        yield Pair(f"6 items of {quantity(level, 'other')}; the user has all", groups, tuple(range(6)))
        yield Pair(f"6 items of {quantity(level, 'other')}; the user has one in 9 rows", groups, (0,) * 9)


def _crowds(levels: Levels) -> Iterator[Pair]:
    """Groups whose users fill an item and have a little left, which overflows with one user more.

    Greedy filling stops at a cutoff, which is not seen: it is tried a little below whole numbers at which an
    item comes out as surely as it ever does. See ``crowd`` in ``_neighbours.py``.
    """
    _, middle, high = levels.alone
    tops = list(dict.fromkeys((high + 1, high, high + 2, middle + 1, middle)))
    for left, top in sorted(product(_LEFT, tops), key=lambda pair: (pair[0], tops.index(pair[1]))):
        cutoff = top - left
        groups = floor((cutoff - floor(cutoff) + 1) / left)
        # See `crowd`.
        if cutoff >= 2 and groups * ceil(cutoff) * 6 <= _MOST_ROWS:  # noqa: PLR2004
            yield _crowd(cutoff, left, groups)


def _crowd(cutoff: float, left: float, groups: int) -> Pair:
    users: list[tuple[int, Items]] = [(floor(cutoff) - 1, (0,))]
    for group in range(groups):
        filled, last = 1 + 2 * group, 2 + 2 * group
        # Three rows for what is filled first, two for the shared item, one for the last.
        users.append((ceil(cutoff), (filled,) * 3 + (0, 0, last)))
    name = f"{groups} groups of {ceil(cutoff)} that overflow past {cutoff:g} ({left:g} left over)"
    return Pair(name, tuple(users), (0,), place="first")


def swapped(pairs: list[Pair], levels: Levels) -> list[Pair]:
    """Return tables in which the user has other rows instead of none.

    These are an item of so many others that one user hardly matters, or as many items of as many others.
    """
    found = []
    for pair in pairs:
        width, crowd = pair.width, 2 * levels.alone[2] + 6
        groups = (*pair.groups, (crowd, (width,)))
        found.append(replace(pair, groups=groups, instead=(width,)))
        moved = tuple((users, tuple(item + width for item in items)) for users, items in pair.groups)
        instead = tuple(item + width for item in pair.added)
        name = f"{pair.name}, or the same with other items"
        found.append(replace(pair, name=name, groups=(*pair.groups, *moved), instead=instead))
    return [pair for pair in found if pair.size <= _MOST_ROWS]
