"""Time, memory and disk of one job with less memory than it takes: beyond the limit it goes on from the disk.

    python -m benches.disk --users 2000000 --kinds int --jobs sips steered duckdb polars --repeats 3

Each mechanism runs without a limit, and with `--part` of the memory that it took then, or with the limits in
MiB that `--limits` names. duckdb and polars count distinct users, not privately, under the smallest of these
limits: duckdb by its own setting, polars by the limit of data that the system sets for the process, as it has
none. A job that fails there is shown as such. Each run is a process of its own, and the runs of a repeat are
interleaved. Peak memory is the largest resident set less that of the process before the job. Scratch is what
open files in the scratch folder took at most, looked at twenty times a second (Linux only). All releases of a
mechanism have to be the same. The table is Markdown.
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
from typing import NamedTuple

from benches import data, parameters

MIB = 1 << 20
#: The least limit with which dpsel works from a disk.
LEAST = 64
MECHANISMS = ("sips", "steered")
PEERS = ("duckdb", "polars")


class Run(NamedTuple):
    """A job and its limit in MiB; 0 is none."""

    job: str
    limit: int


def main() -> None:
    args = arguments()
    print("| rows | job | limit, MiB | seconds | of processor | peak, MiB | scratch, MiB | times as long |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for kind in args.kinds:
        path = data.ensure(data.Dataset(args.users, kind, args.order), args.data)
        found: dict[Run, list[dict[str, float]]] = {run: [] for run in planned(path, args)}
        for _ in range(args.repeats):
            for run, made in found.items():
                made.append(one(path, run, args))
        for job in args.jobs:
            digests = {run["digest"] for key, made in found.items() if key.job == job for run in made if run}
            if job in MECHANISMS and len(digests) != 1:
                raise SystemExit(f"the releases of {path.name} by {job} differ")
        for run, made in found.items():
            print(line(path, run, made, found[Run(run.job, 0)]), flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, default=500_000)
    parser.add_argument("--kinds", nargs="+", choices=data.KINDS, default=list(data.KINDS))
    parser.add_argument("--order", choices=data.ORDERS, default="grouped")
    parser.add_argument("--jobs", nargs="+", choices=(*MECHANISMS, *PEERS), default=[*MECHANISMS, *PEERS])
    limits = parser.add_mutually_exclusive_group()
    limits.add_argument("--part", type=float, default=0.1)
    limits.add_argument("--limits", type=int, nargs="+", metavar="MIB")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--scratch", default=tempfile.gettempdir())
    parser.add_argument("--data", type=Path, default=data.default_folder())
    return parser.parse_args()


def planned(path: Path, args: argparse.Namespace) -> list[Run]:
    """Every job without a limit and with each of its limits."""
    limits: dict[str, list[int]] = {}
    for job in args.jobs:
        if job in MECHANISMS:
            peak = 0.0 if args.limits else one(path, Run(job, 0), args)["peak"]
            limits[job] = args.limits or [max(LEAST, round(peak * args.part))]
    least = min((limit for several in limits.values() for limit in several), default=LEAST)
    return [Run(job, limit) for job in args.jobs for limit in (0, *limits.get(job, [least]))]


def line(path: Path, run: Run, made: list[dict[str, float]], unlimited: list[dict[str, float]]) -> str:
    """A row of the table: medians of all runs."""
    start = f"| {path.stem} | {run.job} | {run.limit or 'none'} |"
    if not all(made):
        return f"{start} fails | | | | |"
    middle = {name: statistics.median(run[name] for run in made) for name in made[0].keys() - {"digest"}}
    usual = statistics.median(run["seconds"] for run in unlimited) if all(unlimited) else float("nan")
    middle["times"] = middle["seconds"] / usual
    numbers = "{seconds:.1f} | {cpu:.1f} | {peak:.0f} | {scratch:.0f} | {times:.2f}".format(**middle)
    return f"{start} {numbers} |"


def one(path: str | Path, run: Run, args: argparse.Namespace) -> dict[str, float]:
    """Run a job in a process of its own; nothing if it fails, which only peers may do."""
    call = "from benches import disk; disk.child()"
    command = [sys.executable, "-c", call, path, run.job, run.limit, args.threads, args.scratch]
    quiet = subprocess.DEVNULL if run.job in PEERS else None
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=quiet, text=True
    ) as process:
        most = 0
        while process.poll() is None:
            most = max(most, scratch_bytes(process.pid, args.scratch))
            time.sleep(0.05)
        out = process.stdout.read() if process.stdout else ""
    if process.returncode and run.job in PEERS:
        return {}
    made: dict[str, float] = json.loads(out)
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
    from importlib import import_module

    path, job, scratch = sys.argv[1], sys.argv[2], sys.argv[5]
    limit, threads = int(sys.argv[3]) * MIB, int(sys.argv[4])
    run = {"duckdb": duckdb_count, "polars": polars_count}.get(job, release)
    # Neither libraries nor the memory of the parent, which a child starts with, belong to the job.
    for library in ("pyarrow", job if job in PEERS else "dpsel"):
        import_module(library)
    Path("/proc/self/clear_refs").write_text("5")
    before = held("VmRSS")
    own = run(path, job, limit, threads, scratch)
    print(json.dumps(own | {"peak": (own["peak"] - before) / MIB}))


def held(name: str) -> int:
    """Bytes of this process, as Linux counts them under a name."""
    status = Path("/proc/self/status").read_text()
    return next(int(row.split()[1]) << 10 for row in status.splitlines() if row.startswith(f"{name}:"))


def timed(work) -> tuple[object, dict[str, float]]:
    """What a function returns, and the time that it took."""
    started, cpu = time.monotonic(), time.process_time()
    made = work()
    own = {"seconds": time.monotonic() - started, "cpu": time.process_time() - cpu}
    # Before anything is done with the result.
    return made, own | {"peak": held("VmHWM")}


def release(path: str, job: str, limit: int, threads: int, scratch: str) -> dict[str, float]:
    """What dpsel takes, and a digest of the release."""
    import hashlib

    import pyarrow as pa

    import dpsel

    settings = {"memory_limit": limit, "scratch": scratch} if limit else {}
    made, own = timed(
        lambda: dpsel.select_partitions(
            path.split(","),
            user="user",
            item="item",
            privacy=dpsel.ZCDP(rho=parameters.RHO, delta=parameters.DELTA),
            max_items_per_user=parameters.MAX_ITEMS_PER_USER,
            mechanism=dpsel.Sips() if job == "sips" else dpsel.Steered(),
            threads=threads,
            insecure_test_key=bytes(32),
            **settings,
        )
    )
    columns = [str(column.to_pylist()) for column in pa.table(made).columns]
    return own | {"items": len(made), "digest": hashlib.sha256("".join(columns).encode()).hexdigest()}


def duckdb_count(path: str, _job: str, limit: int, threads: int, scratch: str) -> dict[str, float]:
    """Distinct users of each item in duckdb, which spills by itself."""
    from benches.peers import duckdb_count as peer

    connection = peer.prepare(argparse.Namespace(threads=threads))
    if limit:
        connection.execute(f"SET memory_limit = '{limit}B'")
        connection.execute("SET temp_directory = ?", [f"{scratch}/duckdb"])
    items, own = timed(lambda: peer.job(path, connection))
    return own | {"items": items, "digest": ""}


def polars_count(path: str, _job: str, limit: int, threads: int, _scratch: str) -> dict[str, float]:
    """Distinct users of each item in polars, streaming."""
    import resource

    from benches.peers import polars_count as peer

    engine = peer.prepare(argparse.Namespace(threads=threads, engine="streaming"))
    if limit:
        most = held("VmData") + limit
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    items, own = timed(lambda: peer.job(path, engine))
    return own | {"items": items, "digest": ""}


if __name__ == "__main__":
    main()
