"""Running peers as processes of their own, one after another, and keeping what they report."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benches.peers import PEERS


@dataclass(frozen=True)
class Run:
    """One process: what it did and what it took."""

    peer: str
    dataset: str
    own_seconds: float
    cpu_seconds: float
    total_seconds: float
    peak_mib: float
    items: int


@dataclass(frozen=True)
class Summary:
    """The medians of several runs of one peer on one file."""

    peer: str
    dataset: str
    runs: int
    own_seconds: float
    fastest_seconds: float
    slowest_seconds: float
    cpu_seconds: float
    total_seconds: float
    peak_mib: float
    items: float


def run(peer: str, dataset: str, path: Path, threads: int) -> Run:
    """Run a peer once.

    Raises `subprocess.CalledProcessError` if it fails; what it wrote to stderr is shown.
    """
    spec = PEERS[peer]
    command = [sys.executable, "-m", f"benches.peers.{spec.module}", str(path), "--threads", str(threads), *spec.options]
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    total = time.perf_counter() - start
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        done.check_returncode()
    own = json.loads(done.stdout.splitlines()[-1])
    return Run(peer=peer, dataset=dataset, total_seconds=total, **own)


def interleave(peers: list[str], dataset: str, path: Path, *, repeats: int, threads: int) -> Iterator[Run]:
    """Every peer once, then every peer again: whatever else the machine does falls on all alike.

    Each repeat starts one peer later, so that none always follows the same neighbour. A first read puts the
    file into the page cache.
    """
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass
    for repeat in range(repeats):
        shift = repeat % len(peers)
        for peer in peers[shift:] + peers[:shift]:
            yield run(peer, dataset, path, threads)


def summarise(runs: Iterable[Run]) -> list[Summary]:
    """Medians by (dataset, peer), in the order of first appearance."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for one in runs:
        groups.setdefault((one.dataset, one.peer), []).append(one)
    return [_median(group) for group in groups.values()]


def _median(group: list[Run]) -> Summary:
    own = [one.own_seconds for one in group]
    return Summary(
        peer=group[0].peer,
        dataset=group[0].dataset,
        runs=len(group),
        own_seconds=statistics.median(own),
        fastest_seconds=min(own),
        slowest_seconds=max(own),
        cpu_seconds=statistics.median(one.cpu_seconds for one in group),
        total_seconds=statistics.median(one.total_seconds for one in group),
        peak_mib=statistics.median(one.peak_mib for one in group),
        items=statistics.median(one.items for one in group),
    )


def machine() -> dict[str, object]:
    """What the figures were measured on, and how busy it was."""
    model = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    memory = next((int(line.split()[1]) >> 20 for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gib": memory,
        "load": [round(load, 2) for load in os.getloadavg()],
        "python": sys.version.split()[0],
        "packages": _versions("dpsel", "polars", "duckdb", "pyarrow", "numpy", "pyspark"),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def _versions(*names: str) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def installed(peers: list[str]) -> list[str]:
    """The peers whose packages are there; the others are named on stderr and left out."""
    from importlib.util import find_spec

    needs = {"dpsel": "dpsel", "polars": "polars", "duckdb": "duckdb", "spark": "pyspark", "numpy": "numpy", "decode": "pyarrow"}
    missing = {p for p in peers for word, package in needs.items() if word in p.split("-") and find_spec(package) is None}
    for peer in sorted(missing):
        print(f"left out: {peer} (not installed)", file=sys.stderr)
    return [peer for peer in peers if peer not in missing]


def store(name: str, folder: Path, runs: list[Run], table: str) -> None:
    """Write every run as JSON, the medians as CSV and the table as Markdown."""
    import csv

    folder.mkdir(parents=True, exist_ok=True)
    result = {"machine": machine(), "runs": [asdict(one) for one in runs]}
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    (folder / f"{name}.md").write_text(table)
    summaries = [asdict(one) for one in summarise(runs)]
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, summaries[0].keys())
        writer.writeheader()
        writer.writerows(summaries)
