"""Weights of which items return what they have beyond a limit, in fractions where no rounding is meant."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from . import prf, steered
from .noise import UNIT, noise


@dataclass(frozen=True)
class Screening:
    """A round that sets importances for the next one, from a report."""

    scale: float
    futility_bound: int
    expected_path: int
    target: int


def importance_of(noisy: int, screening: Screening) -> int:
    """The importance of an item of this noisy weight; 0 abandons it."""
    if noisy < screening.futility_bound:
        return 0
    way = max(screening.expected_path - screening.futility_bound, 1)
    prospect = min(noisy - screening.futility_bound, way) * steered.ONE // way
    by_prospect = prospect**2 * steered.FULL // steered.ONE**2
    by_excess = steered.FULL * max(screening.target, 0) // max(noisy, 1)
    return min(max(min(by_prospect, by_excess), 1), steered.FULL)


def screened(items, sums: dict, screening: Screening, number: int, key: bytes) -> dict:
    """The importance of every item, whether or not anybody keeps it."""
    words = {item: prf.noise_word(key, number, item[1]) for item in items}
    noisy = {item: sums.get(item, 0) + noise("gaussian", screening.scale, words[item]) for item in items}
    return {item: importance_of(noisy[item], screening) for item in items}


def adaptive(bounded, parameters: dict, _key: bytes, importances: dict | None = None) -> dict:
    """What users give, what is cut off it, what returns to users, and what these put on their items."""
    limit, most = parameters["limit"], parameters["most"]
    if importances is None:
        importances = {item: steered.FULL for items in bounded.values() for item in items}
    firm, loose, put = defaultdict(int), defaultdict(int), defaultdict(Fraction)
    givers = []
    for items in bounded.values():
        weights = steered.user_weights(items, importances)
        full = [item for item in weights if importances[item] == steered.FULL]
        returning = full if 1 <= len(full) <= most else []
        if returning:
            givers.append((weights[returning[0]], returning))
        for item, weight in weights.items():
            (loose if item in returning else firm)[item] += weight
    cut = {item: Fraction(2**50 * max(0, w - limit) // w, 2**50) for item, w in loose.items() if w}
    for weight, items in givers:
        returned = Fraction(weight, UNIT) * sum(cut.get(item, 0) for item in items)
        each = returned / 3 / max(len(items), Fraction(most, 4))
        for item in items:
            put[item] += Fraction(floor(each * 2**60), 2**60)
    return {
        item: firm[item] + min(loose[item], limit) + floor(put[item] * UNIT) for item in {*firm, *loose, *put}
    }
