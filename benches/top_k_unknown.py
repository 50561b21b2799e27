"""How much of the true top k does each mechanism find where nobody names the items?

    python -m benches.top_k_unknown path/to/folder    # measures what is missing, prints every cell
    python -m benches.top_k_unknown                   # prints every cell, and the tables of the pages
    python -m benches.top_k_unknown path/to/folder --sets git_paths --k 100

Recall is the part of the k items of most users that comes out. Mass is what the users of the answer add up
to, over those of the true top k. Both are medians of the releases. All mechanisms have the same guarantee.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpsel
from benches import tables
from benches.kept import Kept
from benches.releases import read

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

FIGURES = Path(__file__).resolve().parent / "top_k_unknown.csv"
DOCS = FIGURES.parents[1] / "docs"
#: What stands before the tables of docs/accuracy.md and docs/algorithms/select_and_count.md.
SHORT_MARK, LONG_MARK = "<!-- benches.top_k_unknown: short -->", "<!-- benches.top_k_unknown -->"
SETS = ("deps_authors", "deps_recipes", "git_paths", "git_messages", "synthetic_pareto_zeta_50k")
BUDGETS = ((1.0, 1e-6), (1.765, 4.96e-5), (6.0, 1e-6))
KS = (10, 20, 50, 100, 300)
LIMIT, RELEASES = 100, 3
MECHANISMS: dict[str, tuple[Any, int | None]] = {
    "SelectAndCount": (dpsel.SelectAndCount(), LIMIT),
    "Discover": (dpsel.Discover(share=0.5), LIMIT),
    "LimitDomain": (dpsel.LimitDomain(), None),
    "Discover, share 0.3": (dpsel.Discover(share=0.3), LIMIT),
    "Discover, a set": (dpsel.Discover(share=0.5, ordered=False), LIMIT),
}
#: Those of the pages.
SHOWN = tuple(MECHANISMS)[:3]


def kept() -> Kept:
    """The file: a line for each set, budget, k and mechanism, with recall and mass of each release."""
    return Kept(FIGURES, ("data", "epsilon", "k", "mechanism"), ("recall", "mass"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--k", type=int, nargs="+", default=KS)
    parser.add_argument("--mechanisms", nargs="+", choices=MECHANISMS, default=SHOWN)
    parser.add_argument("--write", action="store_true", help="put the tables into the pages")
    args = parser.parse_args()
    figures = kept()
    for name in args.sets if args.folder else ():
        table = read(args.folder / f"{name}.parquet").table
        measure(figures, name, table, args)
    for case in figures.found:
        recall, mass = (statistics.median(figures.values(case, column)) for column in figures.figures)
        print(f"{', '.join(case)}: {recall:.3f} {mass:.4f}")
    for page, mark, table in (
        ("accuracy.md", SHORT_MARK, short(figures)),
        ("algorithms/select_and_count.md", LONG_MARK, long(figures)),
    ):
        print(table)
        if args.write:
            tables.fill(DOCS / page, mark, table)


def measure(figures: Kept, name: str, table: pl.DataFrame, args: argparse.Namespace) -> None:
    """Run what is missing on one set."""
    true = Counter(table["item"].to_list())
    for budget in BUDGETS:
        for mechanism in args.mechanisms:
            for k in args.k:
                scored = partial(scores, table, true, budget, mechanism, k)
                figures.once((name, f"{budget[0]:g}", k, mechanism), scored)


def scores(
    table: pl.DataFrame, true: Counter[Any], budget: tuple[float, float], name: str, k: int
) -> tuple[str, str]:
    """Recall and mass of each release."""
    mechanism, limit = MECHANISMS[name]
    arguments = {"k": k, "mechanism": mechanism, "max_items_per_user": limit}
    answers = [picked(table, budget, seed, **arguments) for seed in range(RELEASES)]
    recalls, masses = zip(*(score(answer, true, k) for answer in answers), strict=True)
    return " ".join(f"{recall:.4f}" for recall in recalls), " ".join(f"{mass:.4f}" for mass in masses)


def picked(table: pl.DataFrame, budget: tuple[float, float], seed: int, **arguments: Any) -> list[Any]:
    release = dpsel.select_top_k(
        table,
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=budget[0], delta=budget[1]),
        ordered=getattr(arguments["mechanism"], "ordered", True),
        insecure_test_key=bytes([seed + 1] * 32),
        **arguments,
    )
    return release.to_pylist()


def score(answer: Sequence[Any], true: Counter[Any], k: int) -> tuple[float, float]:
    """Recall and mass of an answer; items of as many users as the last of the true ones are as good."""
    best = sorted(true.values(), reverse=True)[:k]
    found = [true[item] for item in answer]
    return sum(users >= best[-1] for users in found) / len(best), sum(found) / sum(best)


def recall(figures: Kept, case: tuple[object, ...]) -> float:
    """The median recall of a cell."""
    return statistics.median(figures.values(case, "recall"))


def short(figures: Kept) -> str:
    """For the least and the largest budget and each k: the median of recall over all sets, and the lowest."""
    rows = []
    for epsilon, _ in (BUDGETS[0], BUDGETS[-1]):
        for name in SHOWN:
            cells = ([recall(figures, (each, f"{epsilon:g}", k, name)) for each in SETS] for k in KS)
            told = [f"{statistics.median(cell):.2f} ({min(cell):.2f})" for cell in cells]
            rows.append([f"{epsilon:g}", name, *told])
    return tables.markdown(("ε", "mechanism", *(f"k = {k}" for k in KS)), rows)


def long(figures: Kept) -> str:
    """For each set, budget and k: the recall of the three mechanisms."""
    rows = []
    for data in SETS:
        for epsilon, _ in BUDGETS:
            cells = ([recall(figures, (data, f"{epsilon:g}", k, name)) for name in SHOWN] for k in KS)
            told = (", ".join(f"{at:.2f}" for at in cell) for cell in cells)
            rows.append([f"`{data}`", f"{epsilon:g}", *told])
    return tables.markdown(("data", "$\\varepsilon$", *(f"$k={k}$" for k in KS)), rows)


if __name__ == "__main__":
    main()
