"""How many items are released as epsilon grows? The figures and the picture of docs/accuracy.md.

    python -m benches.epsilons FOLDER/imdb.parquet FOLDER/deps_recipes.parquet FOLDER/deps_authors.parquet
    python -m benches.epsilons FILES... --only "dpsel, auto"     # measures one line of the picture again
    python -m benches.epsilons            # draws the picture and prints the table from the figures

Each Parquet file has the columns `user` and `item`, and perhaps `count`, one row for each user and item.
The figures go to `docs/images/items_by_epsilon.csv` and the picture to `docs/images/items_by_epsilon.svg`.
Rows of the CSV file for other data sets, mechanisms, or values of epsilon, are kept.

All mechanisms get the same (epsilon, 1e-5) and the accounting of this package. The published mechanisms are
tuned on the data, at no cost: each runs with several limits and cutoffs under one key, and the best setting
counts. `"auto"` runs with one limit: the smallest of 10, 30, 100, 300 that is at least twice the mean number
of items of a user. Its users keep up to three times that. A figure is the median over three fixed keys.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches import tables

if TYPE_CHECKING:
    from collections.abc import Collection

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
FIGURES, PICTURE = FOLDER / "items_by_epsilon.csv", FOLDER / "items_by_epsilon.svg"
COLUMNS = ("data", "epsilon", "mechanism", "setting", "items", "fewest", "most")

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = 1e-5
KEYS = [bytes([seed]) * 32 for seed in (1, 2, 3)]
LIMITS = (10, 30, 100, 300, 1000)
LIMITS_OF_AUTO = (10, 30, 100, 300)
CUTOFFS = (2.0, 5.0)
#: The greedy mechanism needs no limit; this one is beyond what nearly all users have.
NO_LIMIT = 10_000
AUTO = "dpsel, auto"
#: The names in the picture.
NAMES = (AUTO, "Mad2R", "DP-SIPS", "policy Gaussian", "greedy by frequency", "weighted Gaussian")

TITLES = {
    "imdb": "Film reviews (50,000)",
    "deps_recipes": "Build recipes (30,000)",
    "deps_authors": "Recipe authors (5,100)",
}


def settings(mean: float) -> dict[str, list[tuple[Any, int]]]:
    """Mechanisms with their limits, by the name in the picture."""
    import dpsel

    enough = next((limit for limit in LIMITS_OF_AUTO if limit >= 2 * mean), LIMITS_OF_AUTO[-1])
    policies = [dpsel.PolicyGaussian(alpha=alpha) for alpha in CUTOFFS]
    return {
        AUTO: [("auto", enough)],
        "Mad2R": [(dpsel.Mad2R(), limit) for limit in LIMITS],
        "DP-SIPS": [(dpsel.Sips(), limit) for limit in LIMITS],
        "policy Gaussian": [(policy, limit) for policy in policies for limit in LIMITS],
        "greedy by frequency": [(dpsel.GreedyFrequency(), NO_LIMIT)],
        "weighted Gaussian": [(dpsel.WeightedGaussian(), limit) for limit in LIMITS],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="*", help="Parquet files; without any, only draws")
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="names in the picture")
    args = parser.parse_args()
    for file in args.files:
        for epsilon in args.epsilons:
            keep(measured(file, epsilon, args.only))
    figures = read()
    draw(figures)
    print(table(figures))


def measured(file: Path, epsilon: float, only: Collection[str] = NAMES) -> list[dict[str, str]]:
    """The rows of one data set and one epsilon."""
    import polars as pl

    table = pl.read_parquet(file)
    mean = len(table) / table["user"].n_unique()
    counted = table
    if "count" in table.columns:
        counted = table.select(
            pl.col(column).repeat_by("count").list.explode(keep_nulls=False, empty_as_null=False)
            for column in ("user", "item")
        )
    found = []
    for name, tried in settings(mean).items():
        if name not in only:
            continue
        rows = counted if name.startswith("greedy") else table
        first = {setting: size(rows, epsilon, *setting, KEYS[0]) for setting in tried}
        best = max(first, key=lambda setting: first[setting])
        sizes = [first[best], *(size(rows, epsilon, *best, key) for key in KEYS[1:])]
        median = int(statistics.median(sizes))
        values = (file.stem, f"{epsilon:g}", name, describe(*best), median, min(sizes), max(sizes))
        found.append(dict(zip(COLUMNS, map(str, values), strict=True)))
        print(*values, flush=True)
    return found


def size(table: Any, epsilon: float, mechanism: Any, limit: int, key: bytes) -> int:
    import dpsel

    release = dpsel.select_partitions(
        table,
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=epsilon, delta=DELTA),
        max_items_per_user=limit,
        mechanism=mechanism,
        insecure_test_key=key,
    )
    return len(release)


def describe(mechanism: Any, limit: int) -> str:
    alpha = getattr(mechanism, "alpha", None)
    return f"limit {limit:,}" + (f", alpha {alpha:g}" if alpha and mechanism.name != "mad2r" else "")


def read() -> list[dict[str, str]]:
    if not FIGURES.exists():
        return []
    with FIGURES.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def keep(found: list[dict[str, str]]) -> None:
    """Put the rows into the file, in place of older ones of the same data set, epsilon and mechanism."""
    rows = {(row["data"], row["epsilon"], row["mechanism"]): row for row in [*read(), *found]}
    order = list(TITLES)

    def place(row: dict[str, str]) -> tuple[int, float, int]:
        return order.index(row["data"]), float(row["epsilon"]), NAMES.index(row["mechanism"])

    FOLDER.mkdir(exist_ok=True)
    with FIGURES.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows.values(), key=place))


def table(figures: list[dict[str, str]]) -> str:
    """The median figures, and the ratio of `"auto"` to the best published mechanism."""
    cases: dict[tuple[str, str], dict[str, int]] = {}
    for row in figures:
        cases.setdefault((row["data"], row["epsilon"]), {})[row["mechanism"]] = int(row["items"])
    names = list(next(iter(cases.values())))
    lines = []
    for (data, epsilon), items in cases.items():
        ratio = items[AUTO] / max(items[name] for name in names if name != AUTO)
        lines.append([data, epsilon, *(f"{items[name]:,}" for name in names), f"{ratio:.2f}"])
    return tables.markdown(("data", "ε", *names, "auto to the best published"), lines)


def draw(figures: list[dict[str, str]]) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "dpsel"
    shown = [data for data in TITLES if any(row["data"] == data for row in figures)]
    # One above the other, and no wider: on a phone the text can be read.
    figure = Figure(figsize=(5.4, 3.6 * len(shown)), layout="constrained")
    axes = figure.subplots(len(shown), 1, squeeze=False).flat
    for ax, data in zip(axes, shown, strict=True):
        mine = [row for row in figures if row["data"] == data]
        for name in dict.fromkeys(row["mechanism"] for row in mine):
            points = [(float(row["epsilon"]), int(row["items"])) for row in mine if row["mechanism"] == name]
            ours = name == AUTO
            ax.plot(
                *zip(*points, strict=True),
                marker="o" if ours else ".",
                linewidth=2.5 if ours else 1.2,
                color="black" if ours else None,
                label=name,
            )
        ticks = sorted({float(row["epsilon"]) for row in mine})
        ax.set(title=TITLES[data], xlabel="ε  (δ = 1e-5)", xscale="log", ylim=(0, None))
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.yaxis.set_major_formatter("{x:,.0f}")
        ax.grid(alpha=0.3)
        ax.set_ylabel("items released")
    figure.legend(*ax.get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=2)
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
