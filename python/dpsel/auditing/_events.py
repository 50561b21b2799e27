"""Events that tell two neighbouring tables apart, chosen on samples that are not tested afterwards.

An outcome of a selection is an ``int`` whose bits are the released items of a gadget, or a ``float`` that the
added user makes larger; other outcomes are compared as wholes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, TypeAlias

from dpsel.auditing._bounds import Counts

if TYPE_CHECKING:
    from collections import Counter

__all__ = ["Event", "Samples", "cautious_delta", "cautious_epsilon", "choose"]

Outcomes: TypeAlias = "Counter[Any]"
#: Ranks outcomes: an outcome of large score is likelier on one side.
_Score: TypeAlias = Callable[[Hashable], float]

#: Standard deviations that an estimate is taken to be off.
_CAUTION = 2.0
#: A test has four times as many samples as the choice of its event: its deviations are half as large.
_FEWER = 0.5
_MOST_BITS = 4096


@dataclass(frozen=True, slots=True)
class Samples:
    """Outcomes without and with the user who makes the difference."""

    without: Outcomes
    with_user: Outcomes

    def sides(self, *, added: bool) -> tuple[Outcomes, Outcomes]:
        """Return the side on which an event is likely, then the other one."""
        return (self.with_user, self.without) if added else (self.without, self.with_user)


@dataclass(frozen=True, slots=True)
class Event:
    """All outcomes of at least some score; ``added`` says whether the user makes it likelier."""

    added: bool
    score: _Score
    cut: float

    def count(self, samples: Samples) -> Counts:
        """Count the event in samples that had no part in choosing it."""
        likely, rare = samples.sides(added=self.added)
        hits = [sum(n for o, n in side.items() if self.score(o) >= self.cut) for side in (likely, rare)]
        return Counts(hits[0], likely.total(), hits[1], rare.total())


def cautious_delta(counts: Counts, epsilon: float, caution: float = _CAUTION) -> float:
    """Return an estimate of P[likely] - e^epsilon P[rare], some standard deviations of both together off."""
    more, less = counts.likely / counts.likely_trials, counts.rare / counts.rare_trials
    factor = math.exp(epsilon)
    short = more - _below(counts.likely, counts.likely_trials, caution)
    beyond = _above(counts.rare, counts.rare_trials, caution) - less
    return more - factor * less - math.hypot(short, factor * beyond)


def cautious_epsilon(counts: Counts, delta: float, caution: float = _CAUTION) -> float:
    """Return an estimate of ln((P[likely] - delta) / P[rare]) with some standard deviations off either."""
    more = _below(counts.likely, counts.likely_trials, caution) - delta
    less = _above(counts.rare, counts.rare_trials, caution)
    return math.log(more / less) if more > 0 else -math.inf


def _above(hits: int, trials: int, caution: float) -> float:
    """Return the upper bound of a probability: few hits may be few by luck."""
    return 1.0 - _below(trials - hits, trials, caution)


def _below(hits: int, trials: int, caution: float) -> float:
    """Return Wilson's lower bound (1927), whose standard deviation is taken at the bound."""
    half = caution * caution / (2 * trials)
    frequency = hits / trials
    deviation = math.sqrt(2 * half * frequency * (1 - frequency) + half * half)
    return (frequency + half - deviation) / (1 + 2 * half)


def choose(
    fitted: Samples, weighed: Samples, epsilon: float, delta: float, *, alpha: float = 1.0
) -> tuple[Event, Event]:
    """Return the event that asks for the largest delta, and the one that asks for the largest epsilon.

    Scores are made of the first samples and events chosen by the others: scores of many items that only fit
    the samples they were made of would win otherwise. A bound with a chance of ``alpha`` to be wrong says
    little about rare events, however telling, so a small ``alpha`` asks for frequent ones.
    """
    caution = max(_CAUTION, -_FEWER * NormalDist().inv_cdf(alpha) if alpha < 1 else 0.0)
    ranked = [
        (event, counts)
        for added in (True, False)
        for score in _scores(fitted, added=added)
        for event, counts in _cuts(weighed, score, added=added)
    ]

    best_delta = max(ranked, key=lambda pair: cautious_delta(pair[1], epsilon, caution))
    best_epsilon = max(ranked, key=lambda pair: cautious_epsilon(pair[1], delta, caution))
    return best_delta[0], best_epsilon[0]


def _scores(samples: Samples, *, added: bool) -> list[_Score]:
    likely, rare = samples.sides(added=added)
    if all(isinstance(outcome, float) for outcome in likely | rare):
        return [_by_size(1 if added else -1)]
    found = [_by_frequency(likely, rare)]
    if all(isinstance(outcome, int) for outcome in likely | rare):
        found += [_by_items(likely, rare), _by_new_items(rare)]
    return found


def _by_size(sign: int) -> _Score:
    """Score numbers by themselves."""
    return lambda outcome: sign * outcome if isinstance(outcome, float) else -math.inf


def _by_frequency(likely: Outcomes, rare: Outcomes) -> _Score:
    """Score whole outcomes by how much likelier they were; unseen outcomes come last."""
    seen = {o: math.log((likely[o] + 0.5) / (rare[o] + 0.5)) for o in likely | rare}
    return lambda outcome: seen.get(outcome, -math.inf)


def _by_items(likely: Outcomes, rare: Outcomes) -> _Score:
    """Score by the log-likelihood ratio of independent items: the best test there is where they are."""
    bits = min(_MOST_BITS, max((outcome.bit_length() for outcome in likely | rare), default=0))
    more, less = _frequencies(likely, bits), _frequencies(rare, bits)
    present = [math.log(a / b) for a, b in zip(more, less, strict=True)]
    absent = [math.log((1 - a) / (1 - b)) for a, b in zip(more, less, strict=True)]
    none = math.fsum(absent)

    def score(outcome: Hashable) -> float:
        assert isinstance(outcome, int)  # noqa: S101 - only such outcomes get here
        held = (bit for bit in range(bits) if outcome >> bit & 1)
        return none + math.fsum(present[bit] - absent[bit] for bit in held)

    return score


def _by_new_items(rare: Outcomes) -> _Score:
    """Score by the number of items that never came out on the other side."""
    known = reduce(or_, rare, 0)
    return lambda outcome: float((outcome & ~known).bit_count()) if isinstance(outcome, int) else -math.inf


def _frequencies(outcomes: Outcomes, bits: int) -> list[float]:
    hits = [0.5] * bits
    for outcome, number in outcomes.items():
        for bit in range(min(bits, outcome.bit_length())):
            hits[bit] += number * (outcome >> bit & 1)
    return [hit / (outcomes.total() + 1) for hit in hits]


def _cuts(samples: Samples, score: _Score, *, added: bool) -> list[tuple[Event, Counts]]:
    """Return the events of score at least c, for all c that make a difference."""
    likely, rare = samples.sides(added=added)
    levels: dict[float, list[int]] = {}
    for outcome in likely | rare:
        level = levels.setdefault(score(outcome), [0, 0])
        level[0] += likely[outcome]
        level[1] += rare[outcome]
    found, hits = [], [0, 0]
    falling = sorted(levels, reverse=True)
    for here, below in pairwise([*falling, -math.inf]):
        hits = [hits[0] + levels[here][0], hits[1] + levels[here][1]]
        # Half way to the next score: rounding must not decide which outcomes are in.
        cut = here - 1.0 if below == -math.inf else (here + below) / 2
        found.append((Event(added, score, cut), Counts(hits[0], likely.total(), hits[1], rare.total())))
    return found
