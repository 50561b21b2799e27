"""Shrunken estimates of the numbers of a release: empirical Bayes over what is published alone.

The model: a released item has x users (or rows), with a density that falls like a power, x^-a, where items
can come out. Below, it is cut off by the probability of release, stretched by a factor s. The published
number is x plus noise of a known scale. What is known of a and s is in all numbers of the release: every
pair of them on a grid is weighed by its likelihood. An estimate is the mean of x given its number. All is
computed in standard deviations of the noise, on a grid. Numbers far above it get the limit of the formula.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

from dpsel import _core_calls
from dpsel.release._counts import counts_of
from dpsel.release._wording import as_it_ran

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dpsel.release._report import Report

__all__ = ["shrunken"]

#: Distance of the points of the grid, its end, and where numbers are far above the noise; noise beyond the
#: reach is not looked at. All in standard deviations.
_STEP, _END, _FAR, _REACH = 0.25, 40.0, 32.0, 8.0
_POINTS = tuple((place + 0.5) * _STEP for place in range(round(_END / _STEP)))
_NOISE = tuple(math.exp(-0.5 * (distance * _STEP) ** 2) for distance in range(round(_REACH / _STEP) + 1))
#: The exponents a, and the factors s. What users really give to an item is not what `plan` assumes of them.
_SLOPES = tuple(1.1 + 0.3 * place for place in range(14))
_STRETCHES = tuple(2.0 ** (place / 2) for place in range(-8, 13))
#: Pairs whose likelihood is smaller by this, in natural logarithms, do not matter.
_NEGLIGIBLE = 30.0
#: Noise below this, in users or rows, is hardly more than rounding: there is nothing to shrink.
_LEAST_NOISE = 0.5


def shrunken(report: Report, numbers: Sequence[int], public: Sequence[bool]) -> list[float]:
    """Return an estimate for each number of a release; those of public items were not selected, and stay."""
    scale = float(counts_of(report)["scale"])
    selected = [number / scale for number, apart in zip(numbers, public, strict=True) if not apart]
    if scale < _LEAST_NOISE or not selected:
        return [float(number) for number in numbers]
    density, slope = _density(selected, scale, _release_probability(report))
    known: dict[int, float] = {}
    for number, apart in zip(numbers, public, strict=True):
        if not apart and number not in known:
            known[number] = scale * _mean(number / scale, density, slope)
    return [float(number) if apart else known[number] for number, apart in zip(numbers, public, strict=True)]


def _release_probability(report: Report) -> Callable[[float], float]:
    """Return the public probability of release of an item, by its number of users."""
    ran = as_it_ran(report)
    held = int(ran["max_items_per_user"]) * int(ran["mechanism"].get("reach", 1))
    users = sorted({round(1.1**power) for power in range(233)})
    found = _core_calls.keep_probabilities(json.dumps({"task": "select"} | ran), held, users)
    places = [math.log(number) for number in users]

    def probability(number: float) -> float:
        place = math.log(max(number, 1.0))
        after = min(max(bisect_left(places, place), 1), len(places) - 1)
        part = min((place - places[after - 1]) / (places[after] - places[after - 1]), 1.0)
        return found[after - 1] * (1 - part) + found[after] * part

    return probability


def _density(
    numbers: list[float], scale: float, probability: Callable[[float], float]
) -> tuple[list[float], float]:
    """Return the density of x on the grid, and the exponent: means over all pairs, weighed by likelihood."""
    near = Counter(max(_place(number), -len(_NOISE)) for number in numbers if number < _FAR)
    far = [math.log(number) for number in numbers if number >= _FAR]
    weighed: list[tuple[float, float, list[float]]] = []
    for stretch in _STRETCHES:
        edge = [probability(point * scale / stretch) for point in _POINTS]
        for slope in _SLOPES:
            density = [kept * point**-slope for kept, point in zip(edge, _POINTS, strict=True)]
            # Beyond the grid everything comes out.
            total = math.fsum(density) * _STEP + _END ** (1 - slope) / (slope - 1)
            density = [value / total for value in density]
            likelihood = -slope * math.fsum(far) - len(far) * math.log(total)
            likelihood += math.fsum(
                times * math.log(max(_marginal(place, density), 1e-300)) for place, times in near.items()
            )
            weighed.append((likelihood, slope, density))
    best = max(likelihood for likelihood, _, _ in weighed)
    kept = [
        (math.exp(likelihood - best), slope, density)
        for likelihood, slope, density in weighed
        if likelihood > best - _NEGLIGIBLE
    ]
    total = math.fsum(weight for weight, _, _ in kept)
    mixed = [
        math.fsum(weight * density[place] for weight, _, density in kept) for place in range(len(_POINTS))
    ]
    return [value / total for value in mixed], math.fsum(weight * slope for weight, slope, _ in kept) / total


def _place(number: float) -> int:
    return round(number / _STEP - 0.5)


def _around(place: int) -> Iterable[int]:
    return range(max(0, place - len(_NOISE) + 1), min(len(_POINTS), place + len(_NOISE)))


def _marginal(place: int, density: list[float]) -> float:
    """Return the density of a published number there, but for a constant."""
    return math.fsum(density[other] * _NOISE[abs(other - place)] for other in _around(place))


def _mean(number: float, density: list[float], slope: float) -> float:
    """Return the mean of x given its number."""
    # Nothing below can come out. If that is the whole grid, what comes out lies beyond it.
    least = next((point for point, value in zip(_POINTS, density, strict=True) if value > 0.0), _END)
    if number >= _FAR:
        # The limit of the mean: noise around a density that falls like a power.
        return max(number - slope / number, least)
    shown = max(number, -_REACH)
    weighed = [
        (_POINTS[at], density[at] * math.exp(-0.5 * (_POINTS[at] - shown) ** 2))
        for at in _around(_place(shown))
    ]
    total = math.fsum(weight for _, weight in weighed)
    if total <= 0.0:
        # So far below all that can come out that the least of it is the nearest.
        return least
    return math.fsum(point * weight for point, weight in weighed) / total
