"""Keys and errors of their counts, beside noise on counts with a threshold, in one budget.

    python -m benches.counts path/to/folder             # prints the table of docs/guide/counts.md
    python -m benches.counts path/to/folder --keys 3

The columns: the number of released keys; the median relative error of their numbers; and the same on those
keys that `CountGaussian` with weights releases as well, with its own error there. All rows have the same
guarantee for keys and numbers together. The limit of `CountGaussian` is the one with the most keys, and the
errors of its weights are measured against all users of a key: what it loses by its limit counts as an error.
"""

from __future__ import annotations

import argparse
import statistics
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
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keys", type=int, default=1)
    parser.add_argument("--sets", nargs="*", default=SETS)
    args = parser.parse_args()
    keys = [bytes([number]) * 32 for number in range(1, args.keys + 1)]
    for name in args.sets:
        table = read(args.folder / f"{name}.parquet").table
        users = table.unique().group_by("item").len()
        true = dict(zip(users["item"].to_list(), users["len"].to_list(), strict=True))
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
