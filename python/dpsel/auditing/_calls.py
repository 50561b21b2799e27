"""Calls of a function on tables, what they cost, and what is left of the time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dpsel.auditing._answers import NotAnAnswer, read_answers
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel.auditing._answers import Answer
    from dpsel.auditing._tables import Pair

__all__ = ["Clock", "Subject", "name_of"]

_MOST_QUOTED: Final = 200
#: A few tables are in use at a time.
_MOST_MADE: Final = 64


@dataclass(slots=True)
class Clock:
    """What an audit may spend: seconds, or calls, which make it repeatable."""

    seconds: float
    calls: int | None = None
    #: Looked up late, so that a benchmark may count processor time.
    started: float = field(default_factory=lambda: time.monotonic())
    called: int = 0

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def spent(self) -> float:
        """The part that is spent, 1 or more at the end."""
        return self.elapsed / self.seconds if self.calls is None else self.called / self.calls

    def affords(self, cost: float, part: float) -> int:
        """Return how many calls of ``cost`` seconds are a part of all that may be spent."""
        if self.calls is not None:
            return int(part * self.calls)
        return int(part * self.seconds / max(cost, 1e-7))


@dataclass(frozen=True, slots=True)
class _Tables:
    """A pair of tables as the function gets it; the first rows are those without the user."""

    pair: Pair
    rows: tuple[list[Any], list[Any]]
    width: int
    copies: int
    is_ordered: bool


@dataclass(slots=True)
class Subject:
    """The function to audit, called on pairs of tables."""

    function: Callable[[list[Any]], Any]
    name: str
    clock: Clock
    copies: int = 1
    #: If items are public, their number: copies have to fit.
    domain: int | None = None
    _made: dict[tuple[Pair, int], _Tables] = field(default_factory=dict)

    def draw(
        self, pair: Pair, samples: int, copies: int | None = None, until: float = 1.0
    ) -> tuple[list[Answer], list[Answer]]:
        """Return at least so many answers without and with the rows of the user.

        There are fewer, but one of each, once the part ``until`` of everything is spent.
        """
        made = self._tables(pair, copies or self.copies)
        without: list[Answer] = []
        added: list[Answer] = []
        # Taking turns, so that both sides have equally many answers whenever this ends.
        while len(added) < max(1, samples) and not (added and self.clock.spent >= until):
            without += self._call(made, added=False)
            added += self._call(made, added=True)
        return without, added

    def side(
        self, pair: Pair, samples: int, *, added: bool, copies: int | None = None, until: float = 1.0
    ) -> list[Answer]:
        """Return at least so many answers on one table of a pair, or fewer as ``draw`` does."""
        made = self._tables(pair, copies or self.copies)
        found: list[Answer] = []
        while len(found) < max(1, samples) and not (found and self.clock.spent >= until):
            found += self._call(made, added=added)
        return found

    def _tables(self, pair: Pair, copies: int) -> _Tables:
        if self.domain is not None:
            copies = max(1, min(copies, self.domain // pair.width))
        made = self._made.get((pair, copies))
        if made is None:
            if len(self._made) >= _MOST_MADE:
                self._made.clear()
            rows = (pair.rows(copies, added=False), pair.rows(copies, added=True))
            made = self._made[pair, copies] = _Tables(pair, rows, pair.width, copies, pair.shows_order)
        return made

    def _call(self, made: _Tables, *, added: bool) -> list[Answer]:
        rows = made.rows[added]
        self.clock.called += 1
        try:
            raw = self.function(rows.copy())
            return read_answers(raw, made.width, made.copies, is_ordered=made.is_ordered)
        except NotAnAnswer as error:
            raise InvalidParameterError(f"{self.name} {error}; {_wanted()}") from error
        except Exception as error:
            raise InvalidParameterError(self._failure(made.pair, rows, error, added=added)) from error

    def _failure(self, pair: Pair, rows: list[Any], error: Exception, *, added: bool) -> str:
        side = "with" if added else "without"
        shown = f"{rows[:3]}..." if len(rows) > 3 else str(rows)  # noqa: PLR2004 - a few rows show the kind
        told = f": {error}"[:_MOST_QUOTED] if str(error) else ""
        empty = "; if it cannot take an empty table, give padding=1" if not rows else ""
        return (
            f"{self.name} raised {type(error).__name__}{told}; this was on the table of "
            f'"{pair.words}" {side} the rows of the user, {len(rows)} rows: {shown}{empty}; {_wanted()}'
        )


def _wanted() -> str:
    return (
        "the function to audit is called with a list of pairs (user, item) of whole numbers and has to "
        "return the released items"
    )


def name_of(function: Any) -> str:
    """Return what to call a function."""
    return str(getattr(function, "__name__", type(function).__name__))
