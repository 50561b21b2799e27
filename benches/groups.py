"""The top ten of each group: keys with counts, sorted, beside a top-k for each group at the full epsilon.

    python -m benches.groups             # prints the row of docs/accuracy.md; made data
    python -m benches.groups --users 20000

The group is an attribute of the user, so the calls for each group run in parallel: all have the full budget,
which is the best that a mechanism for each group could have. Figures are means over groups of the part of the
true top ten that was found, and medians over releases.
"""

from __future__ import annotations

import argparse
import random
import statistics
from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from typing import Any

import dpsel

K, GROUPS, ITEMS, DELTA = 10, 50, 2_000, 1e-6
#: Of a user's items, so many are drawn from the order of its group, and the others from that of all.
LOCAL = 0.5


def drawn(users: int, seed: int) -> list[tuple[int, tuple[int, int]]]:
    """Users with a Zipf group and 5 to 40 items of Zipf sizes, half of them in the order of the group."""
    draw = random.Random(seed)  # noqa: S311 - data to measure on
    groups = list(accumulate(1 / rank for rank in range(1, GROUPS + 1)))
    sizes = list(accumulate(1 / rank for rank in range(1, ITEMS + 1)))
    orders = [draw.sample(range(ITEMS), ITEMS) for _ in range(GROUPS)]
    rows = []
    for user in range(users):
        group = bisect_left(groups, draw.random() * groups[-1])
        for _ in range(draw.randint(5, 40)):
            rank = bisect_left(sizes, draw.random() * sizes[-1])
            rows.append((user, (group, orders[group][rank] if draw.random() < LOCAL else rank)))
    return rows


def recall(found: dict[int, set[int]], rows: list[tuple[int, tuple[int, int]]]) -> float:
    """The mean over groups of the part of the true top ten that was found."""
    users: dict[int, Counter[int]] = {}
    for _, (group, item) in set(rows):
        users.setdefault(group, Counter())[item] += 1
    best = {group: {item for item, _ in counted.most_common(K)} for group, counted in users.items()}
    return statistics.mean(len(items & found.get(group, set())) / len(items) for group, items in best.items())


def sorted_keys(rows: list[Any], epsilon: float) -> dict[int, set[int]]:
    """Keys with counts, and the largest of each group."""
    release = dpsel.select_partitions(
        rows,
        item=["group", "item"],
        privacy=dpsel.ApproxDP(epsilon=epsilon, delta=DELTA),
        max_items_per_user=30,
        counts=dpsel.Counts(share=0.3, max_counted_items=10),
    )
    found: dict[int, set[int]] = {}
    for group, item, _ in release.top(K, by="group"):
        found.setdefault(group, set()).add(item)
    return found


def picks(rows: list[Any], epsilon: float) -> dict[int, set[int]]:
    """A top-k for each group, each with the full budget."""
    parts: dict[int, list[tuple[int, int]]] = {}
    for user, (group, item) in rows:
        parts.setdefault(group, []).append((user, item))
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=DELTA)
    mechanism = dpsel.Discover()
    return {
        group: set(
            dpsel.select_top_k(part, k=K, privacy=privacy, mechanism=mechanism, max_items_per_user=30).items
        )
        for group, part in parts.items()
    }


def main() -> None:
    """Print a row for each epsilon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=3)
    parser.add_argument("--epsilons", type=float, nargs="*", default=[1.0, 3.0])
    args = parser.parse_args()
    rows = drawn(args.users, seed=1)
    print("| epsilon | keys with counts, sorted | Discover for each group |\n|---|---|---|")
    for epsilon in args.epsilons:
        cells = [
            statistics.median(recall(way(rows, epsilon), rows) for _ in range(args.releases))
            for way in (sorted_keys, picks)
        ]
        print(f"| {epsilon:g} | {cells[0]:.2f} | {cells[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
