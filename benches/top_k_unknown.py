"""How much of the true top k does each mechanism find where nobody names the items?

    python -m benches.top_k_unknown path/to/folder            # prints every cell
    python -m benches.top_k_unknown path/to/folder --short    # prints the table of docs/accuracy.md
    python -m benches.top_k_unknown path/to/folder --sets git_paths --k 100

Recall is the part of the k items of most users that comes out. Mass is what the users of the answer add up
to, over those of the true top k. Both are medians of the releases. All mechanisms have the same guarantee.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpsel
from benches import tables
from benches.releases import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

SETS = ("deps_authors", "deps_recipes", "git_paths", "git_messages", "synthetic_pareto_zeta_50k")
BUDGETS = ((1.0, 1e-6), (1.765, 4.96e-5), (6.0, 1e-6))
LIMIT = 100
MECHANISMS: dict[str, tuple[Any, int | None]] = {
    "SelectAndCount": (dpsel.SelectAndCount(), LIMIT),
    "Discover": (dpsel.Discover(share=0.5), LIMIT),
    "Discover, share 0.3": (dpsel.Discover(share=0.3), LIMIT),
    "Discover, a set": (dpsel.Discover(share=0.5, ordered=False), LIMIT),
    "LimitDomain": (dpsel.LimitDomain(), None),
}
#: Those of the short table.
SHORT = ("SelectAndCount", "Discover", "LimitDomain")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--k", type=int, nargs="+", default=[10, 20, 50, 100, 300])
    parser.add_argument("--releases", type=int, default=3)
    parser.add_argument("--short", action="store_true")
    args = parser.parse_args()
    found: dict[tuple[str, tuple[float, float], int, str], tuple[float, float]] = {}
    for name in args.sets:
        table = read(args.folder / f"{name}.parquet").table
        true = Counter(table["item"].to_list())
        for budget in BUDGETS:
            for k, mechanism, *score in scores(table, true, budget, args):
                found[(name, budget, k, mechanism)] = (score[0], score[1])
                if not args.short:
                    print(f"{name} {budget} {k} {mechanism}: {score[0]:.3f} {score[1]:.4f}", flush=True)
    if args.short:
        print(short(found, args))


def scores(
    table: pl.DataFrame, true: Counter[Any], budget: tuple[float, float], args: argparse.Namespace
) -> Iterator[tuple[int, str, float, float]]:
    """The medians of recall and mass for each k and mechanism."""
    for name, (mechanism, limit) in MECHANISMS.items():
        for k in args.k:
            arguments = {"k": k, "mechanism": mechanism, "max_items_per_user": limit}
            answers = [picked(table, budget, seed, **arguments) for seed in range(args.releases)]
            recalls, masses = zip(*(score(answer, true, k) for answer in answers), strict=True)
            yield k, name, statistics.median(recalls), statistics.median(masses)


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


def short(found: dict[tuple[str, tuple[float, float], int, str], tuple[float, float]], args: Any) -> str:
    """For each budget and k: the median of recall over all sets, and the lowest."""
    rows = []
    for budget in (BUDGETS[0], BUDGETS[-1]):
        for name in SHORT:
            cells = ([found[(each, budget, k, name)][0] for each in args.sets] for k in args.k)
            told = [f"{statistics.median(cell):.2f} ({min(cell):.2f})" for cell in cells]
            rows.append([f"{budget[0]:g}", name, *told])
    return tables.markdown(("ε", "mechanism", *(f"k = {k}" for k in args.k)), rows)


if __name__ == "__main__":
    main()
