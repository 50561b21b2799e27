"""Weights of which items return what they have beyond a limit, in fractions where no rounding is meant."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import floor, isqrt

from .noise import UNIT


def part(most: int) -> Fraction:
    """The largest multiple of 1/1024 that the proof allows: lambda <= 1 - (1 + lambda^2) / (2 sqrt(most))."""
    allowed = (Fraction(n, 1024) for n in range(1024, -1, -1))
    return next(p for p in allowed if (1 + p * p) ** 2 <= 4 * most * (1 - p) ** 2)


def adaptive(bounded, parameters: dict, _key: bytes) -> dict:
    """First weights, what is cut off them, what returns to users, and what these put on their items."""
    limit, most = parameters["limit"], parameters["most"]
    users = [items for items in bounded.values() if 4 <= len(items) <= most]
    first, back, whole = defaultdict(int), defaultdict(Fraction), defaultdict(int)
    for items in users:
        for item in items:
            first[item] += UNIT // len(items)
    cut = {i: Fraction(2**50 * max(0, w - limit) // w, 2**50) for i, w in first.items()}
    for items in users:
        returned = Fraction(UNIT // len(items), UNIT) * sum(cut[item] for item in items)
        for item in items:
            back[item] += Fraction(floor(returned * 2**60), 2**60)
    for items in bounded.values():
        for item in items:
            whole[item] += isqrt(UNIT**2 // len(items))
    return {
        item: weight - max(0, first[item] - limit) + floor(part(most) / most * back[item] * UNIT)
        for item, weight in whole.items()
    }
