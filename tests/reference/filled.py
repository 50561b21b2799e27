"""The number of a look at what Matching fills, in its plainest form: docs/algorithms/matching_or.md."""

from __future__ import annotations

from collections import Counter

from . import matching, prf

LOOK = 13
#: The most items of a user that a look sees, whatever the limit. Users who keep so many fill no slot.
SEEN = 16
#: How much a user raises the score at most, by filling a slot, and lowers it, by all that it holds.
MOST_FILLED, MOST_HELD = 64, 8 * SEEN


def beyond_a_quarter(users: dict, order: list, quota: int, most: int) -> int:
    """Four times the filled slots beyond a quarter of the quota, of all items; `most` are offered of each."""
    few = {user: items for user, items in users.items() if len(items) < SEEN}
    filled = Counter(item for item, _ in matching.kept(few, matching.slots_of(order, quota, most)))
    return sum(max(0, 4 * min(level, quota) - quota) for level in filled.values())


def held(users: dict, quota: int) -> int:
    """Eight times the holders beyond an eighth of a quota and beyond one, up to six quotas, of all items."""
    holders = Counter(item for items in users.values() for item in items)
    return sum(min(48 * quota, max(0, 8 * count - max(8, quota))) for count in holders.values())


def score(users: dict, order: list, quota: int) -> int:
    """Above 0 if more items are filled than are held by many, both softly."""
    return 16 * beyond_a_quarter(users, order, quota, quota) - held(users, quota)


def noise(key: bytes, rate: float) -> int:
    """The noise of a score."""
    word = prf.aes(prf.subkey(key, LOOK, 0), 0)
    return matching.geometric(rate, word % 2**64) - matching.geometric(rate, word >> 64)
