"""Weightings in which users come one after the other, unit by unit or in whole numbers."""

from __future__ import annotations

from math import isqrt

from . import prf
from .noise import UNIT


def in_order(bounded, key: bytes) -> list[list]:
    """The users' items, users in ascending order of their words."""
    users = sorted(bounded, key=lambda user: prf.order_word(key, user[1]))
    return [bounded[user] for user in users if bounded[user]]


def descent_l1(bounded, parameters: dict, key: bytes) -> dict:
    """Each user places its quanta one by one, in turns by digest, on its items below the cutoff."""
    quantum, passes = parameters.get("quantum", 1), parameters["passes"]
    cutoff = parameters["cutoff"] // quantum
    weights = dict.fromkeys((item for items in bounded.values() for item in items), 0)
    for items in in_order(bounded, key) * passes:
        turns = sorted(items, key=lambda item: prf.item_digest(key, item[1]))
        left = UNIT // quantum // passes
        while left and (still := [item for item in turns if weights[item] < cutoff]):
            # So many whole rounds pass before an item is full or the quanta run out.
            rounds = min(left // len(still), *(cutoff - weights[item] for item in still))
            for item in still:
                weights[item] += rounds
            left -= rounds * len(still)
            if rounds == 0:
                for item in still[:left]:
                    weights[item] += 1
                left = 0
    return {item: weight * quantum for item, weight in weights.items()}


def ceil_sqrt(n: int) -> int:
    """The smallest whole number whose square is at least n."""
    return isqrt(n - 1) + 1 if n else 0


def descent_l2(bounded, parameters: dict, key: bytes) -> dict:
    """Each user moves its items towards the cutoff, on a grid as fine as 63 bits allow."""
    passes, max_items = parameters["passes"], parameters["max_items"]
    bits = min(30, 63 - (parameters["cutoff"] * ceil_sqrt(max_items)).bit_length())
    cutoff, budget = parameters["cutoff"] << bits, (UNIT << bits) // passes
    weights = dict.fromkeys((item for items in bounded.values() for item in items), 0)
    for items in in_order(bounded, key) * passes:
        gaps = {item: cutoff - weights[item] for item in items}
        norm = ceil_sqrt(sum(gap * gap for gap in gaps.values()))
        for item, gap in gaps.items():
            weights[item] += gap if norm <= budget else (gap * ((budget << 64) // norm)) >> 64
    return {item: weight >> bits for item, weight in weights.items()}


def greedy(bounded, parameters: dict, key: bytes) -> dict:
    """Each user fills its items up to the cutoff, the preferred ones first."""
    cutoff, frequency = parameters["cutoff"], parameters.get("frequency", {})
    weights = dict.fromkeys((item for items in bounded.values() for item in items), 0)
    for items in in_order(bounded, key):
        left = UNIT
        for item in sorted(items, key=lambda i: (-frequency.get(i[1], 0), prf.item_digest(key, i[1]))):
            gift = min(left, cutoff - weights[item])
            weights[item] += gift
            left -= gift
    return weights
