"""Numbers that are read off an answer, each with words and a line of Python: events are their cuts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from dpsel.auditing._answers import UNKNOWN, Answer

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator, Sequence

    from dpsel.auditing._tables import Pair

__all__ = ["Statistic", "learned", "partners_of", "statistics"]

Outcomes: TypeAlias = "Counter[Answer]"

_MOST_PARTNERS: Final = 16
_MOST_SHOWN: Final = 8
#: So many items that come out together with the one of the user are looked at.
_MOST_ALIKE: Final = 2
#: A score beyond every count.
_BEYOND: Final = 1000


@dataclass(frozen=True, slots=True)
class Statistic:
    """A number of an answer.

    ``code`` computes it from ``items``, a list, and ``number``, a dictionary. ``yes`` and ``no`` say what
    1 and 0 mean if there is nothing else.
    """

    words: str
    code: str
    of: Callable[[Answer], float]
    yes: str = ""
    no: str = ""


def statistics(pair: Pair, *, ordered: bool, numbered: bool, partners: Sequence[int] = ()) -> list[Statistic]:
    """Return what an answer on a pair of tables may be judged by.

    ``partners`` are items that seem to come out together with the user's.
    """
    touched, width = pair.touched or (0,), pair.width - (pair.padding > 0)
    others = [item for item in range(width) if item not in touched]
    found = list(_counts(pair, touched, others))
    found += [_has(item) for item in (*touched[:2], *others[:2])]
    found += _pairs(touched, [*partners, *others])
    found.append(_unknown())
    if ordered:
        found += _orders(touched, others)
    if numbered:
        found += _numbers(touched, others)
    return list({each.code: each for each in found}.values())


def _counts(pair: Pair, touched: Sequence[int], others: list[int]) -> Iterator[Statistic]:
    novel = [item for item in touched if not pair.holders(item)]
    shared = [item for item in touched if pair.holders(item)]
    for chosen in (list(touched), novel, shared, others):
        if chosen:
            yield _count(chosen)
    alike: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for item in others:
        holders = tuple((users, held.count(item)) for users, held in pair.groups if item in held)
        alike.setdefault(holders, []).append(item)
    for same in list(alike.values())[:4]:
        if len(same) > 1:
            yield _count(same)
    if novel and shared:
        yield _weighted({**dict.fromkeys(novel, float(_BEYOND)), **dict.fromkeys(shared, 1.0)})
    if pair.instead:
        left = dict.fromkeys(sorted(set(pair.instead) - set(pair.added)), -1.0)
        yield _weighted({**dict.fromkeys(sorted(set(pair.added) - set(pair.instead)), 1.0), **left})
    if others:
        # The difference of both shares, in whole numbers: noise that all items have in common drops out.
        shared_by = math.gcd(len(touched), len(others))
        up, down = len(others) // shared_by, len(touched) // shared_by
        yield _weighted({**dict.fromkeys(touched, float(up)), **dict.fromkeys(others, float(-down))})
    yield Statistic("the number of released items", "len(items)", lambda answer: len(answer.items))


def _listed(items: Sequence[int]) -> str:
    if len(items) > _MOST_SHOWN and list(items) == list(range(items[0], items[-1] + 1)):
        return f"{items[0]} to {items[-1]}"
    return ", ".join(map(str, items))


def _count(items: list[int]) -> Statistic:
    if len(items) == 1:
        return _has(items[0])
    chosen = frozenset(items)
    return Statistic(
        f"the number of released items among {_listed(items)}",
        f"sum(item in {_set(items)} for item in items)",
        lambda answer: sum(item in chosen for item in answer.items),
    )


def _set(items: list[int]) -> str:
    if len(items) > _MOST_SHOWN and items == list(range(items[0], items[-1] + 1)):
        return f"range({items[0]}, {items[-1] + 1})"
    return "{" + ", ".join(map(str, items)) + "}"


def _has(item: int) -> Statistic:
    return Statistic(
        f"whether item {item} is released",
        f"{item} in items",
        lambda answer: item in answer.items,
        f"item {item} is released",
        f"item {item} is not released",
    )


def _weighted(weights: dict[int, float]) -> Statistic:
    shown = ", ".join(f"{item}: {weight:g}" for item, weight in weights.items())
    table = f"{{{shown}}}"
    return Statistic(
        f"the sum of {table} over the released items",
        f"sum({table}.get(item, 0) for item in items)",
        lambda answer: math.fsum(weights.get(item, 0.0) for item in answer.items),
    )


def _pairs(touched: Sequence[int], others: list[int]) -> Iterator[Statistic]:
    """One item is released, and another in equal demand is not."""
    pairs = [(one, other) for one in touched[:1] for other in (*others[:_MOST_PARTNERS], *touched[1:3])]
    for one, other in [*pairs, *((other, one) for one, other in pairs)]:
        yield Statistic(
            f"whether item {one} is released and item {other} is not",
            f"{one} in items and {other} not in items",
            lambda answer, one=one, other=other: one in answer.items and other not in answer.items,  # type: ignore[misc]
            f"item {one} is released and item {other} is not",
            f"item {one} is not released, or item {other} is",
        )


def partners_of(pair: Pair, sides: tuple[Outcomes, Outcomes]) -> list[int]:
    """Return items that came out oftener, or less often, where the first item of the user did.

    It is one of many items then that share its noise, as those of one bucket of a hash table do.
    """
    if pair.width <= _MOST_PARTNERS + 1:
        return []
    item, seen = (pair.touched or (0,))[0], ([0] * (pair.width + 1), [0] * (pair.width + 1))
    totals = [0, 0]
    for answer, number in (*sides[0].items(), *sides[1].items()):
        side = int(item in answer.items)
        totals[side] += number
        for other in answer.items:
            seen[side][other] += number
    if not all(totals):
        return []
    apart = [abs(more / totals[1] - less / totals[0]) for less, more in zip(*seen, strict=True)][:-1]
    ranked = sorted((other for other in range(pair.width) if other != item), key=lambda other: -apart[other])
    return ranked[:_MOST_ALIKE]


def _unknown() -> Statistic:
    return Statistic(
        "the number of released items that are in no table",
        "items.count(-1)",
        lambda answer: answer.items.count(UNKNOWN),
    )


def _orders(touched: Sequence[int], others: list[int]) -> Iterator[Statistic]:
    for item in touched[:2]:
        yield Statistic(
            f"the position of item {item} (99 if it is not released)",
            f"items.index({item}) if {item} in items else 99",
            lambda answer, item=item: answer.items.index(item) if item in answer.items else 99,  # type: ignore[misc]
        )
        for other in (*others[:4], *touched[1:2]):
            if other == item:
                continue
            yield Statistic(
                f"whether item {item} comes before item {other}",
                f"{item} in items and {other} in items and items.index({item}) < items.index({other})",
                lambda answer, item=item, other=other: _is_before(answer.items, item, other),  # type: ignore[misc]
                f"item {item} comes before item {other}",
                f"item {item} does not come before item {other}",
            )


def _is_before(items: tuple[int, ...], one: int, other: int) -> bool:
    return one in items and other in items and items.index(one) < items.index(other)


def _numbers(touched: Sequence[int], others: list[int]) -> Iterator[Statistic]:
    for item in (*touched[:2], *others[:2]):
        yield Statistic(
            f"the number of item {item} (-inf if it is not released)",
            f"number.get({item}, -inf)",
            lambda answer, item=item: _number(answer, item),  # type: ignore[misc]
        )
        yield Statistic(
            f"the number of item {item} (inf if it is not released)",
            f"number.get({item}, inf)",
            lambda answer, item=item: -_number(answer, item, -1.0),  # type: ignore[misc]
        )
    chosen = frozenset(touched)
    yield Statistic(
        f"the sum of the numbers of {_listed(touched)}",
        f"sum(number.get(item, 0) for item in {_set(list(touched))})",
        lambda answer: math.fsum(
            number for item, number in zip(answer.items, answer.numbers, strict=False) if item in chosen
        ),
    )
    for one in touched[:1]:
        # Of a user whose rows are swapped both items are touched, and move in opposite directions.
        for other in (*others[:2], *touched[1:2]):
            yield Statistic(
                f"the number of item {one} less that of item {other} (0 if either is missing)",
                f"number[{one}] - number[{other}] if {one} in number and {other} in number else 0",
                lambda answer, one=one, other=other: _difference(answer, one, other),  # type: ignore[misc]
            )


def _number(answer: Answer, item: int, sign: float = 1.0) -> float:
    for place, number in zip(answer.items, answer.numbers, strict=False):
        if place == item:
            return sign * number
    return -math.inf


def _difference(answer: Answer, one: int, other: int) -> float:
    first, second = _number(answer, one), _number(answer, other)
    return first - second if math.isfinite(first) and math.isfinite(second) else 0.0


def learned(likely: Outcomes, rare: Outcomes) -> Statistic:
    """Return how much likelier whole answers were on one side, of those that were seen more than once."""
    seen: dict[Answer, float] = {}
    for answer in likely | rare:
        more, less = likely[answer], rare[answer]
        if more + less > 1:
            seen[answer] = round(math.log((more + 0.5) / (less + 0.5)), 6)
    shown = {(answer.items, answer.numbers): score for answer, score in seen.items()}
    numbered = any(answer.numbers for answer in seen)
    key = "(tuple(items), tuple(number.values()))" if numbered else "(tuple(items), ())"
    return Statistic(
        f"how much likelier the whole answer is ({len(seen)} answers have a score, others -99)",
        f"{shown!r}.get({key}, -99)",
        lambda answer: seen.get(answer, -99.0),
    )
