"""Time, memory and disk of one job with less and less memory: beyond the limit it goes on from the disk.

    python -m benches.disk --users 500000 --limits 0 512 128 64

A limit of 0 MiB means none. Each run is a process of its own, and the runs of a repeat are interleaved. Peak
memory is the largest resident set less that of the process before the job. Scratch is what its files took at
most, looked at twenty times a second (Linux only). All releases of a file have to be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches import data, parameters

MIB = 1 << 20


def main() -> None:
    args = arguments()
    for kind in args.kinds:
        path = data.ensure(data.Dataset(args.users, kind, args.order), args.data)
        runs: dict[int, list[dict[str, float]]] = {limit: [] for limit in args.limits}
        for _ in range(args.repeats):
            for limit in args.limits:
                runs[limit].append(one(path, limit, args))
        if len({run["digest"] for found in runs.values() for run in found}) != 1:
            raise SystemExit(f"the releases of {path.name} differ")
        for limit, found in runs.items():
            names = found[0].keys() - {"digest"}
            middle = {name: statistics.median(run[name] for run in found) for name in names}
            print(
                f"{path.stem:16} limit {limit:6} MiB: {middle['seconds']:8.2f} s, of processor"
                f" {middle['cpu']:8.2f} s, peak {middle['peak']:7.0f} MiB,"
                f" scratch {middle['scratch']:8.0f} MiB, {middle['items']:.0f} items",
                flush=True,
            )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, default=500_000)
    parser.add_argument("--kinds", nargs="+", choices=data.KINDS, default=list(data.KINDS))
    parser.add_argument("--order", choices=data.ORDERS, default="grouped")
    parser.add_argument("--limits", type=int, nargs="+", default=[0, 512, 128, 64], metavar="MIB")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--scratch", default=tempfile.gettempdir())
    parser.add_argument("--data", type=Path, default=data.default_folder())
    return parser.parse_args()


def one(path: Path, limit: int, args: argparse.Namespace) -> dict[str, float]:
    """Run the job in a process of its own."""
    command = [
        sys.executable,
        "-c",
        "from benches import disk; disk.child()",
        path,
        limit,
        args.threads,
        args.scratch,
    ]
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as process:
        most = 0
        while process.poll() is None:
            most = max(most, scratch_bytes(process.pid, args.scratch))
            time.sleep(0.05)
        made: dict[str, float] = json.loads(process.stdout.read() if process.stdout else "")
    return made | {"scratch": most / MIB}


def scratch_bytes(process: int, folder: str) -> int:
    """Bytes of the open files of a process that lie in a folder."""
    total = 0
    for file in Path(f"/proc/{process}/fd").glob("*"):
        try:
            if str(file.readlink()).startswith(folder):
                total += file.stat().st_blocks * 512
        except OSError:
            continue
    return total


def child() -> None:
    """Do the job; print one line of JSON."""
    import hashlib
    import resource

    import pyarrow as pa

    import dpsel

    path, limit, threads, scratch = sys.argv[1], int(sys.argv[2]) * MIB, int(sys.argv[3]), sys.argv[4]
    settings = {"memory_limit": limit, "scratch": scratch} if limit else {}
    before, started, cpu = (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        time.monotonic(),
        time.process_time(),
    )
    release = dpsel.select_partitions(
        path,
        user="user",
        item="item",
        privacy=dpsel.ZCDP(rho=parameters.RHO, delta=parameters.DELTA),
        max_items_per_user=parameters.MAX_ITEMS_PER_USER,
        mechanism=dpsel.Sips(),
        threads=threads,
        insecure_test_key=bytes(32),
        **settings,
    )
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    columns = [str(column.to_pylist()) for column in pa.table(release).columns]
    digest = hashlib.sha256("".join(columns).encode()).hexdigest()
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak, "items": len(release), "digest": digest}))
