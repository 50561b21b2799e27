"""What epsilon and delta a law needs that can be computed: one round, weights that only the holders decide.

The release probabilities come from the shipped thresholds and curves (``keep_probabilities`` of the core), in
double precision; so bounds are compared with the claim up to ``TOLERANCE``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from dpsel import _core_calls
from dpsel._request import selection_request
from dpsel.mechanisms import GreedyFrequency
from dpsel.release._wording import quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpsel.accounting import ApproxDP, Counts
    from dpsel.mechanisms import SelectionMechanism

__all__ = [
    "TOLERANCE",
    "Needed",
    "divergence",
    "epsilon_for",
    "excess",
    "moved_numbers",
    "worst_of_selection",
]

#: How far rounding errors of double precision may put a computed delta above the true one.
TOLERANCE: Final = 1e-13

_LEVELS: Final = (0.001, 0.02, 0.2, 0.5, 0.8, 0.98, 0.999)
_MOST_SIZES: Final = 8

#: delta as a function of epsilon.
Curve: TypeAlias = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Needed:
    """The least epsilon and delta of a law over a family of tables, and the tables that need this delta."""

    tables: str
    epsilon: float
    delta: float


def worst_of_selection(
    mechanism: SelectionMechanism, privacy: ApproxDP, bound: int, counts: Counts | None = None
) -> Needed | None:
    """Return the epsilon and delta of the worst tables of a family; ``None`` if the law is not computed.

    A user of k items, t of which nobody else has, is added to n users of its other k - t items. With numbers
    it also has public items, so that it moves numbers as far as it may whatever comes out.
    """
    if mechanism.weights == "cumulative_score" or mechanism.sensitivity == "chosen":
        # A release then depends on more than the weight of the item in one round.
        return None
    request = selection_request(privacy, bound, mechanism, counts=counts).json
    moved = 0.0 if counts is None else moved_numbers(mechanism, privacy, bound, counts)
    sizes = _sizes(bound) if mechanism.additive else [1]
    family = [table for size in sizes for table in _tables_of_size(request, size, moved)]
    # Some users give all of their weight to one of their items.
    spreads = mechanism.sensitivity != "one_item" and not isinstance(mechanism, GreedyFrequency)
    if not mechanism.additive and spreads:
        family += [_novel(request, size, moved) for size in _sizes(bound)]
    name, curve = max(family, key=lambda table: table[1](privacy.epsilon))
    least = 0.0
    for _, other in family:
        if other(least) > privacy.delta + TOLERANCE:
            least = epsilon_for(other, privacy.delta + TOLERANCE)
    return Needed(name, least, curve(privacy.epsilon))


def epsilon_for(delta_of: Curve, delta: float) -> float:
    """Return the least epsilon at which no more than this delta is needed, by bisection from below."""
    if delta_of(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while delta_of(high) > delta and high < 1e3:  # noqa: PLR2004 - nobody claims that much
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) > delta else (low, middle)
    return low


def divergence(likely: dict[tuple[int, ...], float], rare: dict[tuple[int, ...], float], eps: float) -> float:
    """Return the hockey-stick divergence of two enumerated laws."""
    return math.fsum(max(0.0, p - math.exp(eps) * rare.get(outcome, 0.0)) for outcome, p in likely.items())


def excess(likely: float, rare: float, epsilon: float, moved: float) -> float:
    """Return what one outcome of these two probabilities adds to the divergence.

    A normal number of variance 1 comes with the outcome. The user moves it by ``moved``.
    """
    factor = math.exp(epsilon)
    if moved == 0 or likely <= 0 or rare <= 0:
        return max(0.0, likely - factor * rare)
    cut = (epsilon + math.log(rare / likely)) / moved
    return max(0.0, likely * _tail(cut - moved / 2) - factor * rare * _tail(cut + moved / 2))


def _tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def moved_numbers(mechanism: SelectionMechanism, privacy: ApproxDP, bound: int, counts: Counts) -> float:
    """Return how far a user moves the vector of all numbers, in standard deviations of their noise."""
    found = selection_request(privacy, bound, mechanism, counts=counts).calibrate()["counts"]
    rows = counts.max_rows_per_item or 1
    return rows * math.sqrt(found["max_counted_items"]) / float(found["noise"]["sigma"])


def _sizes(bound: int) -> list[int]:
    steps = {1 + round((bound - 1) * (i / (_MOST_SIZES - 1)) ** 2) for i in range(_MOST_SIZES)}
    return sorted(steps)


def _tables_of_size(request: str, size: int, moved: float) -> Iterator[tuple[str, Curve]]:
    """Return tables with a user of ``size`` items, and the delta of each as a function of epsilon."""
    needed = _core_calls.users_needed(request, size, list(_LEVELS))
    levels = sorted({max(1, n + step) for n in needed if n is not None for step in (-2, -1, 0)})
    asked = sorted({1, *levels, *(n + 1 for n in levels)})
    keep = dict(zip(asked, _core_calls.keep_probabilities(request, size, asked), strict=True)) | {0: 0.0}
    for novel in sorted({0, 1, size // 2, size - 1, size}):
        for level in levels if novel < size else [0]:
            chances = (keep[level], keep[level + 1], keep[1])
            yield _name(size, novel, level), _delta_of(size - novel, novel, *chances, moved)


def _novel(request: str, size: int, moved: float) -> tuple[str, Curve]:
    (chance,) = _core_calls.keep_probabilities(request, size, [1])
    return _name(size, size, 0), _delta_of(0, size, 0.0, 0.0, chance, moved)


def _name(size: int, novel: int, level: int) -> str:
    if novel == size:
        return f"{quantity(size, 'item')} of nobody else"
    own = f", {novel} of nobody else" if novel else ""
    return f"{quantity(size, 'item')} of {quantity(level, 'other')}{own}"


def _delta_of(
    shared: int, novel: int, before: float, after: float, alone: float, moved: float = 0.0
) -> Curve:
    """Return the divergence, both ways, of the laws of ``shared`` items and of ``novel`` ones.

    Without the user the shared items come out with probability ``before`` each and the others never; with it
    with ``after`` and ``alone``. All of them are independent. Whatever comes out, the user moves numbers by
    ``moved`` standard deviations of their noise.
    """
    hidden = math.exp(novel * math.log1p(-alone)) if alone < 1 else 0.0 if novel else 1.0
    shown = -math.expm1(novel * math.log1p(-alone)) if alone < 1 else 1.0 - hidden
    ways = [math.comb(shared, n) for n in range(shared + 1)]
    without = [c * before**n * (1 - before) ** (shared - n) for n, c in enumerate(ways)]
    with_user = [c * hidden * after**n * (1 - after) ** (shared - n) for n, c in enumerate(ways)]

    def delta(epsilon: float) -> float:
        pairs = list(zip(without, with_user, strict=True))
        forwards = shown + math.fsum(excess(b, a, epsilon, moved) for a, b in pairs)
        return max(forwards, math.fsum(excess(a, b, epsilon, moved) for a, b in pairs))

    return delta


def cutoff_of(mechanism: SelectionMechanism, privacy: ApproxDP, bound: int) -> float | None:
    """Return the weight at which an item of a sequential mechanism is full, in units."""
    (first, *_) = selection_request(privacy, bound, mechanism).calibrate()["rounds"]
    weighting = first["weighting"]
    if isinstance(weighting, dict) and "matching" in weighting:
        return float(weighting["matching"]["quota"])
    if not isinstance(weighting, dict) or "greedy" not in weighting:
        return None
    return float(weighting["greedy"]["cutoff"]) / 2**30
