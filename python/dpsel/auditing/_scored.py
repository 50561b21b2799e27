"""Mechanisms whose rounds add up to a score: what their attacks read off a calibration, and laws of it.

This file alone knows what the rounds of such a mechanism look like. Everything is in units of weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel._request import selection_request
from dpsel.auditing._exact import epsilon_for

if TYPE_CHECKING:
    from dpsel.accounting import ApproxDP, Counts
    from dpsel.mechanisms import SelectionMechanism

__all__ = ["Scored", "gaussian_delta", "gaussian_epsilon", "is_scored", "released_alone", "scored", "tail"]

_UNIT: Final = 1 << 30
_SHARES: Final = 1 << 20
#: Points in one standard deviation of a step, and how many such deviations count.
_NODES: Final = 4
_REACH: Final = 8.0


def is_scored(mechanism: Any) -> bool:
    """Whether releases of the mechanism depend on the scores of several rounds."""
    return bool(mechanism.weights == "cumulative_score")


@dataclass(frozen=True, slots=True)
class Step:
    """One round: its share of a user's weight and its part of the noise.

    Below ``least`` an item is abandoned. From ``settled`` on it gets no more weight.
    """

    share: float
    sigma: float
    least: float
    settled: float


@dataclass(frozen=True, slots=True)
class Size:
    """The norm of all weights of a user of at most so many items, and the most that one item gets of them."""

    items: int
    norm: float
    cap: float


@dataclass(frozen=True, slots=True)
class Scored:
    """The calibrated rounds of a mechanism that publishes scores."""

    steps: tuple[Step, ...]
    threshold: float
    sizes: tuple[Size, ...]
    #: Whether an item is held back if its noise alone reaches the threshold.
    is_checked: bool

    @property
    def sigma(self) -> float:
        """The standard deviation of all noise in a score."""
        return math.sqrt(math.fsum(step.sigma**2 for step in self.steps))

    def size(self, items: int) -> Size:
        """Return what a user of so many items may give."""
        return next(size for size in self.sizes if size.items >= items)

    @property
    def level(self) -> int:
        """How many users an item may have so that one more lifts its expected score to the threshold."""
        return max(1, math.ceil(self.threshold / self.size(1).cap) - 1)


def scored(
    mechanism: SelectionMechanism, privacy: ApproxDP, bound: int, counts: Counts | None = None
) -> Scored:
    """Return the rounds with which releases are made."""
    return rounds_of(selection_request(privacy, bound, mechanism, counts=counts).calibrate()["rounds"])


def rounds_of(rounds: list[dict[str, Any]]) -> Scored:
    """Return the rounds of a calibration."""
    last = rounds[-1]["publish"]
    steps = tuple(
        Step(
            share,
            each["noise"]["sigma"],
            least=each["futility_bound"] / _UNIT,
            settled=each["settled_bound"] / _UNIT,
        )
        for each in rounds
        for share in [each["share"] / _SHARES]
    )
    sizes = tuple(Size(each["items"], each["norm"] / _UNIT, each["cap"] / _UNIT) for each in last["sizes"])
    return Scored(
        steps, last["threshold"] / _UNIT, sizes, is_checked=last["noise_check"] == "below_threshold"
    )


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the delta of a normal number of variance 1 that moves by ``mu``."""
    return tail(epsilon / mu - mu / 2) - math.exp(epsilon) * tail(epsilon / mu + mu / 2)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon that such a number needs for this delta."""
    return epsilon_for(lambda epsilon: gaussian_delta(epsilon, mu), delta)


def tail(x: float) -> float:
    """Return the probability that a standard normal number is at least ``x``."""
    return math.erfc(x / math.sqrt(2)) / 2


def released_alone(rounds: Scored) -> float:
    """Return the probability that the one item of a lone user is released.

    In every round the user gives it the round's share of its weight. The law of the score of an item that is
    still in play is kept at evenly spaced points, from the least score on: the trapezoidal rule. That an item
    may settle is left out: it changes the probability by less than one part in ten thousand.
    """
    weight = rounds.size(1).cap
    points, law, mean, spread = [0.0], [1.0], 0.0, 0.0
    for step in rounds.steps[:-1]:
        drift = step.share * weight
        mean, spread = mean + drift, math.hypot(spread, step.sigma)
        low = max(step.least, mean - _REACH * spread)
        width = step.sigma / _NODES
        grid = [low + i * width for i in range(max(1, math.ceil((mean + _REACH * spread - low) / width)))]
        law = _moved(points, law, grid, drift, step.sigma, is_cut=low == step.least)
        points = grid
    last = rounds.steps[-1]
    missing = rounds.threshold - last.share * weight

    def released(score: float) -> float:
        turned_away = tail((missing + weight - score) / last.sigma) if rounds.is_checked else 0.0
        return tail((missing - score) / last.sigma) - turned_away

    return math.fsum(mass * released(score) for score, mass in zip(points, law, strict=True))


def _moved(
    points: list[float], law: list[float], grid: list[float], drift: float, sigma: float, *, is_cut: bool
) -> list[float]:
    """Return the masses on the points of ``grid`` after one step."""
    spacing = points[1] - points[0] if len(points) > 1 else math.inf
    width = grid[1] - grid[0] if len(grid) > 1 else sigma
    factor = width / (sigma * math.sqrt(2 * math.pi))
    moved = []
    for place in grid:
        first, last = (
            round(min(max((place - drift - points[0] + side * _REACH * sigma) / spacing, 0), len(points)))
            for side in (-1, 1)
        )
        near = zip(points[first : last + 1], law[first : last + 1], strict=True)
        moved.append(
            factor * math.fsum(m * math.exp(-(((place - drift - x) / sigma) ** 2) / 2) for x, m in near)
        )
    if is_cut:
        moved[0] /= 2
    return moved
