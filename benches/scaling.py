"""Time and memory against the number of rows: they should grow linearly.

    python -m benches.scaling
    python -m benches.scaling --peers dpsel --kinds int --repeats 5

Besides seconds and MiB the table has nanoseconds and bytes per row, which stay level when growth is linear
(bytes after taking off what the process holds with nothing read).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benches import data, measure, tables
from benches.peers import PEERS


def main() -> None:
    args = arguments()
    runs: list[measure.Run] = []
    rows: dict[str, int] = {}
    for kind in args.kinds:
        for users in args.users:
            dataset = data.Dataset(users, kind, args.order)
            path = data.ensure(dataset, args.data)
            rows[dataset.name] = number_of_rows(path)
            peers = measure.installed(args.peers)
            for one in measure.interleave(peers, dataset.name, path, repeats=args.repeats, threads=args.threads):
                print(f"{one.dataset:18} {one.peer:18} {one.own_seconds:8.3f} s {one.peak_mib:7.0f} MiB", flush=True)
                runs.append(one)
    table = report(measure.summarise(runs), rows)
    measure.store("scaling", args.results, runs, table)
    print("\n" + table)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=["dpsel", "polars-streaming"])
    parser.add_argument("--users", type=int, nargs="+", default=[50_000, 500_000, 2_000_000])
    parser.add_argument("--kinds", nargs="+", choices=data.KINDS, default=list(data.KINDS))
    parser.add_argument("--order", choices=data.ORDERS, default="grouped")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--data", type=Path, default=data.default_folder())
    parser.add_argument("--results", type=Path, default=Path("bench-results"))
    return parser.parse_args()


def number_of_rows(path: Path) -> int:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).metadata.num_rows


def report(summaries: list[measure.Summary], rows: dict[str, int]) -> str:
    """Figures per size, and the slope between the smallest and each larger size."""
    header = ("peer", "file", "rows", "own s", "peak MiB", "ns per row", "more bytes per more row")
    lines = []
    for one in sorted(summaries, key=lambda s: (s.peer, s.dataset.rsplit("_", 1)[1], rows[s.dataset])):
        smallest = min(
            (s for s in summaries if s.peer == one.peer and s.dataset.rsplit("_", 1)[1] == one.dataset.rsplit("_", 1)[1]),
            key=lambda s: rows[s.dataset],
        )
        more = rows[one.dataset] - rows[smallest.dataset]
        slope = f"{(one.peak_mib - smallest.peak_mib) * 2**20 / more:.1f}" if more else ""
        figures = [tables.seconds(one.own_seconds), tables.mib(one.peak_mib)]
        per_row = f"{one.own_seconds / rows[one.dataset] * 1e9:.1f}"
        lines.append([one.peer, one.dataset, f"{rows[one.dataset]:,}", *figures, per_row, slope])
    return tables.markdown(header, lines)


if __name__ == "__main__":
    main()
