"""How many items each mechanism releases on real data, beside the best that was published with a valid proof.

    python -m benches.accuracy path/to/folder --short imdb wiki_abstracts --markdown docs/accuracy-tables.md
    python -m benches.accuracy imdb.parquet --mechanisms Steered "Sips, curves"

Every Parquet file has the columns `user` and `item`, and perhaps `count`, one row for each user and
item. A file named after `--short` is taken once more with the first fifteen items of each user only, as
a set of short texts. All figures are for one guarantee, (1.765, 4.96e-5)-DP. Published mechanisms get it
the way their papers do, 0.1-zCDP with delta = 1e-5, where they are made for that, and are tuned: each is
run with several limits and cutoffs, and the best one counts. Ours are run once, with the parameters that
the line shows. Three fixed keys, median and range.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches import tables
from benches.parameters import DELTA, RATIO, RHO, ROUNDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KEYS = [bytes([seed]) * 32 for seed in (1, 2, 3)]
#: Items of each user in a set of short texts: about a first sentence.
SHORT = 15
LIMITS = (50, 100, 300)
CUTOFFS = (2.0, 5.0)


@dataclass(frozen=True)
class Row:
    """A mechanism with one or several settings, of which the best one counts."""

    name: str
    settings: tuple[tuple[Any, Any, int], ...]
    published: bool = False
    by_counts: bool = False


def rows() -> list[Row]:
    """Every mechanism: guarantee, mechanism and limit of each setting."""
    import dpsel

    equal, paper = dpsel.ApproxDP(epsilon=1.765, delta=4.96e-5), dpsel.ZCDP(rho=RHO, delta=DELTA)

    def tuned(privacy: Any, *mechanisms: Any) -> tuple[tuple[Any, Any, int], ...]:
        return tuple((privacy, mechanism, limit) for mechanism in mechanisms for limit in LIMITS)

    def ours(mechanism: Any, limit: int) -> tuple[tuple[Any, Any, int], ...]:
        return ((equal, mechanism, limit),)

    policies = [dpsel.PolicyGaussian(alpha=alpha) for alpha in CUTOFFS]
    laplace = [dpsel.PolicyLaplace(alpha=alpha) for alpha in CUTOFFS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpsel.exceptions.DpselWarning)
        flawed = dpsel.GreedyFrequency(calibration="published")
    curves = dpsel.Sips(rounds=ROUNDS, ratio=0.2, release="curve")
    return [
        Row("DP-SIPS as published", tuned(paper, dpsel.Sips(rounds=ROUNDS, ratio=RATIO)), published=True),
        Row("Policy Gaussian as published", tuned(paper, *policies), published=True),
        Row("Policy Laplace as published", tuned(equal, *laplace), published=True),
        Row("GW as published (no guarantee)", ours(flawed, 10_000), by_counts=True),
        Row("GreedyFrequency", ours(dpsel.GreedyFrequency(), 10_000), by_counts=True),
        Row("UnitGreedy", ours(dpsel.UnitGreedy(), 10_000), by_counts=True),
        Row("Matching", ours(dpsel.Matching(), 10_000)),
        Row("Matching, screening", ours(dpsel.Matching(screening=True), 10_000)),
        Row("CountGaussian", ours(dpsel.CountGaussian(), 100)),
        Row("WeightedLaplace", ours(dpsel.WeightedLaplace(), 100)),
        Row("WeightedGaussian", ours(dpsel.WeightedGaussian(), 100)),
        Row("WeightedGaussian, curve", ours(dpsel.WeightedGaussian(release="curve"), 100)),
        Row("PolicyGaussian", ours(dpsel.PolicyGaussian(), 100)),
        Row("PolicyLaplace, curve", ours(dpsel.PolicyLaplace(release="curve"), 100)),
        Row("PolicyGaussian, curve", ours(dpsel.PolicyGaussian(release="curve"), 100)),
        Row("Mad", ours(dpsel.Mad(), 100)),
        Row("Mad2R", ours(dpsel.Mad2R(), 100)),
        Row("Sips", ours(dpsel.Sips(), 100)),
        Row("Sips, curves", ours(curves, 100)),
        Row("Steered, limit 100", ours(dpsel.Steered(), 100)),
        Row("Steered", ours(dpsel.Steered(), 300)),
        Row("Steered, 60 rounds", ours(dpsel.Steered(rounds=60), 1000)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", type=Path, nargs="+", help="Parquet files or folders of them")
    parser.add_argument("--short", nargs="+", default=[], help="names of files to take as short texts, too")
    parser.add_argument("--mechanisms", nargs="+", choices=[row.name for row in rows()], help="only these")
    parser.add_argument("--markdown", type=Path, help="also write the tables here")
    args = parser.parse_args()
    chosen = [row for row in rows() if args.mechanisms is None or row.name in args.mechanisms]
    text = "\n".join(section(*data, chosen) for data in datasets(args.paths, args.short))
    if not text:
        parser.error("no Parquet file there")
    if args.markdown:
        args.markdown.write_text(text)
    print(text)


def datasets(paths: Iterable[Path], short: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Name and table of each data set."""
    import polars as pl

    files = [file for path in paths for file in (sorted(path.glob("*.parquet")) if path.is_dir() else [path])]
    for file in files:
        table = pl.read_parquet(file)
        yield file.stem, table
        if file.stem in short:
            first = pl.int_range(pl.len()).over("user") < SHORT
            yield f"{file.stem}, first {SHORT} items", table.filter(first)


def section(name: str, table: Any, chosen: list[Row]) -> str:
    """The table of one data set."""
    import polars as pl

    users = table["user"].n_unique()
    print(f"{name}: {users:,} users", file=sys.stderr, flush=True)
    counted = table
    if "count" in table.columns:
        counted = table.select(
            pl.col(column).repeat_by("count").list.explode(keep_nulls=False, empty_as_null=False)
            for column in ("user", "item")
        )
    found = {row: best(counted if row.by_counts else table, row) for row in chosen}
    peers = [statistics.median(sizes) for row, (sizes, _) in found.items() if row.published]
    to_beat = max(peers, default=0) or None
    lines = [line(row, *outcome, to_beat) for row, outcome in found.items()]
    head = ("mechanism", "setting", "items", "of the best published")
    return f"### {name} ({users:,} users)\n\n" + tables.markdown(head, lines)


def best(table: Any, row: Row) -> tuple[list[int], str]:
    """The sizes of the releases of the best setting, and the setting."""
    outcomes = [(sizes(table, *setting), describe(*setting)) for setting in row.settings]
    chosen = max(outcomes, key=lambda outcome: statistics.median(outcome[0]))
    print(f"  {row.name}: {chosen}", file=sys.stderr, flush=True)
    return chosen


def sizes(table: Any, privacy: Any, mechanism: Any, limit: int) -> list[int]:
    import dpsel

    arguments = {"user": "user", "item": "item", "privacy": privacy, "mechanism": mechanism}
    return [
        len(dpsel.select_partitions(table, max_items_per_user=limit, insecure_test_key=key, **arguments))
        for key in KEYS
    ]


def describe(_privacy: Any, mechanism: Any, limit: int) -> str:
    alpha = getattr(mechanism, "alpha", None)
    return f"limit {limit:,}" + (f", alpha {alpha:g}" if alpha else "")


def line(row: Row, sizes: list[int], setting: str, to_beat: float | None) -> list[str]:
    median = statistics.median(sizes)
    share = f"{median / to_beat:.2f}" if to_beat else "-"
    return [row.name, setting, f"{median:,.0f} ({min(sizes):,} - {max(sizes):,})", share]


if __name__ == "__main__":
    main()
