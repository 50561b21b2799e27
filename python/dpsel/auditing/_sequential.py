"""Evidence against a claim that may be looked at after every sample, with a stated chance of error.

An event is counted on two tables. For each side let p be its probability, and h the hits in n samples. Let
M(p) be the likelihood of the hits averaged over a Beta law of probabilities, divided by their likelihood
under p. If p is true, then M(p) is a martingale that starts at 1, in n. So is the product of both sides. By
Ville's inequality it ever reaches 1/alpha with probability alpha at most (Robbins 1970, "Statistical methods
related to the law of the iterated logarithm"). So the pairs (p, q) with a product below 1/alpha are a
confidence set that holds at all times together, whatever decides when to stop. A claim is refuted if no
pair that it allows is in this set. All bounds that are read off one set hold together.

The Beta laws, the event and the tables have to be chosen before the samples are seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dpsel.auditing._bounds import least_of_convex

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel.auditing._claims import Bounds

__all__ = ["Evidence", "Side", "largest_refuted"]

_STEPS: Final = 40


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@dataclass(slots=True)
class Side:
    """Hits of an event on one table, and the Beta law that was chosen beforehand."""

    a: float
    b: float
    hits: int = 0
    trials: int = 0

    @classmethod
    def expected(cls, hits: int, trials: int) -> Side:
        """Return a side whose Beta law has about half the weight of earlier samples."""
        return cls(hits / 2 + 0.5, (trials - hits) / 2 + 0.5)

    @property
    def rate(self) -> float:
        """The frequency of the event."""
        return self.hits / self.trials if self.trials else 0.0

    def average(self) -> float:
        """Return the logarithm of the averaged likelihood."""
        missed = self.trials - self.hits
        return _log_beta(self.a + self.hits, self.b + missed) - _log_beta(self.a, self.b)

    def likelihood(self, p: float) -> float:
        """Return the logarithm of the likelihood of p."""
        missed = self.trials - self.hits
        if (p <= 0 and self.hits) or (p >= 1 and missed):
            return -math.inf
        seen = self.hits * math.log(p) if self.hits else 0.0
        return seen + (missed * math.log1p(-p) if missed else 0.0)


@dataclass(slots=True)
class Evidence:
    """Counts of one event on the side where it is meant to be frequent, and on the other."""

    likely: Side
    rare: Side

    def against(self, bounds: Bounds) -> float:
        """Return the logarithm of the least product M(p) M(q) over all pairs that are allowed."""
        average = self.likely.average() + self.rare.average()
        often, seldom = self.likely.rate, self.rare.rate
        if not self.likely.trials or often <= bounds.most(seldom):
            return average - self.likely.likelihood(often) - self.rare.likelihood(seldom)
        high = _where(lambda rare: bounds.most(rare) >= often, seldom, 1.0)

        def product(rare: float) -> float:
            return average - self.likely.likelihood(bounds.most(rare)) - self.rare.likelihood(rare)

        return least_of_convex(product, seldom, high)


def _where(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the least number at which something holds that holds from there on, or a little more."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def largest_refuted(
    evidence: Evidence, family: Callable[[float], Bounds], alpha: float, high: float
) -> float:
    """Return the largest number up to which all bounds of a family are ruled out; 0 if the first is not.

    The family has to allow more, the larger its number is.
    """
    enough, low = -math.log(alpha), 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if evidence.against(family(middle)) >= enough else (low, middle)
    return low
