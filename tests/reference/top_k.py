"""Counts and laws of the levels behind a joint draw, by the product formula, in exact fractions.

The laws of the mechanisms themselves, by enumeration, are in ``dpsel.auditing``.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction


def sequences_within(counts: list[int], k: int, level: int) -> int:
    """The product formula for the number of sequences of loss at most `level`."""
    best = sorted(counts, reverse=True)
    at_least = [sum(count >= best[place] - level for count in counts) for place in range(k)]
    return prod(number - place for place, number in enumerate(at_least))


def level_law(counts: list[int], k: int, q: Fraction) -> dict[int, Fraction]:
    """The law of the level in exact fractions: M(l) q^l, the last level with all of the tail."""
    last = max(counts) - min(counts)
    weights = {level: sequences_within(counts, k, level) * q**level for level in range(last)}
    weights[last] = sequences_within(counts, k, last) * q**last / (1 - q)
    total = sum(weights.values())
    return {level: weight / total for level, weight in weights.items()}
