"""The event that speaks most against a claim, chosen on samples that are not tested afterwards."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from dpsel.auditing._statistics import Statistic, learned, partners_of, statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpsel.auditing._answers import Answer
    from dpsel.auditing._claims import Bounds
    from dpsel.auditing._statistics import Outcomes
    from dpsel.auditing._tables import Pair

__all__ = ["Choice", "Cut", "Gathered", "best_cut"]

#: An estimate is taken less so many standard deviations, because the best of many is chosen.
_CAUTION: Final = 1.2
#: Answers that are all different are judged by so many of them.
_MOST_DISTINCT: Final = 3000
#: With so few answers, other events say the same as one of whole answers.
_FEW: Final = 3
#: Of numbers that take many values, so many cuts are looked at.
_MOST_CUTS: Final = 60


@dataclass(frozen=True, slots=True)
class Cut:
    """An event: a statistic is at least ``cut``, or at most."""

    statistic: Statistic
    at_least: bool
    cut: float
    #: Whether it is likelier with the rows of the user.
    added: bool

    def holds(self, answer: Answer) -> bool:
        """Whether an answer is in the event."""
        value = self.statistic.of(answer)
        return value >= self.cut if self.at_least else value <= self.cut

    @property
    def words(self) -> str:
        """The event in words."""
        if self.statistic.yes:
            return self.statistic.yes if self.at_least else self.statistic.no
        return f"{self.statistic.words} is at {'least' if self.at_least else 'most'} {self.cut:g}"

    @property
    def code(self) -> str:
        """The event as an expression of Python."""
        if self.statistic.yes:
            return self.statistic.code if self.at_least else f"not ({self.statistic.code})"
        return f"({self.statistic.code}) {'>=' if self.at_least else '<='} {self.cut!r}"


@dataclass(slots=True)
class Gathered:
    """Answers on both tables, in two halves: one to learn a score from, one to judge it."""

    halves: tuple[tuple[Outcomes, Outcomes], tuple[Outcomes, Outcomes]] = field(
        default_factory=lambda: ((Counter(), Counter()), (Counter(), Counter()))
    )
    trials: int = 0

    def add(self, without: list[Answer], added: list[Answer]) -> None:
        """Add equally many answers of both tables."""
        for side, answers in enumerate((without, added)):
            self.halves[0][side].update(answers[::2])
            self.halves[1][side].update(answers[1::2])
        self.trials += len(added)

    def answers(self) -> Iterator[Answer]:
        """All answers that were seen, each once or more."""
        return (answer for half in self.halves for side in half for answer in side)

    @property
    def is_full(self) -> bool:
        """Whether more answers would be too many to judge."""
        return len(self.halves[1][0]) + len(self.halves[1][1]) > _MOST_DISTINCT


@dataclass(frozen=True, slots=True)
class Choice:
    """An event, how far it is beyond the claim in standard deviations of one sample, and its counts."""

    cut: Cut
    effect: float
    likely: int
    rare: int
    trials: int


def best_cut(pair: Pair, gathered: Gathered, bounds: Bounds) -> Choice:
    """Return the event that is furthest beyond the claim, in standard deviations."""
    (first, second) = gathered.halves
    whole = (first[0] + second[0], first[1] + second[1])
    answers = list(whole[0] | whole[1])
    ordered = any(len(answer.items) > 1 and list(answer.items) != sorted(answer.items) for answer in answers)
    numbered = any(answer.numbers for answer in answers)
    found = [
        choice
        for statistic in statistics(
            pair, ordered=ordered, numbered=numbered, partners=partners_of(pair, whole)
        )
        for choice in _cuts(statistic, whole, bounds)
    ]
    if len(answers) > _FEW:
        found += _learned(first, second, bounds)
    if found:
        return max(found, key=lambda choice: choice.effect)
    # All answers are alike: this event never happens.
    plain = Cut(statistics(pair, ordered=False, numbered=False)[0], at_least=True, cut=math.inf, added=True)
    trials = min(side.total() for side in whole)
    return Choice(plain, _effect(0.0, trials, 0.0, trials, bounds), 0, 0, trials)


def _learned(
    first: tuple[Outcomes, Outcomes], second: tuple[Outcomes, Outcomes], bounds: Bounds
) -> Iterator[Choice]:
    """Return events that are learned from one half and judged by the other.

    They are hard to read, so plain events are preferred where the difference may be chance.
    """
    for choice in _cuts(learned(first[1], first[0]), second, bounds):
        yield replace(choice, effect=choice.effect - 0.5 / math.sqrt(choice.trials))


def _cuts(statistic: Statistic, sides: tuple[Outcomes, Outcomes], bounds: Bounds) -> Iterator[Choice]:
    """Return the best event of each direction and side."""
    levels: dict[float, list[int]] = {}
    for side, outcomes in enumerate(sides):
        for answer, number in outcomes.items():
            levels.setdefault(float(statistic.of(answer)), [0, 0])[side] += number
    trials = (sides[0].total(), sides[1].total())
    if not all(trials):
        return
    rising = sorted(levels)
    for at_least in (True, False):
        order = rising[::-1] if at_least else rising
        for added in (True, False):
            best = _best(_added_up(order, levels), trials, bounds, added=added)
            if best is not None:
                effect, level, likely, rare = best
                # All cuts between two values are the same event; the value itself is the plainest.
                yield Choice(Cut(statistic, at_least, level, added), effect, likely, rare, min(trials))


def _added_up(order: list[float], levels: dict[float, list[int]]) -> Iterator[tuple[float, int, int]]:
    without = added = 0
    step = 1 + len(order) // _MOST_CUTS
    for place, level in enumerate(order[:-1]):
        without += levels[level][0]
        added += levels[level][1]
        if place % step == 0:
            yield level, without, added


def _best(
    cuts: Iterable[tuple[float, int, int]], trials: tuple[int, int], bounds: Bounds, *, added: bool
) -> tuple[float, float, int, int] | None:
    best = None
    for level, without, with_user in cuts:
        likely, rare = (with_user, without) if added else (without, with_user)
        n_likely, n_rare = (trials[1], trials[0]) if added else trials
        if likely / n_likely + rare / n_rare > 1:
            # The opposite event on the other side says the same, and is the rarer one.
            continue
        effect = _effect(likely / n_likely, n_likely, rare / n_rare, n_rare, bounds)
        if best is None or effect > best[0]:
            best = (effect, level, likely, rare)
    return best


def _effect(likely: float, n_likely: int, rare: float, n_rare: int, bounds: Bounds) -> float:
    """Return by how many standard deviations of one sample a frequency exceeds what is allowed.

    The variance is that of an allowed pair nearby, and half a hit more is assumed on the rare side.
    """
    doubted = min(1.0, rare + 0.5 / n_rare)
    most = bounds.most(doubted)
    grows = (bounds.most(min(1.0, doubted + 0.01)) - most) / 0.01
    variance = most * (1 - most) + grows * grows * doubted * (1 - doubted) + 1 / n_likely
    return (likely - most) / math.sqrt(variance) - _CAUTION / math.sqrt(n_likely)
