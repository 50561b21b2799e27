"""The search for tables and an event that refute a claim, and the tests on fresh samples.

Tables are looked at a little each, then the promising ones more, with variations of them. Then the best few
are tested. This is done three times with growing parts of what may be spent, and again while there is time:
tests that are far below the claim end early. A refutation ends it all.
The chance of a false alarm is divided among the tests in advance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

from dpsel.auditing._answers import UNKNOWN
from dpsel.auditing._choice import Gathered, best_cut
from dpsel.auditing._families import USUAL
from dpsel.auditing._sequential import Evidence, Side
from dpsel.auditing._tables import varied
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dpsel.auditing._answers import Answer
    from dpsel.auditing._calls import Subject
    from dpsel.auditing._choice import Choice, Cut
    from dpsel.auditing._claims import Bounds
    from dpsel.auditing._tables import Pair

__all__ = ["Hunt", "Looked", "Tested"]

#: Until which part of everything a stage searches, until which it tests, and its share of the false alarms.
_STAGES: Final = ((0.0, 0.15, 0.2), (0.3, 0.45, 0.3), (0.55, 1.0, 0.25))
#: If the last tests end early, so many more stages follow, each with half of the false alarms that are left.
_MORE_STAGES: Final = 8
#: An event that is so many standard errors beyond the claim is tested at once.
_TELLING: Final = 3.5
#: A test ends if its frequencies are below the claim by so many standard errors, after so many samples.
_HOPELESS, _FEWEST_TESTED = 3.0, 200
_TESTS: Final = 4
#: The part of everything that the first look at all tables may take.
_FIRST_LOOK: Final = 0.08
#: The part that a closer look at the usual tables may take, and how many more samples they get.
_USUAL_LOOK, _USUAL_TIMES = 0.05, 8
#: Below this rate an event is seldom, and it gets up to so many times the samples there.
_SELDOM, _MOST_DOUBT = 0.02, 3.0
_FEWEST, _MOST_FIRST = 16, 240
#: The part of everything after which no more tables are looked at for the first time.
_LATEST: Final = 0.3
#: Samples and rows of one look.
_MOST_AT_ONCE: Final = 20_000
_MOST_ROWS: Final = 20_000
#: How much a table is favoured of which little is known, in units of its standard error.
_OPTIMISM: Final = 1.2


@dataclass(slots=True)
class Looked:
    """A pair of tables and what was seen on it."""

    pair: Pair
    gathered: Gathered = field(default_factory=Gathered)
    choice: Choice | None = None

    @property
    def effect(self) -> float:
        """How far the best event is beyond the claim."""
        return self.choice.effect if self.choice else -math.inf

    @property
    def is_telling(self) -> bool:
        """Whether more search is worth less than a test."""
        return self.effect * math.sqrt(self.gathered.trials) > _TELLING

    @property
    def promise(self) -> float:
        """The effect with the benefit of the doubt."""
        return self.effect + _OPTIMISM / math.sqrt(max(1, self.gathered.trials))


@dataclass(slots=True)
class Tested:
    """An event on a pair of tables, and its counts on samples that had no part in choosing it."""

    looked: Looked
    cut: Cut
    evidence: Evidence
    alpha: float

    @property
    def pair(self) -> Pair:
        """The tables."""
        return self.looked.pair

    def refutes(self, bounds: Bounds) -> bool:
        """Whether the claim cannot hold."""
        return self.evidence.against(bounds) >= -math.log(self.alpha)

    def is_hopeless(self, bounds: Bounds) -> bool:
        """Whether the frequencies are so far below the claim that more samples would hardly refute it."""
        trials = self.evidence.likely.trials
        return trials >= _FEWEST_TESTED and _excess(self.evidence, bounds) < -_HOPELESS / math.sqrt(trials)


@dataclass(slots=True)
class Hunt:
    """One audit of a function."""

    subject: Subject
    bounds: Bounds
    bound: int
    alpha: float
    most_items: int
    #: Disjoint copies in one call of the search; those of tests are the subject's.
    copies: int = 1
    progress: Callable[[str], None] | None = None
    random: Random = field(default_factory=lambda: Random(1))  # noqa: S311 - chooses tables, not noise
    looked: list[Looked] = field(default_factory=list)
    tested: list[Tested] = field(default_factory=list)
    _said: float = 0.0

    def run(self, candidates: Sequence[Pair]) -> Tested | None:
        """Return the test that refutes the claim, if there is one."""
        first = self._first_look(candidates)
        self._look_at_usual(first)
        for search, test, share in self._stages():
            while self.subject.clock.spent < search and not any(each.is_telling for each in self.looked):
                looked = self._next(first)
                self._look(looked, min(_MOST_AT_ONCE, max(first, looked.gathered.trials)))
                self._say("searching")
            if found := self._test(test, share * self.alpha, first):
                return found
        return None

    def _stages(self) -> Iterator[tuple[float, float, float]]:
        yield from _STAGES
        left = 1 - sum(share for _, _, share in _STAGES)
        for _ in range(_MORE_STAGES):
            spent = self.subject.clock.spent
            if spent >= 1:
                return
            left /= 2
            yield (1 + spent) / 2, 1.0, left

    def _first_look(self, candidates: Sequence[Pair]) -> int:
        """Look at all candidates a little, and return how many samples each may get at first."""
        clock = self.subject.clock
        before, started = clock.called, clock.elapsed
        for pair in candidates:
            if clock.spent > _LATEST and len(self.looked) >= USUAL:
                break
            self.looked.append(Looked(pair))
            self._look(self.looked[-1], _FEWEST, self.subject.copies, until=_LATEST)
        cost = (clock.elapsed - started) / max(1, clock.called - before)
        calls = clock.affords(cost, _FIRST_LOOK / (2 * len(self.looked)))
        return max(_FEWEST, min(_MOST_FIRST, calls * self.copies))

    def _look_at_usual(self, first: int) -> None:
        """Look more at the usual worst tables, which are tested in any case."""
        until = self.subject.clock.spent + _USUAL_LOOK
        for looked in self.looked[:USUAL]:
            if self.subject.clock.spent < until:
                self._look(looked, _USUAL_TIMES * first)

    def check_names(self) -> None:
        """Refuse a function of which no answer names an item: that it stands would say nothing."""
        answers = [answer for looked in self.looked for answer in looked.gathered.answers()]
        named = any(item != UNKNOWN for answer in answers for item in answer.items)
        others = [other for answer in answers for other in answer.others]
        if others and not named:
            raise InvalidParameterError(
                f"no answer of {self.subject.name} names an item of the table; it returned {others[0]}, for "
                "example: an answer has to be items as they are in the rows, or pairs of an item and a number"
            )

    def _look(self, looked: Looked, samples: int, copies: int | None = None, until: float = 1.0) -> None:
        together = min(copies or self.copies, max(self.subject.copies, _MOST_ROWS // looked.pair.size))
        without, added = self.subject.draw(looked.pair, samples, together, until)
        looked.gathered.add(without, added)
        looked.choice = best_cut(looked.pair, looked.gathered, self.bounds)

    def _next(self, first: int) -> Looked:
        """Return tables that few samples were seen of, promising ones, or a variation of these."""
        for looked in self.looked:
            if looked.gathered.trials < first and not looked.gathered.is_full:
                return looked
        open_ones = [looked for looked in self.looked if not looked.gathered.is_full] or self.looked
        best = max(open_ones, key=lambda looked: looked.promise)
        if self.random.random() < 0.3:  # noqa: PLR2004 - more is seen of known tables than of new ones
            parents = sorted(self.looked, key=lambda looked: looked.effect, reverse=True)[:4]
            child = varied(self.random.choice(parents).pair, self.random, self.bound, self.most_items)
            if all(child != looked.pair for looked in self.looked):
                self.looked.append(Looked(child))
                return self.looked[-1]
        return best

    def _test(self, until: float, alpha: float, chunk: int) -> Tested | None:
        """Test the best events; return the first one that refutes the claim."""
        tests = self._chosen(alpha)
        open_ones, waiting = tests, tests[::-1]
        while open_ones and self.subject.clock.spent < until:
            test = waiting.pop() if waiting else self._most_promising(open_ones)
            answers = self._sample(test, chunk)
            if test.refutes(self.bounds):
                return test
            # A later stage chooses among tables by what tests have shown, too.
            if not test.looked.gathered.is_full:
                test.looked.gathered.add(*answers)
            self._say("testing", test)
            open_ones = [test for test in open_ones if not test.is_hopeless(self.bounds)]
        for test in tests:
            test.looked.choice = best_cut(test.pair, test.looked.gathered, self.bounds)
        return None

    def _sample(self, test: Tested, chunk: int) -> tuple[list[Answer], list[Answer]]:
        """Count the event in more answers; return equally many without and with the user.

        Of an event that hardly happens on the rare side, doubt about that side counts e^epsilon times. So
        there are more samples of it.
        """
        evidence = test.evidence
        number = max(chunk, evidence.likely.trials // 4)
        doubt = math.sqrt(self.bounds.slope(evidence.rare.rate)) if evidence.rare.rate < _SELDOM else 1.0
        found = []
        for side, added, samples in (
            (evidence.likely, test.cut.added, number),
            (evidence.rare, not test.cut.added, round(number * min(_MOST_DOUBT, doubt))),
        ):
            answers = self.subject.side(test.pair, samples, added=added)
            side.trials += len(answers)
            side.hits += sum(map(test.cut.holds, answers))
            found.append(answers)
        likely, rare = found[0], found[1][: len(found[0])]
        return (rare, likely) if test.cut.added else (likely, rare)

    def _chosen(self, alpha: float) -> list[Tested]:
        """Return tests of the best tables; one with the same event as before goes on."""
        best = sorted(self.looked, key=lambda looked: looked.effect, reverse=True)[:_TESTS]
        best += [looked for looked in self.looked[:USUAL] if all(looked is not one for one in best)]
        tests = list[Tested]()
        for looked in best:
            assert looked.choice is not None  # noqa: S101 - all were looked at
            known = [
                test
                for test in self.tested
                if test.looked is looked
                and test.cut.code == looked.choice.cut.code
                and test.cut.added == looked.choice.cut.added
            ]
            if not known:
                known = [_new_test(looked, looked.choice, alpha / len(best))]
                self.tested += known
            tests += [test for test in known[:1] if not test.is_hopeless(self.bounds)]
        return tests

    def _most_promising(self, tests: list[Tested]) -> Tested:
        def promise(test: Tested) -> float:
            return _excess(test.evidence, self.bounds) + _OPTIMISM / math.sqrt(test.evidence.likely.trials)

        return max(tests, key=promise)

    def _say(self, doing: str, test: Tested | None = None) -> None:
        clock = self.subject.clock
        if self.progress is None or clock.elapsed < self._said + 1:
            return
        self._said = clock.elapsed
        of = f"{clock.calls} calls" if clock.calls is not None else f"{clock.seconds:g} s"
        done = f"{clock.called}" if clock.calls is not None else f"{clock.elapsed:.0f}"
        best = test.pair if test else max(self.looked, key=lambda looked: looked.effect).pair
        seen = ""
        if test:
            often, seldom = test.evidence.likely.rate, test.evidence.rare.rate
            seen = f", {often:.4g} against {seldom:.4g} where {self.bounds.most(seldom):.4g} is allowed"
        self.progress(f"{done} of {of}: {len(self.looked)} tables, {doing} {best.words}{seen}")


def _excess(evidence: Evidence, bounds: Bounds) -> float:
    """Return by how many standard deviations of a sample the frequency is beyond the claim."""
    often, seldom = evidence.likely.rate, evidence.rare.rate
    most = bounds.most(seldom)
    slope = bounds.slope(seldom)
    variance = most * (1 - most) + slope * slope * seldom * (1 - seldom) + 1 / max(1, evidence.likely.trials)
    return (often - most) / math.sqrt(variance)


def _new_test(looked: Looked, choice: Choice, alpha: float) -> Tested:
    evidence = Evidence(
        Side.expected(choice.likely, choice.trials), Side.expected(choice.rare, choice.trials)
    )
    return Tested(looked, choice.cut, evidence, alpha)
