"""Keys and errors of their counts, beside noise on counts with a threshold, in one budget.

    python -m benches.counts path/to/folder             # prints the table of docs/guide/counts.md
    python -m benches.counts path/to/folder --keys 3
    python -m benches.counts path/to/folder --shrunken  # prints the table of shrunken estimates
    python -m benches.counts --pairs                    # prints what consistency of pairs of words would gain

The columns: the number of released keys; the median relative error of their numbers; and the same on those
keys that `CountGaussian` with weights releases as well, with its own error there. All rows have the same
guarantee for keys and numbers together. The limit of `CountGaussian` is the one with the most keys, and the
errors of its weights are measured against all users of a key: what it loses by its limit counts as an error.
"""

from __future__ import annotations

import argparse
import random
import statistics
from bisect import bisect_left
from collections import Counter
from itertools import accumulate, pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import dpsel
from benches.releases import read

if TYPE_CHECKING:
    import polars as pl

#: Released key -> its number.
Numbers: TypeAlias = dict[Any, float]

SETS = ("git_paths", "git_messages", "imdb", "wiki_abstracts")
PRIVACY = dpsel.ZCDP(rho=0.1, delta=1e-5)
#: What users keep for the selection, and the limits that noise on counts is tuned over.
KEPT, LIMITS = 300, (3, 10, 30, 100, 300)
SHARES, COUNTED = (0.2, 0.4), (30, 100, 300)
#: The part of words that follow the word before, in texts that are made up.
FOLLOWS = 0.5


def errors(numbers: Numbers, true: dict[Any, int]) -> Numbers:
    """The relative error of each key."""
    return {key: abs(number - true[key]) / true[key] for key, number in numbers.items()}


def released(table: pl.DataFrame, key: bytes, column: str, **arguments: Any) -> Numbers:
    """Released key -> its published number."""
    made = dpsel.select_partitions(
        table, user="user", item="item", privacy=PRIVACY, insecure_test_key=key, **arguments
    )
    return dict(zip(made.items["item"].to_list(), made.items[column].to_list(), strict=True))


def noisy_counts(table: pl.DataFrame, limit: int, key: bytes) -> Numbers:
    """What noise on counts with a threshold releases."""
    mechanism = dpsel.CountGaussian()
    return released(table, key, "weight", mechanism=mechanism, max_items_per_user=limit, with_weights=True)


def selected(table: pl.DataFrame, share: float, counted: int, key: bytes) -> Numbers:
    """What a selection with counts releases."""
    counts = dpsel.Counts(share=share, max_counted_items=counted)
    return released(table, key, "users", mechanism=dpsel.Steered(), max_items_per_user=KEPT, counts=counts)


def relative(values: list[float], true: list[int], places: list[int]) -> float:
    """The median relative error of some of the released keys."""
    return statistics.median(abs(values[at] - true[at]) / true[at] for at in places)


def parts(true: list[int]) -> dict[str, list[int]]:
    """All keys, the tenth with the most users, those up to the half, and the others."""
    order = sorted(range(len(true)), key=lambda at: -true[at])
    tenth, half = len(order) // 10, len(order) // 2
    return {"all": order, "head": order[:tenth], "middle": order[tenth:half], "tail": order[half:]}


def shrunken_rows(table: pl.DataFrame, users: dict[Any, int], keys: list[bytes]) -> None:
    """Print errors of the numbers, and of their shrunken estimates, by the true number of users of a key."""
    for share, counted in product(SHARES, COUNTED):
        cells: dict[str, list[tuple[float, float]]] = {}
        for key in keys:
            made = dpsel.select_partitions(
                table,
                user="user",
                item="item",
                privacy=PRIVACY,
                insecure_test_key=key,
                mechanism=dpsel.Steered(),
                max_items_per_user=KEPT,
                counts=dpsel.Counts(share=share, max_counted_items=counted),
            )
            numbers, estimates = made.items["users"].to_list(), made.shrunken_counts()
            true = [users[item] for item in made.items["item"].to_list()]
            for name, places in parts(true).items():
                found = relative(numbers, true, places), relative(estimates, true, places)
                cells.setdefault(name, []).append(found)
        means = [[statistics.mean(side) for side in zip(*found, strict=True)] for found in cells.values()]
        line = " | ".join(f"{raw:.3f} -> {estimate:.3f}" for raw, estimate in means)
        print(f"| share {share}, B = {counted} | {line} |", flush=True)


def texts(users: int = 20_000, words: int = 3_000) -> list[tuple[int, str]]:
    """Texts whose words fall like a power, and half of which follow the word before."""
    draw = random.Random(1)  # noqa: S311 - texts to measure on
    sums = list(accumulate(1 / (rank + 2) ** 1.05 for rank in range(words)))

    def word() -> int:
        return bisect_left(sums, draw.random() * sums[-1])

    follow = [[word() for _ in range(6)] for _ in range(words)]
    made = []
    for user in range(users):
        text = [word()]
        for _ in range(draw.randint(5, 40)):
            text.append(draw.choice(follow[text[-1]]) if draw.random() < FOLLOWS else word())
        made.append((user, " ".join(f"w{number}" for number in text)))
    return made


def pair_rows(key: bytes) -> None:
    """Print the errors of pairs of words with and without "a pair has at most the users of its words"."""
    rows, true = texts(), Counter[str]()
    for _, text in rows:
        words = text.split()
        true.update({*words, *map(" ".join, pairwise(words))})
    made = dpsel.select_partitions(
        rows,
        ngrams=(1, 2),
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-5),
        max_items_per_user=60,
        counts=dpsel.Counts(share=0.2, max_counted_items=60),
        insecure_test_key=key,
    )
    items: list[str] = list(made)
    users, pairs = [true[item] for item in items], [at for at, item in enumerate(items) if " " in item]
    for name, values in (("numbers", [row[1] for row in made.items]), ("shrunken", made.shrunken_counts())):
        known = dict(zip(items, values, strict=True))
        capped = [
            min(value, *(known.get(word, value) for word in item.split()))
            for item, value in zip(items, values, strict=True)
        ]
        changed = sum(value > cap for value, cap in zip(values, capped, strict=True))
        errors_ = relative(values, users, pairs), relative(capped, users, pairs)
        print(f"| {name}: {len(pairs)} pairs, {changed} changed | {errors_[0]:.4f} -> {errors_[1]:.4f} |")


def row(name: str, found: list[Numbers], beside: list[Numbers], true: dict[Any, int]) -> str:
    """One line of the table: means over the keys of the release."""

    def median(numbers: Numbers, keys: set[Any]) -> float:
        relative = errors(numbers, true)
        return statistics.median([relative[key] for key in keys] or [float("nan")])

    common = [numbers.keys() & others.keys() for numbers, others in zip(found, beside, strict=True)]
    cells = [
        f"{statistics.mean(map(len, found)):,.0f}",
        f"{statistics.mean(median(numbers, set(numbers)) for numbers in found):.3f}",
        f"{statistics.mean(map(median, found, common)):.3f}",
        f"{statistics.mean(map(median, beside, common)):.3f}",
    ]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print a table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--shrunken", action="store_true")
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--keys", type=int, default=1)
    parser.add_argument("--sets", nargs="*", default=SETS)
    args = parser.parse_args()
    keys = [bytes([number]) * 32 for number in range(1, args.keys + 1)]
    if args.pairs:
        for key in keys:
            pair_rows(key)
        return
    for name in args.sets:
        table = read(args.folder / f"{name}.parquet").table
        users = table.unique().group_by("item").len()
        true = dict(zip(users["item"].to_list(), users["len"].to_list(), strict=True))
        if args.shrunken:
            print(f"\n| {name} | all | head | middle | tail |\n|---|---|---|---|---|")
            shrunken_rows(table, true, keys)
            continue
        best = max(LIMITS, key=lambda limit: len(noisy_counts(table, limit, keys[0])))
        beside = [noisy_counts(table, best, key) for key in keys]
        print(f"\n| {name} | keys | error | error on common keys | theirs there |\n|---|---|---|---|---|")
        print(row(f"`CountGaussian`, limit {best}", beside, beside, true), flush=True)
        for share in SHARES:
            for counted in COUNTED:
                found = [selected(table, share, counted, key) for key in keys]
                print(row(f"share {share}, B = {counted}", found, beside, true), flush=True)


if __name__ == "__main__":
    main()
