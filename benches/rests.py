"""How well do the numbers of `rest=` tell what a list covers, and what do they cost in keys?

    python -m benches.rests FOLDER                                 # measures what is missing, prints all
    python -m benches.rests --markdown docs/algorithms/counts.md   # puts the table into the page

The data are the Parquet files of the folder with the columns `user`, `item` and perhaps `count`, which makes
rows of an item. Releases with the numbers and without them have the same guarantee and the same keys of the
noise; no two cells have the same keys. The truth that an interval should cover is that of the released list:
users with an item in it, and rows where a user counts for at most so many.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dpsel
from benches import tables
from benches.kept import Kept

FIGURES = Path(__file__).resolve().parent / "rests.csv"
MARK = "<!-- benches.rests -->"
SETS = (
    "deps_authors",
    "deps_recipes",
    "git_paths",
    "git_messages",
    "synthetic_pareto_zeta_50k",
    "imdb",
    "wiki_abstracts",
)
DELTA, EPSILONS, ROWS, SHARE, LIMIT = 1e-6, (1.0, 6.0), (30, 300), 0.02, 100
#: Releases of a set: so many, or fewer of sets with more rows.
RELEASES, MOST_ROWS = 40, 20_000_000


def read(file: Path, most: int) -> pl.DataFrame:
    """Users, numbered items and how many rows count of each."""
    table = pl.read_parquet(file)
    count = pl.col("count") if "count" in table.columns else pl.lit(1)
    items = pl.col("item").cast(pl.Categorical).to_physical()
    return table.select("user", items, count.clip(upper_bound=most).cast(pl.UInt32).alias("count"))


def repeated(table: pl.DataFrame) -> pl.DataFrame:
    """Each row as often as it counts."""
    places = np.repeat(np.arange(len(table)), table["count"].to_numpy())
    return table.select("user", "item")[places]


def truth(table: pl.DataFrame, released: list[int], most: int) -> tuple[float, float]:
    """The parts of users and of rows that a list covers, without noise."""
    inside = pl.col("item").is_in(released)
    users = table.group_by("user").agg(
        pl.col("count").filter(inside).sum().alias("inside"),
        pl.col("count").filter(~inside).sum().alias("outside"),
    )
    held = users.with_columns((most / (pl.col("inside") + pl.col("outside"))).clip(upper_bound=1).alias("g"))
    sums = [(held["g"] * held[side]).sum() for side in ("inside", "outside")]
    return (users["inside"] > 0).mean(), sums[0] / sum(sums)


def release(rows: pl.DataFrame, epsilon: float, key: str, **options: Any) -> Any:
    return dpsel.select_partitions(
        rows,
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=epsilon, delta=DELTA),
        max_items_per_user=LIMIT,
        mechanism=dpsel.Steered(reach=3),
        insecure_test_key=hashlib.sha256(key.encode()).digest(),
        **options,
    )


def figures_of(name: str, table: pl.DataFrame, epsilon: float, most: int, releases: int) -> tuple[str, ...]:
    """Keys without and with the numbers; of users and rows the share, half-width and if it is covered."""
    rows, found = repeated(table), []
    for number in range(1, releases + 1):
        key = f"{name}, {epsilon}, {most}, {number}"
        plain = release(rows, epsilon, key)
        made = release(rows, epsilon, key, rest=dpsel.Rest(share=SHARE, max_rows_per_user=most))
        line: list[str] = [str(len(plain)), str(len(made))]
        for part, true in zip(made.coverage.values(), truth(table, list(made), most), strict=True):
            line += [
                f"{part.share:.5f}",
                f"{(part.high - part.low) / 2:.5f}",
                str(int(part.low <= true <= part.high)),
            ]
        found.append(line)
    return tuple(" ".join(column) for column in zip(*found, strict=True))


def kept() -> Kept:
    """The file: a line for each set, epsilon and limit of rows, with the figures of each release."""
    names = [f"{kind}_{what}" for kind in ("users", "rows") for what in ("share", "half_width", "covers")]
    return Kept(FIGURES, ("data", "epsilon", "max_rows_per_user"), ("plain_keys", "keys", *names))


def measure(figures: Kept, name: str, folder: Path) -> None:
    """Run what is missing on one set."""
    for most in ROWS:
        table = read(folder / f"{name}.parquet", most)
        releases = min(RELEASES, max(4, MOST_ROWS // int(table["count"].sum())))
        for epsilon in EPSILONS:
            measured = partial(figures_of, name, table, epsilon, most, releases)
            figures.once((name, f"{epsilon:g}", most), measured)


def covered(figures: Kept, case: tuple[str, ...], kind: str) -> str:
    """The mean share and half-width in per cent."""
    share, width = (
        100 * statistics.fmean(figures.values(case, f"{kind}_{what}")) for what in ("share", "half_width")
    )
    return f"{share:.1f} ± {width:.2g}"


def markdown(figures: Kept) -> str:
    """A line for each set: what is covered, and the keys."""
    rows = []
    for name in figures.names("data"):
        cases = [(name, f"{epsilon:g}", str(most)) for epsilon in EPSILONS for most in ROWS]
        if all(case in figures.found for case in cases):
            first = cases[0]
            keys = [statistics.fmean(figures.values(first, column)) for column in ("plain_keys", "keys")]
            users = [covered(figures, case, "users") for case in cases[::2]]
            shares = [covered(figures, case, "rows") for case in cases]
            rows.append(
                (f"`{name}`", f"{keys[0]:,.0f} to {keys[1]:,.0f}", *users, shares[0], shares[2], shares[1])
            )
    head = (
        "data",
        "keys",
        "users, $\\varepsilon=1$",
        "users, $\\varepsilon=6$",
        "rows of 30, $\\varepsilon=1$",
        "rows of 30, $\\varepsilon=6$",
        "rows of 300, $\\varepsilon=1$",
    )
    return tables.markdown(head, rows)


def lost(figures: Kept, case: tuple[str, ...]) -> float:
    """The part of the keys that the numbers cost."""
    plain, keys = (statistics.fmean(figures.values(case, column)) for column in ("plain_keys", "keys"))
    return 1 - keys / plain


def summary(figures: Kept) -> str:
    """How often intervals cover the truth, and what the numbers cost in keys."""
    counts = []
    for kind in ("users", "rows"):
        hits = [hit for case in figures.found for hit in figures.values(case, f"{kind}_covers")]
        counts.append(f"{sum(hits):.0f} of {len(hits)} intervals for {kind}")
    parts = [100 * lost(figures, case) for case in figures.found]
    price = f"The numbers cost {min(parts):.1f} to {max(parts):.1f} % of the keys."
    return f"{' and '.join(counts)} hold the truth. {price}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--markdown", type=Path, help="put the table after the mark of this page")
    args = parser.parse_args()
    figures = kept()
    for name in args.sets if args.folder else ():
        measure(figures, name, args.folder)
    print(markdown(figures))
    print(summary(figures))
    if args.markdown:
        tables.fill(args.markdown, MARK, markdown(figures))


if __name__ == "__main__":
    main()
