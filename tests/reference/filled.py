"""The number of a look at what Matching fills, in its plainest form: docs/algorithms/matching_or.md."""

from __future__ import annotations

from collections import Counter

from . import matching, prf

LOOK = 13
#: The most items of a user that a look sees, whatever the limit, and the percentage of the score.
SEEN, PERCENT = 30, 50


def beyond_half(users: dict, order: list, quota: int, most: int) -> int:
    """Twice the filled slots beyond half a quota, summed over items; `most` slots are offered of each."""
    filled = Counter(item for item, _ in matching.kept(users, matching.slots_of(order, quota, most)))
    return sum(max(0, 2 * min(level, quota) - quota) for level in filled.values())


def held(users: dict, quota: int) -> int:
    """The same of all holders, each counted for all of its items, up to one and a half quotas."""
    holders = Counter(item for items in users.values() for item in items)
    return sum(min(2 * quota, max(0, 2 * count - quota)) for count in holders.values())


def score(users: dict, order: list, quota: int, percent: int) -> int:
    """Above 0 if more than a percentage of the items with enough holders are filled."""
    return 200 * beyond_half(users, order, quota, quota) - percent * held(users, quota)


def most_change(percent: int, limit: int) -> int:
    """How much a user of at most that many kept items changes the score."""
    return max(400, 2 * percent * limit)


def noise(key: bytes, rate: float) -> int:
    """The noise of a score."""
    word = prf.aes(prf.subkey(key, LOOK, 0), 0)
    return matching.geometric(rate, word % 2**64) - matching.geometric(rate, word >> 64)
