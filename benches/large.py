"""A table beyond any memory, made and released on one machine: seconds, memory and scratch at several sizes.

    python -m benches.large --parts 4 8 16 --limit 2048 --job sips --scratch /var/tmp

The table is the workload of `benches.data` in files of two million users (72 million rows) each. A
program in Rust makes them, one per thread. A size is a number of files, so the smaller sizes are parts of the
larger ones. Each run is a process of its own, as in `benches.disk`, and is printed when it ends. At the end
stands the line through all sizes, by least squares, and what it says for the 4.6 billion rows of the DP-SIPS
paper.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from benches import data, disk

#: Users of a file.
PART = 2_000_000 - 2_000_000 % data.USERS_PER_STREAM
PAPER_ROWS = 4_600_000_000
#: Makes files: see `benches/rust/src/large_table.rs`.
GENERATOR = ("cargo", "run", "--release", "-q", "-p", "dpsel-bench", "--bin", "large_table", "--")


def main() -> None:
    args = arguments()
    files = ensure(max(args.parts), args.data, args.threads)
    taken = sum(path.stat().st_size for path in files) / 1e9
    print(f"{len(files)} files: {taken:.1f} GB; free for scratch: {free(args.scratch):.0f} GB", flush=True)
    if args.only_make:
        return
    print("| rows | job | limit, MiB | seconds | of processor | peak, MiB | scratch, MiB | items |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    found = []
    for parts in args.parts:
        paths = files[:parts]
        rows = sum(map(rows_of, paths))
        made = disk.one(",".join(map(str, paths)), disk.Run(args.job, args.limit), args)
        found.append((rows, made))
        numbers = "{seconds:.0f} | {cpu:.0f} | {peak:.0f} | {scratch:.0f} | {items}".format(**made)
        print(f"| {rows:,} | {args.job} | {args.limit} | {numbers} |", flush=True)
    # What fits into memory does not lie on the line.
    on_disk = [(rows, made) for rows, made in found if made["scratch"]]
    for name in ("seconds", "scratch") if on_disk else ():
        print(model(name, [(rows, made[name]) for rows, made in on_disk]))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--job", choices=disk.MECHANISMS, default="sips")
    parser.add_argument("--limit", type=int, default=2048, metavar="MIB")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--scratch", default=tempfile.gettempdir())
    parser.add_argument("--data", type=Path, default=data.default_folder())
    parser.add_argument("--only-make", action="store_true", help="Make the files, and no release.")
    return parser.parse_args()


def ensure(parts: int, folder: Path, threads: int) -> list[Path]:
    """The paths of so many files of users; those that are not there are made first, by a program in Rust."""
    paths = [folder / f"large_{part:03}.parquet" for part in range(parts)]
    missing = [(part, path) for part, path in enumerate(paths) if not path.exists()]
    if not missing:
        return paths
    folder.mkdir(parents=True, exist_ok=True)
    words = [str(word) for part, path in missing for word in (part, path)]
    subprocess.run([*GENERATOR, str(threads), str(PART), *words], check=True)
    return paths


def free(folder: str) -> float:
    """Gigabytes that are left of a disk."""
    return shutil.disk_usage(folder).free / 1e9


def rows_of(path: Path) -> int:
    import pyarrow.parquet as pq

    rows: int = pq.ParquetFile(path).metadata.num_rows
    return rows


def model(name: str, found: list[tuple[int, float]]) -> str:
    """The line through all sizes, and what it says for the table of the paper."""
    import numpy as np

    rows, values = np.array(found, dtype=float).T
    slope, start = np.polyfit(rows, values, 1) if len(found) > 1 else (values[0] / rows[0], 0.0)
    worst = max(abs(start + slope * rows - values) / values)
    return (
        f"{name}: {start:.1f} + {slope * 1e9:.1f} for each billion rows (off by at most {worst:.0%}); "
        f"{start + slope * PAPER_ROWS:,.0f} for {PAPER_ROWS:,} rows"
    )


if __name__ == "__main__":
    main()
