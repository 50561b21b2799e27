"""A series of 52 releases under one guarantee, beside other ways to spend the same budget.

    python -m benches.series FILES...       # Parquet files with the columns user, item and week (from 0)
    python -m benches.series --made         # a stream that is made here
    python -m benches.series FILES... --time
    python -m benches.series FILES... --last      # week 52 alone: time and memory beside one `Steered`

The ways: a series; equal shares of the budget for each week, with all rows so far; the same, where the keys
of earlier weeks are public and take no weight; and one single release with the whole budget at a week.
Shares are those of a composition that is as tight as the theorem of the series: all weeks together have one
Gaussian part, and their thresholds one delta. Figures are numbers of keys known after a week, medians over
seeds.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import dpsel
from dpsel import _core

WEEKS = 52
SHOWN = (1, 4, 12, 26, 52)
#: Weekly shares take fewer rounds than a single release, for which there is one week in 52.
ROUNDS, SINGLE_ROUNDS = 12, 30
COLUMNS = json.dumps({"user": "user", "items": ["item"]})
UNIT = 2**30
#: Of users and of items of the made stream, so many are there from the start or born late.
PART = 0.25


def made(seed: int, users: int = 20_000) -> pa.Table:
    """Users with a week of birth and a rate of their own; Zipf items, of which some are born late."""
    draw = np.random.default_rng(seed)
    start = np.where(draw.random(users) < PART, 0, draw.integers(0, WEEKS, users))
    rate, length = draw.gamma(0.5, 0.3, users), draw.gamma(1.0, 9.0, users)
    birth = np.where(draw.random(200_000) < PART, draw.integers(0, WEEKS, 200_000), -100)
    size = 1 / (np.arange(200_000) + 5.0) ** 1.2
    parts = []
    for week in range(WEEKS):
        active = np.flatnonzero((start == week) | ((start < week) & (draw.random(users) < rate)))
        rows = np.repeat(active, 1 + draw.poisson(length[active]))
        likely = np.cumsum(np.where(birth <= week, size, 0))
        items = np.searchsorted(likely, draw.random(len(rows)) * likely[-1])
        parts.append(pa.table({"user": rows, "item": items, "week": np.full(len(rows), week)}))
    return (
        pa.concat_tables(parts)
        .group_by(["user", "item"])
        .aggregate([("week", "min")])
        .rename_columns(["user", "item", "week"])
    )


def rows_of(table: pa.Table, first: int, last: int) -> pa.Table:
    """The rows of some weeks, from 0, both included."""
    week = table["week"]
    return table.filter(pc.and_(pc.greater_equal(week, first), pc.less_equal(week, last))).select(
        ["user", "item"]
    )


def tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def composed(report: dict[str, Any], epsilon: float, releases: int) -> tuple[float, float]:
    """The delta of so many releases together, and the threshold in norms of users of some hundred items."""
    publish = report["calibration"]["rounds"][-1]["publish"]
    sigma, threshold = publish["score_noise"]["sigma"], publish["threshold"] / UNIT
    delta = 0.0
    for size in publish["sizes"]:
        mu, cap = size["norm"] / UNIT / sigma * math.sqrt(releases), size["cap"] / UNIT
        q = tail((threshold - cap) / sigma) - tail(threshold / sigma)
        gauss = tail(epsilon / mu - mu / 2) - math.exp(epsilon) * tail(epsilon / mu + mu / 2)
        delta = max(delta, -releases * math.expm1(size["items"] * math.log1p(-q)) + gauss)
    middle = next(
        size for size in publish["sizes"] if size["items"] >= min(300, publish["sizes"][-1]["items"])
    )
    return delta, threshold * UNIT / middle["norm"]


def share(epsilon: float, delta: float, limit: int) -> dpsel.ApproxDP:
    """What each of the weekly releases may cost, such that all of them together cost the budget."""

    def report(privacy: dpsel.ApproxDP) -> dict[str, Any]:
        mechanism = dpsel.Steered(rounds=ROUNDS)
        made = dpsel.select_partitions(
            [(1, 1)], privacy=privacy, max_items_per_user=limit, mechanism=mechanism
        )
        return json.loads(made.report.to_json())

    found = []
    for part in (0.35, 0.5, 0.7, 1.0, 1.4):
        low, high = 1e-3, epsilon
        for _ in range(25):
            middle = math.sqrt(low * high)
            privacy = dpsel.ApproxDP(epsilon=middle, delta=part * delta / WEEKS)
            fits = composed(report(privacy), epsilon, WEEKS)[0] <= delta
            low, high = (middle, high) if fits else (low, middle)
        privacy = dpsel.ApproxDP(epsilon=low, delta=part * delta / WEEKS)
        if composed(report(privacy), epsilon, WEEKS)[0] <= delta:
            found.append((composed(report(privacy), epsilon, WEEKS)[1], privacy))
    return min(found, key=lambda each: each[0])[1]


def source(rows: pa.Table) -> _core.Source:
    return _core.Source.stream(rows, [], None)


def of_series(table: pa.Table, plan: str, seed: int) -> tuple[dict[int, int], dict[str, float]]:
    """The number of known keys after each week, and what the last release took."""
    draw = np.random.default_rng(seed)
    secret, state, known, took = draw.bytes(32), None, {}, {}
    for week in range(WEEKS):
        began = time.perf_counter()
        rows = source(rows_of(table, week, week))
        release = _core.series_release(plan, secret, state, draw.bytes(32), rows, COLUMNS, [])
        state = release.state
        known[week + 1] = known.get(week, 0) + len(release.items)
        took = {"seconds": time.perf_counter() - began, "state_mib": len(state) / 2**20}
    return known, took


def of_shares(
    table: pa.Table, privacy: dpsel.ApproxDP, limit: int, seed: int, *, with_public: bool
) -> dict[int, int]:
    draw, keys, known = np.random.default_rng(seed), set(), {}
    for week in range(WEEKS):
        release = dpsel.select_partitions(
            rows_of(table, 0, week),
            user="user",
            item="item",
            privacy=privacy,
            max_items_per_user=limit,
            mechanism=dpsel.Steered(rounds=ROUNDS),
            public_items=sorted(keys) if with_public and keys else None,
            insecure_test_key=draw.bytes(32),
        )
        keys |= set(pa.table(release.items)["item"].to_pylist())
        known[week + 1] = len(keys)
    return known


def of_single(table: pa.Table, privacy: dpsel.ApproxDP, limit: int, seed: int) -> dict[int, int]:
    draw = np.random.default_rng(seed)
    count = {}
    for week in SHOWN:
        release = dpsel.select_partitions(
            rows_of(table, 0, week - 1),
            user="user",
            item="item",
            privacy=privacy,
            max_items_per_user=limit,
            mechanism=dpsel.Steered(rounds=SINGLE_ROUNDS),
            insecure_test_key=draw.bytes(32),
        )
        count[week] = len(release)
    return count


def last(name: str, file: Path, given: argparse.Namespace) -> None:
    """What the release of week 52 takes beside one `Steered` of all rows, in processes that take turns."""
    asked = {"epsilon": given.epsilon, "delta": given.delta, "rho": None, "releases": WEEKS}
    plan = _core.series_plan(**asked, max_items_per_user=given.limit, waits=True)
    table, state, secret = pq.read_table(file), None, bytes(32)
    for week in range(WEEKS - 1):
        rows, key = source(rows_of(table, week, week)), bytes([week + 1]) * 32
        state = _core.series_release(plan, secret, state, key, rows, COLUMNS, []).state
    ways = ("steered", "series, new rows", "series, all rows")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "plan").write_text(plan)
        (place / "state").write_bytes(_core.seal(bytes(32), b"last", state or b""))
        pq.write_table(rows_of(table, 0, WEEKS - 1), place / "all")
        pq.write_table(rows_of(table, WEEKS - 1, WEEKS - 1), place / "new")
        taken: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for turn in range(given.seeds):
            for way in ways[turn % 3 :] + ways[: turn % 3]:
                command = [sys.executable, "-m", "benches.series", folder, "--child", way]
                command += ["--epsilon", str(given.epsilon), "--delta", str(given.delta)]
                command += ["--limit", str(given.limit)]
                told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                taken[way].append(tuple(json.loads(told)))
    base = [statistics.median(each) for each in zip(*taken["steered"], strict=True)]
    for way, runs in taken.items():
        seconds, peak = (statistics.median(each) for each in zip(*runs, strict=True))
        show(name, way, f"{seconds:.2f} s of processors, {seconds / base[0]:.2f} times")
        show(name, way, f"{peak:.0f} MiB, {peak / base[1]:.2f} times")


def child(folder: Path, given: argparse.Namespace) -> None:
    """One release in a process of its own: seconds of processors, and MiB of memory beyond the start."""
    privacy, plan = dpsel.ApproxDP(epsilon=given.epsilon, delta=given.delta), (folder / "plan").read_text()
    began, before = time.process_time(), peak_mib()
    if given.child == "steered":
        mechanism = dpsel.Steered(rounds=SINGLE_ROUNDS)
        columns = {"user": "user", "item": "item", "file_format": "parquet"}
        dpsel.select_partitions(
            folder / "all", privacy=privacy, max_items_per_user=given.limit, mechanism=mechanism, **columns
        )
    else:
        state, which = (b"last", (folder / "state").read_bytes()), given.child.split()[1]
        rows = _core.Source.files([folder / which], "parquet", quoted=True)
        _core.series_release(plan, bytes(32), state, bytes([WEEKS]) * 32, rows, COLUMNS, [])
    print(json.dumps([time.process_time() - began, peak_mib() - before]))


def peak_mib() -> float:
    """The high-water mark of this process; the one of `resource` begins with that of the parent."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def medians(runs: list[dict[int, int]]) -> list[int]:
    return [round(statistics.median(run[week] for run in runs)) for week in SHOWN]


def measure(name: str, table: pa.Table, given: argparse.Namespace) -> None:
    privacy, limit = dpsel.ApproxDP(epsilon=given.epsilon, delta=given.delta), given.limit
    numbers = {"epsilon": given.epsilon, "delta": given.delta, "rho": None, "releases": WEEKS}
    weekly, seeds = share(given.epsilon, given.delta, limit), range(given.seeds)
    show(
        name, f"{table.num_rows} pairs; a week has epsilon = {weekly.epsilon:.3g}, delta = {weekly.delta:.3g}"
    )
    for waits in (True, False):
        plan = _core.series_plan(**numbers, max_items_per_user=limit, waits=waits)
        runs = [of_series(table, plan, seed) for seed in seeds]
        show(name, f"series, {'waiting' if waits else 'prompt'}", medians([known for known, _ in runs]))
        if given.time and waits:
            show(name, "the last release", runs[-1][1])
    for words, with_public in (("equal shares", False), ("equal shares, earlier keys public", True)):
        runs = [of_shares(table, weekly, limit, seed, with_public=with_public) for seed in seeds]
        show(name, words, medians(runs))
    began = time.perf_counter()
    show(name, "one single release", medians([of_single(table, privacy, limit, seed) for seed in seeds]))
    if given.time:
        show(name, "five single releases, seconds", (time.perf_counter() - began) / len(seeds))
        show(name, "peak MiB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def show(*columns: object) -> None:
    print(*columns, sep=" | ", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--made", action="store_true")
    parser.add_argument("--epsilon", type=float, default=1.765)
    parser.add_argument("--delta", type=float, default=4.96e-5)
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--last", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.files[0], given)
        return
    show("data", "way", f"keys known after weeks {', '.join(map(str, SHOWN))}")
    for path in given.files if given.last else []:
        last(path.stem, path, given)
    for path in given.files if not given.last else []:
        measure(path.stem, pq.read_table(path), given)
    if given.made:
        measure("made", made(11), given)


if __name__ == "__main__":
    main()
