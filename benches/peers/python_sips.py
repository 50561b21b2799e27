"""DP-SIPS as one writes it first: sets and dictionaries in plain Python. Its sampler is not fit for publishing."""

from __future__ import annotations

import random
from collections import defaultdict
from heapq import nsmallest
from math import sqrt

from benches.parameters import MAX_ITEMS_PER_USER
from benches.peers import _harness
from benches.peers._rounds import Round, sips_rounds


def prepare(args):
    import pyarrow.parquet  # noqa: F401  (reads the file; everything else is the standard library)


def job(path: str, _prepared: None) -> int:
    sets = read(path)
    released: set = set()
    for parameters in sips_rounds():
        found = select(sets, parameters)
        released |= found
        for items in sets.values():
            items -= found
    return len(released)


def read(path: str) -> dict:
    """The set of items of each user."""
    import pyarrow.parquet as pq

    sets = defaultdict(set)
    for batch in pq.ParquetFile(path).iter_batches(columns=["user", "item"]):
        for user, item in zip(batch["user"].to_pylist(), batch["item"].to_pylist(), strict=True):
            sets[user].add(item)
    return sets


def select(sets: dict, parameters: Round) -> set:
    """One round: bound, weigh, add noise, compare."""
    weights: dict = defaultdict(float)
    for user, items in sets.items():
        kept = items
        if len(items) > MAX_ITEMS_PER_USER:
            # The same priorities in every round, so that a user's next items move up.
            kept = nsmallest(MAX_ITEMS_PER_USER, items, key=lambda item: hash((user, item)))  # noqa: B023
        if kept:
            weight = 1 / sqrt(len(kept))
            for item in kept:
                weights[item] += weight
    noise = random.SystemRandom().gauss
    return {i for i, w in weights.items() if w + noise(0, parameters.sigma) >= parameters.threshold}


if __name__ == "__main__":
    _harness.run(job, prepare)
