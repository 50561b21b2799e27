"""How many items each mechanism releases on real data, at the budget of the DP-SIPS paper.

    python -m benches.accuracy path/to/folder
    python -m benches.accuracy imdb.parquet wiki.parquet --markdown docs/accuracy-table.md

Every Parquet file with columns `user` and `item` is one row group of the table. Each figure is the median of
fresh runs (no fixed key), with the spread behind it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from benches import tables
from benches.parameters import DELTA, MAX_ITEMS_PER_USER, RATIO, RHO, ROUNDS


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", type=Path, nargs="+", help="Parquet files or folders of them")
    parser.add_argument("--mechanisms", nargs="+", choices=list(mechanisms()), help="only these")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--max-items-per-user", type=int, default=MAX_ITEMS_PER_USER)
    parser.add_argument("--markdown", type=Path, help="also write the table here")
    args = parser.parse_args()
    files = [
        file for path in args.paths for file in (sorted(path.glob("*.parquet")) if path.is_dir() else [path])
    ]
    if not files:
        parser.error("no Parquet file there")
    lines = [line(file, mechanism, args) for file in files for mechanism in args.mechanisms or mechanisms()]
    table = tables.markdown(("data", "mechanism", *budgets()), lines)
    if args.markdown:
        args.markdown.write_text(table)
    print(table)


def mechanisms() -> dict[str, object]:
    import dpsel

    sips = dpsel.Sips(rounds=ROUNDS, ratio=RATIO)
    return {
        "CountLaplace": dpsel.CountLaplace(),
        "CountGaussian": dpsel.CountGaussian(),
        "WeightedLaplace": dpsel.WeightedLaplace(),
        "WeightedGaussian": dpsel.WeightedGaussian(),
        "PolicyLaplace": dpsel.PolicyLaplace(),
        "PolicyGaussian": dpsel.PolicyGaussian(),
        "Mad": dpsel.Mad(),
        f"Sips, {ROUNDS} rounds": sips,
        "WeightedLaplace, curve": dpsel.WeightedLaplace(release="curve"),
        "PolicyLaplace, curve": dpsel.PolicyLaplace(release="curve"),
        "PolicyGaussian, curve": dpsel.PolicyGaussian(release="curve"),
        "WeightedGaussian, curve": dpsel.WeightedGaussian(release="curve"),
        f"Sips, {ROUNDS} rounds, curves": dpsel.Sips(rounds=ROUNDS, ratio=RATIO, release="curve"),
        "Steered, 30 rounds": dpsel.Steered(rounds=30),
    }


def budgets() -> dict[str, object]:
    """The paper's budget, and the (epsilon, delta) it converts to, which exact accounting uses better."""
    import dpsel

    return {
        f"ZCDP({RHO}, {DELTA:g})": dpsel.ZCDP(rho=RHO, delta=DELTA),
        "ApproxDP(1.765, 4.96e-5)": dpsel.ApproxDP(epsilon=1.765, delta=4.96e-5),
    }


def line(file: Path, mechanism: str, args: argparse.Namespace) -> list[str]:
    cells = [cell(file, mechanism, budget, args) for budget in budgets()]
    print(f"{file.stem}, {mechanism}: {', '.join(cells)}", file=sys.stderr, flush=True)
    return [file.stem, mechanism, *cells]


def cell(file: Path, mechanism: str, budget: str, args: argparse.Namespace) -> str:
    """Median and spread of the number of items; a dash if the mechanism has no guarantee of that kind."""
    import dpsel

    sizes = []
    for _ in range(args.runs):
        try:
            release = dpsel.select_partitions(
                str(file),
                user="user",
                item="item",
                privacy=budgets()[budget],
                max_items_per_user=args.max_items_per_user,
                mechanism=mechanisms()[mechanism],
            )
        except dpsel.exceptions.InvalidParameterError as error:
            print(f"{mechanism}, {budget}: {error}", file=sys.stderr)
            return "-"
        sizes.append(len(release))
    return f"{statistics.median(sizes):,.0f} ({min(sizes):,} - {max(sizes):,})"


if __name__ == "__main__":
    main()
