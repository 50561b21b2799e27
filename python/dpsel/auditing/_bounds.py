"""Confidence bounds of epsilon and delta from counts of an event, with a stated chance of error.

``Counts`` bounds both probabilities and combines the bounds, ``JointCounts`` bounds them as a pair.
The event and the method have to be chosen before the samples are seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Counts", "JointCounts", "least_of_convex", "proportion_above", "proportion_below"]

_ENOUGH_STEPS = 60
_GOLDEN = (math.sqrt(5) - 1) / 2
#: The largest epsilon that a bound of ``JointCounts`` is looked for.
_MOST_EPSILON = 64.0


def _upper_tail(least: int, trials: int, p: float) -> float:
    """P[Bin(trials, p) >= least] above the mean; 1 up to the mean, where nothing here needs it.

    Terms fall faster than a geometric series above the mean, so the sum ends when they no longer count. The
    logarithms of the gamma function are good to about 1e-9 relative at a million trials.
    """
    if least <= trials * p:
        return 1.0
    log_term = (
        math.lgamma(trials + 1)
        - math.lgamma(least + 1)
        - math.lgamma(trials - least + 1)
        + least * math.log(p)
        + (trials - least) * math.log1p(-p)
    )
    term = total = math.exp(log_term)
    odds = p / (1 - p)
    for count in range(least, trials):
        term *= (trials - count) / (count + 1) * odds
        total += term
        if term < total * 1e-17:
            break
    return total


def proportion_above(hits: int, trials: int, alpha: float) -> float:
    """Return the lower Clopper-Pearson bound: p is below it in at most ``alpha`` of all cases."""
    if hits <= 0:
        return 0.0
    low, high = 0.0, hits / trials
    for _ in range(_ENOUGH_STEPS):
        middle = (low + high) / 2
        if middle > 0 and _upper_tail(hits, trials, middle) <= alpha:
            low = middle
        else:
            high = middle
    return low


def proportion_below(hits: int, trials: int, alpha: float) -> float:
    """Return the upper Clopper-Pearson bound: p is above it in at most ``alpha`` of all cases."""
    return 1.0 - proportion_above(trials - hits, trials, alpha)


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of runs and of occurrences of an event on two neighbouring tables.

    The event has to be chosen before these runs. ``likely`` is the side on which it is meant to be frequent.
    """

    likely: int
    likely_trials: int
    rare: int
    rare_trials: int

    def least_delta(self, epsilon: float, alpha: float) -> float:
        """Return a lower bound of P[likely] - e^epsilon P[rare], false with a chance of ``alpha`` at most."""
        more = proportion_above(self.likely, self.likely_trials, alpha / 2)
        less = proportion_below(self.rare, self.rare_trials, alpha / 2)
        return max(0.0, more - math.exp(epsilon) * less)

    def least_epsilon(self, delta: float, alpha: float) -> float:
        """Return a lower bound of ln((P[likely] - delta) / P[rare]), false with at most that chance."""
        more = proportion_above(self.likely, self.likely_trials, alpha / 2) - delta
        less = proportion_below(self.rare, self.rare_trials, alpha / 2)
        return max(0.0, math.log(more / less)) if more > 0 else 0.0


@dataclass(frozen=True, slots=True)
class JointCounts(Counts):
    """Counts whose two probabilities are bounded together, which is sharper if neither is near 0.

    Let n be a number of runs, f a frequency, and p its probability. By Chernoff's bound, the probability
    that f > p and n kl(f, p) >= x is e^-x at most. The same holds for f < p. If two independent numbers have
    such tails, their sum is x or more with probability (1 + x) e^-x at most. Here one number is of the
    likely side, and 0 unless f > p. The other is of the rare side, and 0 unless f < p. A pair is ruled out
    if (1 + x) e^-x is ``alpha`` or less.
    """

    def least_delta(self, epsilon: float, alpha: float) -> float:
        """Return a lower bound of P[likely] - e^epsilon P[rare], false with a chance of ``alpha`` at most."""
        return _largest(lambda delta: self._rules_out(epsilon, delta, alpha), 1.0)

    def least_epsilon(self, delta: float, alpha: float) -> float:
        """Return a lower bound of ln((P[likely] - delta) / P[rare]), false with at most that chance."""
        return _largest(lambda epsilon: self._rules_out(epsilon, delta, alpha), _MOST_EPSILON)

    def _rules_out(self, epsilon: float, delta: float, alpha: float) -> bool:
        """Whether no likely pair of probabilities has P[likely] <= e^epsilon P[rare] + delta."""
        factor, often = math.exp(epsilon), self.likely / self.likely_trials
        seldom = self.rare / self.rare_trials
        # The nearest such pair lies on the line, between these two.
        low, high = seldom, (often - delta) / factor
        if low >= high:
            return False

        def distance(rare: float) -> float:
            likely = min(1.0, delta + factor * rare)
            return self.likely_trials * _kl(often, likely) + self.rare_trials * _kl(seldom, rare)

        least = least_of_convex(distance, low, high)
        return math.isinf(least) or (1 + least) * math.exp(-least) <= alpha


def _kl(frequency: float, p: float) -> float:
    """Return the relative entropy of two coins."""
    if (p <= 0 and frequency > 0) or (p >= 1 and frequency < 1):
        return math.inf
    more = frequency * math.log(frequency / p) if frequency > 0 else 0.0
    return more + ((1 - frequency) * math.log((1 - frequency) / (1 - p)) if frequency < 1 else 0.0)


def least_of_convex(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the minimum between the ends, by golden sections."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_ENOUGH_STEPS):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return min(at_left, at_right)


def _largest(holds: Callable[[float], bool], high: float) -> float:
    """Return the largest number up to which something holds, or a little less; 0 if it never does."""
    low = 0.0
    for _ in range(_ENOUGH_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
