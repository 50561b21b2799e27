"""The law of the k items of largest noisy count, for independent discrete Laplace noise and any counts.

The same law as ``laplace_top_k`` of ``_laws.py``, which enumerates all noise. Here sums over the value of the
last picked count take its place, so that more items and rarer answers are quick to compute.
"""

from __future__ import annotations

from itertools import accumulate, pairwise, permutations
from math import ceil, exp, fsum, prod
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dpsel.auditing._laws import Law

__all__ = ["laplace_top_k_by_sums"]

#: Noise beyond so many times its scale has no weight in double precision, even beside answers that are rare.
_REACH: Final = 80


def laplace_top_k_by_sums(counts: list[int], k: int, rate: float) -> Law:
    """Return the probability of each sequence of k items; equal noisy counts are ordered by position."""
    ratio, reach = exp(-rate), ceil(_REACH / rate)
    # Descending, as items are picked.
    values = range(max(counts) + reach, min(counts) - reach - 1, -1)
    masses = [[_mass(ratio, value - count) for value in values] for count in counts]
    law: Law = {}
    for picked in permutations(range(len(counts)), k):
        last = _last_values(picked, masses)
        left = [item for item in range(len(counts)) if item not in picked]
        law[picked] = fsum(
            chance * prod(_at_most(ratio, value - counts[item] - (item < picked[-1])) for item in left)
            for chance, value in zip(last, values, strict=True)
            if chance
        )
    return law


def _last_values(picked: tuple[int, ...], masses: list[list[float]]) -> list[float]:
    """Return for each value the chance that these counts fall in this order and the last one has it."""
    chances = masses[picked[0]]
    for before, item in pairwise(picked):
        sums = list(accumulate(chances))
        above = sums if before < item else [0.0, *sums[:-1]]
        chances = [mass * higher for mass, higher in zip(masses[item], above, strict=True)]
    return chances


def _mass(ratio: float, noise: int) -> float:
    power: float = ratio ** abs(noise)
    return (1 - ratio) / (1 + ratio) * power


def _at_most(ratio: float, noise: int) -> float:
    """Return the probability of at most this noise."""
    if noise < 0:
        below: float = ratio**-noise / (1 + ratio)
        return below
    above: float = ratio ** (noise + 1) / (1 + ratio)
    return 1 - above
