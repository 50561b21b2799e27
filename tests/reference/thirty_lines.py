"""The core of dpsel. The page `docs/learn/thirty-lines.md` shows the lines below."""

from collections import defaultdict
from math import isqrt

from reference.noise import at_least
from reference.prf import bound_priority, noise_word

UNIT = 2**30  # weights are whole numbers of 1 / UNIT


def select(rows, rounds, limit, key):
    """The items that `Sips` releases, and with one round `WeightedGaussian`."""
    items_of = defaultdict(set)
    for user, item in rows:  # 1. rows: repeated ones count once
        items_of[user].add(item)
    released = set()
    for number, (scale, threshold) in enumerate(rounds):
        weights = defaultdict(int)
        for user, items in items_of.items():  # 2. bound: `limit` items of each user
            ranked = sorted(items - released, key=lambda item: bound_priority(key, user, item))
            kept = ranked[:limit]
            for item in kept:  # 3. weigh: the squares of one user's weights add up to 1
                weights[item] += isqrt(UNIT * UNIT // len(kept))
        released |= {
            item
            for item, weight in weights.items()  # 4. a noise word for each item, 5. compare
            if at_least("gaussian", threshold - weight, scale, noise_word(key, number, item))
        }
    return released
