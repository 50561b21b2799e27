"""Weightings in which users come one after the other, unit by unit or in whole numbers."""

from __future__ import annotations

from collections import Counter
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


def preferred(rows, max_items: int, key: bytes, prior: dict | None = None) -> dict:
    """Each user's first items in its order of preference: by its own number of rows, or by a public table."""
    counts: dict = {}
    for user, item in rows:
        if item is not None:
            own = counts.setdefault((type(user), user), Counter())
            own[type(item), item] += 1

    def place(own: Counter, item: tuple) -> tuple:
        frequency = own[item] if prior is None else prior.get(item[1], float("-inf"))
        return -frequency, prf.item_digest(key, item[1])

    return {
        user: sorted(own, key=lambda item, own=own: place(own, item))[:max_items]
        for user, own in counts.items()
    }


def greedy(ordered, cutoff: int, key: bytes) -> dict:
    """Each user fills its items up to the cutoff, the preferred ones first."""
    weights: dict = {}
    for items in in_order(ordered, key):
        left = UNIT
        for item in items:
            gift = min(left, cutoff - weights.get(item, 0))
            weights[item] = weights.get(item, 0) + gift
            left -= gift
    return weights
