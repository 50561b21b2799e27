"""Weights of which items return what they have beyond a limit, in fractions where no rounding is meant."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from . import prf, steered
from .noise import UNIT, noise


@dataclass(frozen=True)
class Look:
    """A round that only says how users spread their weight in the next one, from a report."""

    scale: float
    abandon: int
    course: int
    aim: int


def factor(noisy: int, look: Look) -> int:
    """What an item of this noisy weight gets, of 256; 0 leaves it out."""
    if noisy < look.abandon:
        return 0
    way = max(look.course - look.abandon, 1)
    chance = min(noisy - look.abandon, way) * steered.ONE // way
    worth = chance**2 * steered.FULL // steered.ONE**2
    wanted = steered.FULL * max(look.aim, 0) // max(noisy, 1)
    return min(max(min(worth, wanted), 1), steered.FULL)


def looked_at(items, sums: dict, look: Look, number: int, key: bytes) -> dict:
    """The factor of every item, whether or not anybody keeps it."""
    words = {item: prf.noise_word(key, number, item[1]) for item in items}
    noisy = {item: sums.get(item, 0) + noise("gaussian", look.scale, words[item]) for item in items}
    return {item: factor(noisy[item], look) for item in items}


def adaptive(bounded, parameters: dict, _key: bytes, factors: dict | None = None) -> dict:
    """What users give, what is cut off it, what returns to users, and what these put on their items."""
    limit, most = parameters["limit"], parameters["most"]
    if factors is None:
        factors = {item: steered.FULL for items in bounded.values() for item in items}
    firm, loose, put = defaultdict(int), defaultdict(int), defaultdict(Fraction)
    givers = []
    for items in bounded.values():
        weights = steered.user_weights(items, factors, UNIT)
        full = [item for item in weights if factors[item] == steered.FULL]
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
