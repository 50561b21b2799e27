"""Where a function starts to release an item, and at which larger numbers of users its answers jump."""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from dpsel.auditing._families import Levels
from dpsel.auditing._tables import Pair
from dpsel.exceptions import InvalidParameterError
from dpsel.release._wording import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpsel.auditing._calls import Subject
    from dpsel.auditing._tables import Kind

__all__ = ["copies_for_search", "jumps_of", "levels_of"]

_SAMPLES: Final = 24
_FINE: Final = 150
#: So many samples there are in any case, unless all time is over.
_LEAST: Final = 4
#: So many items users have who all have the same ones.
_MOST_ALIKE: Final = 12
_COPIES: Final = 16
_ODDS: Final = (0.1, 0.5, 0.9)
_MOST_ROWS: Final = 20_000
#: Numbers of users are doubled up to this one to look for jumps; samples of each, and of large tables.
_MOST_USERS: Final = 1 << 16
_FEW, _FEWEST = 12, 3
#: Answers jump where so much of their law moves.
_JUMP: Final = 0.6
#: The part of everything that one search for a boundary may spend.
_PART: Final = 0.04


def levels_of(subject: Subject, bound: int, kind: Kind, padding: int, *, whole: bool) -> Levels:
    """Return the boundary for users of one item, and if ``whole`` for users who all have the same few."""
    size = min(bound, _MOST_ALIKE)
    if subject.domain is not None:
        size = max(1, min(size, subject.domain - (padding > 0)))
    alone = _Search(subject, 1, kind, padding).levels()
    if size == 1 or not whole:
        return Levels(alone, alone, 1)
    return Levels(alone, _Search(subject, size, kind, padding).levels(), size)


def copies_for_search(subject: Subject, levels: Levels, kind: Kind, padding: int) -> int:
    """Return how many disjoint copies one call of the search may have.

    Copies are no independent samples if a function does not decide item by item, so tests do not use them.
    The search may, if that saves time and an item comes out as often as alone.
    """
    pair = Pair("copies", ((levels.alone[1], (0,)),), (), kind=kind, padding=padding)
    copies = max(subject.copies, min(_COPIES, _MOST_ROWS // pair.size))
    if subject.domain is not None:
        copies = min(copies, max(subject.copies, subject.domain // pair.width))
    # Time must not decide where calls are counted.
    if copies == subject.copies or subject.clock.calls is not None:
        return subject.copies
    until, started = subject.clock.spent + _PART, subject.clock.elapsed
    alone = [0 in answer.items for answer in subject.side(pair, _FINE, added=False, until=until)]
    if len(alone) < _FINE:
        return subject.copies
    until, between = subject.clock.spent + _PART, subject.clock.elapsed
    answers = subject.side(pair, 4 * _FINE, added=False, copies=copies, until=until)
    together = [0 in answer.items for answer in answers]
    each = ((between - started) / len(alone), (subject.clock.elapsed - between) / len(together))
    first, second = (sum(hits) / len(hits) for hits in (alone, together))
    is_alike = abs(first - second) < 3.5 / math.sqrt(_FINE) * math.sqrt(0.02 + second * (1 - second))
    return copies if is_alike and 2 * each[1] < each[0] else subject.copies


def jumps_of(subject: Subject, levels: Levels, kind: Kind, padding: int) -> list[Pair]:
    """Return tables at numbers of users, above those with large odds, where the answers change suddenly.

    An item stands between two others that are certain. At such a number it moves in the order, or is not
    released any more: there is a threshold on its true count, or the count is cut off or starts again.
    """
    certain = 2 * levels.alone[2] + 6

    def tables(users: int) -> Pair:
        groups = ((certain, (0,)), (users, (1,)), (certain, (2,)))
        name = f"an item of {quantity(users, 'other')} between two of {certain}"
        return Pair(name, groups, (1,), kind=kind, padding=padding)

    if subject.domain is not None and tables(1).width > subject.domain:
        return []
    drawn, found = _Drawn(subject, subject.clock.spent + _PART), list[Pair]()
    # A function need not take thousands of users: what it refuses here is left out.
    with suppress(InvalidParameterError):
        found += _searched(drawn, tables, max(1, levels.alone[2]))
    return found


def _searched(drawn: _Drawn, tables: Callable[[int], Pair], users: int) -> Iterator[Pair]:
    while users < _MOST_USERS:
        # Powers of two: counts of few bits start again there.
        low, high = users, 1 << users.bit_length()
        users = high
        if not drawn.affords(tables(high)):
            break
        if drawn.apart(tables(low), tables(high)) < _JUMP:
            continue
        while high - low > 1 and drawn.affords(tables(high)):
            middle = (low + high) // 2
            lower, upper = ((tables(low), tables(middle)), (tables(middle), tables(high)))
            low, high = (low, middle) if drawn.apart(*lower) >= drawn.apart(*upper) else (middle, high)
        yield tables(low)


class _Drawn:
    """A few answers on some tables, without the user, until a part of everything is spent."""

    def __init__(self, subject: Subject, until: float) -> None:
        self.subject, self.until = subject, until
        self.seen: dict[Pair, Counter[tuple[int, ...]]] = {}
        #: What the last answers took, for each row.
        self.cost = 0.0

    def affords(self, pair: Pair) -> bool:
        return self.subject.clock.spent + self.cost * pair.size < self.until

    def apart(self, one: Pair, other: Pair) -> float:
        """Return how far the laws of both answers are apart, in total variation."""
        first, second = (self._answers(pair) for pair in (one, other))
        return 1 - sum((first & second).values()) / min(first.total(), second.total())

    def _answers(self, pair: Pair) -> Counter[tuple[int, ...]]:
        if pair not in self.seen:
            before = self.subject.clock.spent
            samples = max(_FEWEST, min(_FEW, _MOST_ROWS // pair.size))
            answers = self.subject.side(pair, samples, added=False, until=self.until)
            self.seen[pair] = Counter(answer.items for answer in answers)
            self.cost = (self.subject.clock.spent - before) / pair.size
        return self.seen[pair]


class _Search:
    """Doubles the number of users until an item comes out, then halves intervals."""

    def __init__(self, subject: Subject, size: int, kind: Kind, padding: int) -> None:
        self.subject, self.size, self.kind, self.padding = subject, size, kind, padding
        self.rates: dict[int, float] = {}
        self.until = subject.clock.spent + _PART

    def levels(self) -> tuple[int, int, int]:
        top = 1
        while self.rate(top) < _ODDS[-1] and 2 * top * self.size <= _MOST_ROWS and not self.is_late():
            top *= 2
        low, middle, high = (self._first(odds, top) for odds in _ODDS)
        return low, self._refined(middle), high

    def is_late(self) -> bool:
        return self.subject.clock.spent > self.until

    def rate(self, users: int) -> float:
        """Return how often an item of so many users comes out."""
        if users not in self.rates:
            self.rates[users] = self._sample(users, _SAMPLES)
        return self.rates[users]

    def _sample(self, users: int, samples: int) -> float:
        items = tuple(range(self.size))
        pair = Pair(f"{users} users", ((users, items),), (), kind=self.kind, padding=self.padding)
        answers = self.subject.side(pair, _LEAST, added=False)
        answers += self.subject.side(pair, samples - _LEAST, added=False, until=self.until)
        hits = sum(sum(item in answer.items for item in items) for answer in answers)
        return hits / (len(answers) * self.size)

    def _refined(self, middle: int) -> int:
        """Return the nearest number of users with even odds, by more samples."""
        around = [users for users in range(middle - 2, middle + 3) if users > 0]
        while around and not self.is_late():
            rates = {users: self._sample(users, _FINE) for users in around}
            least = min((users for users, rate in rates.items() if rate >= _ODDS[1]), default=around[-1])
            if least not in (around[0], around[-1]) or least <= 1:
                return least
            # The first samples were misleading: go on in that direction.
            around = [users for users in range(least - 2, least + 3) if users > 0]
            middle = least
        return middle

    def _first(self, odds: float, top: int) -> int:
        """Return about the least number of users with these odds."""
        known = sorted(users for users, rate in self.rates.items() if rate >= odds)
        high = known[0] if known else top
        low = max((users for users in self.rates if users < high), default=0)
        while high - low > 1 and not self.is_late():
            middle = (low + high) // 2
            low, high = (low, middle) if self.rate(middle) >= odds else (middle, high)
        return high
