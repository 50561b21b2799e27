"""What a limit from the data costs and gains, against limits that are given as numbers.

    python -m benches.quantile path/to/folder             # measures the table of docs/algorithms/quantile.md
    python -m benches.quantile path/to/folder --keys 3

All rows have the same guarantee, and `"auto"` chooses the mechanism. For each data set the table has the
items of every fixed limit, and those of quantiles with the limits that they found. In parentheses stand the
items of the same limit as a number: the difference is what the look costs.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import dpsel
from benches.releases import read

PRIVACY = dpsel.ApproxDP(epsilon=1.765, delta=4.96e-5)
LIMITS = (1, 3, 10, 30, 100, 300)
QUANTILES = (0.5, 0.8, 0.95)
SETS = (
    "deps_authors",
    "deps_recipes",
    "git_messages",
    "git_paths",
    "imdb",
    "synthetic_pareto_zeta_50k",
    "wiki_abstracts",
)


def released(table: object, limit: int | dpsel.Quantile, key: bytes) -> tuple[int, int]:
    """The number of items, and the limit."""
    made = dpsel.select_partitions(
        table, user="user", item="item", privacy=PRIVACY, max_items_per_user=limit, insecure_test_key=key
    )
    return len(made), made.report.limit or 0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keys", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.02)
    parser.add_argument("--sets", nargs="*", default=SETS)
    args = parser.parse_args()
    keys = [bytes([number]) * 32 for number in range(1, args.keys + 1)]
    head = ["data", "users", *(f"limit {limit}" for limit in LIMITS)]
    head += [f"quantile {part}" for part in QUANTILES]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name in args.sets:
        table = read(args.folder / f"{name}.parquet").table
        cells = [name, f"{table['user'].n_unique():,}"]
        medians = (statistics.median(released(table, limit, key)[0] for key in keys) for limit in LIMITS)
        cells += [f"{median:,.0f}" for median in medians]
        for part in QUANTILES:
            found = [released(table, dpsel.Quantile(part, share=args.share), key) for key in keys]
            given = [released(table, limit, key)[0] for (_, limit), key in zip(found, keys, strict=True)]
            limits = "/".join(str(limit) for limit in sorted({limit for _, limit in found}))
            items = statistics.median(items for items, _ in found)
            cells.append(f"{limits}: {items:,.0f} ({statistics.median(given):,.0f})")
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
