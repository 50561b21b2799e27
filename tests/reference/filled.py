"""The number of a look at what Matching fills, in the plainest form there is: docs/algorithms/look.md."""

from __future__ import annotations

from collections import Counter

from . import matching


def full(users: dict, order: list, quota: int, most: int) -> int:
    """How many items have all slots of their turn filled; `most` slots are offered of each."""
    filled = Counter(item for item, _ in matching.kept(users, matching.slots_of(order, quota, most)))
    return sum(level >= quota for level in filled.values())


def held(users: dict, quota: int) -> int:
    """How many items have a quota of holders, in parts of 2 quota: nothing up to a half, all from one and a half."""
    holders = Counter(item for items in users.values() for item in items)
    return sum(min(2 * quota, max(0, 2 * count - quota)) for count in holders.values())


def score(users: dict, order: list, quota: int) -> int:
    """Above 0 if more than half of the items that have enough holders are filled, all in parts of 2 quota."""
    return 4 * quota * full(users, order, quota, quota) - held(users, quota)


def most_change(quota: int, limit: int) -> int:
    """How much a user of that many kept items changes the score."""
    return max(4 * quota, 2 * limit)
