"""The number of a look at what Matching fills, in its plainest form: docs/algorithms/matching_or.md."""

from __future__ import annotations

from collections import Counter

from . import matching, prf

LOOK = 13
#: The most items of a user that a look sees, whatever the limit.
SEEN = 30
#: A user is a whole holder, of so many parts, of so many items.
PARTS, WHOLE = 64, 15
#: What a filled and a widely held item are in the two sums, for a quota of one slot.
FULL_ITEM, FULL_HOLDERS = 3, 40 * PARTS
#: How much a user raises the score at most, by filling a slot, and lowers it, by all that it holds.
MOST_FILLED, MOST_HELD = 4 * FULL_HOLDERS, FULL_ITEM * 8 * PARTS * WHOLE


def beyond_a_quarter(users: dict, order: list, quota: int, most: int) -> int:
    """Four times the filled slots beyond a quarter of the quota, of all items; `most` are offered of each."""
    filled = Counter(item for item, _ in matching.kept(users, matching.slots_of(order, quota, most)))
    return sum(max(0, 4 * min(level, quota) - quota) for level in filled.values())


def parts(items: int) -> int:
    """The parts of a holder that a user of so many kept items is."""
    return PARTS * WHOLE // max(WHOLE, items)


def held(users: dict, quota: int) -> int:
    """Eight times the parts of holders beyond an eighth of the quota and one, up to five quotas, summed up."""
    holders: Counter = Counter()
    for items in users.values():
        holders.update(dict.fromkeys(items, parts(len(items))))
    return sum(
        min(FULL_HOLDERS * quota, max(0, 8 * each - PARTS * max(8, quota))) for each in holders.values()
    )


def score(users: dict, order: list, quota: int) -> int:
    """Above 0 if more items are filled than are held by many, both softly."""
    return FULL_HOLDERS * beyond_a_quarter(users, order, quota, quota) - FULL_ITEM * held(users, quota)


def noise(key: bytes, rate: float) -> int:
    """The noise of a score."""
    word = prf.aes(prf.subkey(key, LOOK, 0), 0)
    return matching.geometric(rate, word % 2**64) - matching.geometric(rate, word >> 64)
