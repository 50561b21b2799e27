"""Confidence bounds of epsilon and delta from counts of an event, with a stated chance of error."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Counts", "proportion_above", "proportion_below"]

_ENOUGH_STEPS = 60


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
