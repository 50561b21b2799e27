"""dpsel beside its peers, in one run: time and peak memory as ratios to polars' non-private distinct count.

    python -m benches.compare           # 500,000 users; int and string items; grouped and random rows
    python -m benches.compare --quick   # 50,000 users, integers, 2 repeats: a look in under two minutes
    python -m benches.compare --peers dpsel polars-streaming duckdb --repeats 9
    python -m benches.compare --peers dpsel dpsel-steered dpsel-auto    # what Steered costs beside DP-SIPS
    python -m benches.compare --peers dpsel-greedy dpsel-matching dpsel-screening    # Matching
    python -m benches.compare --all     # the slow peers too, and Matching

All peers run interleaved, each in a process of its own. The numbers, the medians and the table are
written to `bench-results/`.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benches import data, measure, tables
from benches.peers import PEERS, REFERENCE

LEFT_OUT = ("spark-array", "spark-window", "python-sips", "dpsel-greedy", "dpsel-matching", "dpsel-screening")
#: Runs of DP-SIPS draw different noise; sizes further apart than this mean that one of them does another job.
SIZE_TOLERANCE = 0.05


def main() -> None:
    args = arguments()
    peers = measure.installed(args.peers or [peer for peer in PEERS if args.all or peer not in LEFT_OUT])
    runs: list[measure.Run] = []
    for dataset in datasets(args):
        chosen = [peer for peer in peers if args.peers or dataset.users <= PEERS[peer].most_users]
        if not chosen:
            print(f"{dataset.name}: no peer takes so many users unless it is named with --peers")
            continue
        path = data.ensure(dataset, args.data)
        for one in measure.interleave(chosen, dataset.name, path, repeats=args.repeats, threads=args.threads):
            print(
                f"{one.dataset:18} {one.peer:18} {one.own_seconds:8.3f} s {one.peak_mib:7.0f} MiB", flush=True
            )
            runs.append(one)
    table = report(runs)
    measure.store("compare", args.results, runs, table)
    print("\n" + table)
    sys.exit(1 if disagreements(runs) else 0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), help="only these, whatever the size")
    parser.add_argument(
        "--all",
        action="store_true",
        help="with PySpark, plain Python at 50,000 users, UnitGreedy and Matching",
    )
    parser.add_argument("--users", type=int, nargs="+", default=[500_000])
    parser.add_argument("--kinds", nargs="+", choices=data.KINDS, default=list(data.KINDS))
    parser.add_argument("--orders", nargs="+", choices=data.ORDERS, default=list(data.ORDERS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument(
        "--quick", action="store_true", help="50,000 users, integers grouped by user, 2 repeats"
    )
    parser.add_argument("--data", type=Path, default=data.default_folder())
    parser.add_argument("--results", type=Path, default=Path("bench-results"))
    args = parser.parse_args()
    if args.quick:
        args.users, args.kinds, args.orders, args.repeats = [50_000], ["int"], ["grouped"], 2
    return args


def datasets(args: argparse.Namespace) -> list[data.Dataset]:
    return [data.Dataset(u, k, o) for u in args.users for o in args.orders for k in args.kinds]


def report(runs: list[measure.Run]) -> str:
    """One table per file: medians, ratios to the reference, and whether the sizes of the results agree."""
    summaries = measure.summarise(runs)
    machine = measure.machine()
    parts = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB; "
        f"load {machine['load']} "
        f"at the end; {machine['time']}; "
        + ", ".join(f"{k} {v}" for k, v in machine["packages"].items())
        + "\n"
    ]
    for name in dict.fromkeys(one.dataset for one in summaries):
        mine = [one for one in summaries if one.dataset == name]
        parts.append(f"### {name}\n\nMedians of {mine[0].runs} interleaved runs.\n\n" + table(mine))
        parts += in_multiples(mine)
    parts += [f"**Sizes disagree:** {line}\n" for line in disagreements(runs)]
    return "\n".join(parts)


#: What the report says in multiples of another peer.
BESIDE = (
    ("dpsel-steered", "Steered", "dpsel", "DP-SIPS"),
    ("dpsel-auto", "The default", "dpsel", "DP-SIPS"),
    ("dpsel-matching", "Matching", "dpsel-greedy", "UnitGreedy"),
    ("dpsel-screening", "Matching with screening", "dpsel-greedy", "UnitGreedy"),
)


def in_multiples(summaries: list[measure.Summary]) -> list[str]:
    """What some mechanisms take in multiples of others, as far as they were run."""
    by_peer = {one.peer: one for one in summaries}
    found = []
    for peer, name, other, other_name in BESIDE:
        one, unit = by_peer.get(peer), by_peer.get(other)
        if one is not None and unit is not None:
            time, cpu = one.own_seconds / unit.own_seconds, one.cpu_seconds / unit.cpu_seconds
            memory = one.peak_mib / unit.peak_mib
            found.append(
                f"{name} in multiples of {other_name}: time {time:.2f}, cpu {cpu:.2f}, memory {memory:.2f}.\n"
            )
    return found


def table(summaries: list[measure.Summary]) -> str:
    reference = next((one for one in summaries if one.peer == REFERENCE), None)
    header = (
        "peer",
        "own s",
        "fastest - slowest",
        "cpu s",
        "total s",
        "peak MiB",
        "time ratio",
        "memory ratio",
        "items out",
    )
    return tables.markdown(header, [row(one, reference) for one in summaries])


def row(one: measure.Summary, reference: measure.Summary | None) -> list[str]:
    ratios = ["", ""]
    if reference is not None:
        ratios = [
            f"{one.own_seconds / reference.own_seconds:.2f}",
            f"{one.peak_mib / reference.peak_mib:.2f}",
        ]
    spread = f"{one.fastest_seconds:.2f} - {one.slowest_seconds:.2f}"
    times = [
        tables.seconds(one.own_seconds),
        spread,
        *map(tables.seconds, (one.cpu_seconds, one.total_seconds)),
    ]
    return [PEERS[one.peer].what, *times, tables.mib(one.peak_mib), *ratios, f"{one.items:,.0f}"]


def disagreements(runs: list[measure.Run]) -> list[str]:
    """DP-SIPS implementations whose results are not of one size, up to noise."""
    found = []
    sips = [one for one in measure.summarise(runs) if PEERS[one.peer].sips]
    for name in dict.fromkeys(one.dataset for one in sips):
        sizes = {one.peer: one.items for one in sips if one.dataset == name}
        smallest, largest = min(sizes.values()), max(sizes.values())
        if largest - smallest > SIZE_TOLERANCE * largest:
            found.append(f"{name}: " + ", ".join(f"{peer} {items:,.0f}" for peer, items in sizes.items()))
    return found


if __name__ == "__main__":
    main()
