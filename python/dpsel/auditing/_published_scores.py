"""The exact law of the published score of an item that some users hold, all of whom hold nothing else.

Every user then gives the item its whole weight in every round, until the item settles. The laws with and
without one of the users give the epsilon and delta that a mechanism needs at least.
"""

from __future__ import annotations

import math
from itertools import chain
from operator import mul
from typing import TYPE_CHECKING, Final

from dpsel.auditing._exact import TOLERANCE, Needed, epsilon_for, excess, moved_numbers
from dpsel.auditing._scored import released_alone, scored, tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsel.accounting import ApproxDP, Counts
    from dpsel.auditing._exact import Curve
    from dpsel.auditing._scored import Scored
    from dpsel.mechanisms import SelectionMechanism

__all__ = ["Published", "levels_of", "worst_of_scored"]

#: Cells in one standard deviation of the noise of a round, and how many such deviations count.
_CELLS: Final = 4
_REACH: Final = 8.0
#: How far beyond the threshold the users lift an item, in standard deviations of a score.
_LIFTS: Final = (1.0, 2.5, 4.0)


class Published:
    """The law of a published score: the masses of cells from the threshold on, and that of no publication."""

    def __init__(self, rounds: Scored, users: int) -> None:
        """Follow the score of an item of so many users, round by round.

        The settled bound is rounded to a cell. So this is the law of a calibration that differs in steering
        alone, for which the same guarantee holds.
        """
        self.width = min(step.sigma for step in rounds.steps) / _CELLS
        below = math.ceil((rounds.threshold + _REACH * rounds.sigma) / self.width)
        above = math.ceil(2 * _REACH * rounds.sigma / self.width)
        self._places = [rounds.threshold + (cell + 0.5) * self.width for cell in range(-below, above)]
        weight = users * rounds.size(1).cap
        origin = min(range(len(self._places)), key=lambda cell: abs(self._places[cell]))
        # The first round starts at a score of exactly 0, not at the middle of a cell.
        start = self._places[origin]
        masses = [0.0] * len(self._places)
        masses[origin] = 1.0
        settled = [0.0] * len(self._places)
        for number, step in enumerate(rounds.steps):
            drift = step.share * weight - (0.0 if number else start)
            masses, settled = self._moved(masses, step.sigma, drift), self._moved(settled, step.sigma, 0.0)
            if number + 1 < len(rounds.steps):
                for cell, place in enumerate(self._places):
                    if place >= step.settled:
                        settled[cell] += masses[cell]
                    if place >= step.settled or place < step.least:
                        masses[cell] = 0.0
        scores = [mass + other for mass, other in zip(masses, settled, strict=True)][below:]
        self.outcomes = [*scores, 1.0 - math.fsum(scores)]

    def _moved(self, masses: Sequence[float], sigma: float, drift: float) -> list[float]:
        """Return the masses after noise and a drift."""
        shift, reach = round(drift / self.width), math.ceil(_REACH * sigma / self.width)
        rest = drift - shift * self.width
        density = self.width / (sigma * math.sqrt(2 * math.pi))
        kernel = [
            density * math.exp(-(((cell * self.width - rest) / sigma) ** 2) / 2)
            for cell in range(reach, -reach - 1, -1)
        ]
        edge = [0.0] * (reach + max(shift, 0))
        end = [0.0] * (reach + max(-shift, 0))
        padded = list(chain(edge, masses, end))
        first = max(-shift, 0)
        return [
            math.fsum(map(mul, kernel, padded[first + cell : first + cell + len(kernel)]))
            for cell in range(len(masses))
        ]


def worst_of_scored(
    mechanism: SelectionMechanism, privacy: ApproxDP, bound: int, counts: Counts | None = None
) -> Needed:
    """Return the epsilon and delta that a user of one item needs.

    If others have the item, its published score is a number that the user moves. If nobody else has it, the
    item comes out with a probability that counts as delta alone. With numbers the user also has public items,
    so that it moves numbers as far as it may whatever comes out.
    """
    rounds = scored(mechanism, privacy, bound, counts)
    moved = 0.0 if counts is None else moved_numbers(mechanism, privacy, bound, counts)
    alone = released_alone(rounds)
    # Scores that are not published because of their noise.
    hidden = tail(rounds.threshold / rounds.sigma) if rounds.is_checked else 0.0

    def shared(users: int) -> Curve:
        fewer, more = (Published(rounds, number).outcomes for number in (users, users + 1))
        pairs = list(zip(more, fewer, strict=True))

        def curve(epsilon: float) -> float:
            there = math.fsum(excess(p, q, epsilon, moved) for p, q in pairs)
            back = math.fsum(excess(q, p, epsilon, moved) for p, q in pairs)
            return max(there, back) - hidden

        return curve

    def lone(epsilon: float) -> float:
        return alone + excess(1 - alone, 1.0, epsilon, moved)

    curves = [shared(users) for users in levels_of(rounds, _LIFTS)]
    most, by_itself = max(curve(privacy.epsilon) for curve in curves), lone(privacy.epsilon)
    if alone > privacy.delta + TOLERANCE:
        return Needed("1 item of nobody else", math.inf, max(most, by_itself))
    tables = "1 item of some others" if most >= by_itself else "1 item of nobody else"
    least = max(epsilon_for(curve, privacy.delta + TOLERANCE) for curve in (*curves, lone))
    return Needed(tables, least, max(most, by_itself))


def levels_of(rounds: Scored, lifts: Sequence[float]) -> set[int]:
    """Return how many users lift an item so far beyond the threshold, in standard deviations of a score."""
    return {round((rounds.threshold + lift * rounds.sigma) / rounds.size(1).cap) for lift in lifts}
