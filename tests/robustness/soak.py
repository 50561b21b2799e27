"""Thousands of random small jobs in one process, whose memory must not grow: ``nox -s soak -- --hours 24``.

Jobs are of every kind: all mechanisms and sources, top-k, checks, refused parameters, damaged files, callers
that give up. Memory is what the process has in use after a first tenth of the jobs, compared with the end.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.parquet

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dpsel
from mechanisms import CURVES, MECHANISMS
from top_k_cases import CASES

if TYPE_CHECKING:
    from collections.abc import Callable

#: Megabytes that a process may grow by after the start: allocators keep pages, and Python its free lists.
GROWTH = 24
#: Megabytes that a process may have in use at all.
CEILING = 1200


def in_use() -> float:
    """Megabytes that the process holds now."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def rows(source: random.Random) -> list[tuple[int, int]]:
    users, items = source.randrange(1, 60), source.randrange(1, 200)
    return [
        (source.randrange(users), int(source.paretovariate(0.7)) % items)
        for _ in range(source.randrange(2000))
    ]


def table(source: random.Random) -> pa.Table:
    users, items = zip(*(rows(source) or [(0, 0)]), strict=True)
    return pa.table({"user": pa.array(users, pa.int64()), "item": [f"an item named {i}" for i in items]})


#: A few budgets, so that calibrations are remembered now and made anew then.
BUDGETS = [dpsel.ApproxDP(epsilon=e, delta=d) for e in (0.5, 2.0, 4.0) for d in (1e-6, 1e-3)]


def select(source: random.Random, folder: Path) -> None:
    case = source.choice([*MECHANISMS, *CURVES])
    if case.label.endswith("prior"):
        return
    kinds: list[Callable[[], object]] = [
        lambda: table(source),
        lambda: pl.from_arrow(table(source)),
        lambda: table(source).to_pandas(),
        lambda: file(source, folder),
        lambda: iter(rows(source)),
    ]
    bound = 1 if case.name == "one_item" else source.choice([2, 10])
    release = dpsel.select_partitions(
        source.choice(kinds)(),
        user="user",
        item="item",
        privacy=source.choice(BUDGETS),
        max_items_per_user=bound,
        mechanism=case.mechanism,
        threads=source.choice([None, 1, 3]),
    )
    release.write(folder / f"items{source.choice(dpsel.release.EXTENSIONS)}")
    assert dpsel.check(release.report).ok


def file(source: random.Random, folder: Path) -> Path:
    path = folder / "rows.parquet"
    pyarrow.parquet.write_table(table(source), path)
    return path


def top_k(source: random.Random, _: Path) -> None:
    case = source.choice(CASES)
    public = None if case.privacy != dpsel.PureDP(epsilon=1.0) else range(20)
    dpsel.select_top_k(rows(source), k=3, privacy=case.privacy, mechanism=case.mechanism, domain=public)


def damaged(source: random.Random, folder: Path) -> None:
    path = file(source, folder)
    content = bytearray(path.read_bytes())
    for _ in range(5):
        content[source.randrange(len(content))] = source.randrange(256)
    path.write_bytes(content)
    try:
        dpsel.select_partitions(path, user="user", item="item", privacy=BUDGETS[0], max_items_per_user=2)
    except dpsel.DpselError:
        return


def refused(source: random.Random, _: Path) -> None:
    try:
        dpsel.select_partitions(rows(source), privacy=BUDGETS[0], max_items_per_user=source.choice([0, -1]))
    except dpsel.DpselError:
        return
    raise AssertionError


def stopped(source: random.Random, _: Path) -> None:
    """A caller's own exception in the middle of a job."""

    def stop(*_: int) -> None:
        raise LookupError

    try:
        dpsel.select_partitions(rows(source), privacy=BUDGETS[0], max_items_per_user=2, progress=stop)
    except LookupError:
        return
    raise AssertionError


JOBS = [select] * 12 + [top_k] * 3 + [damaged, refused, stopped]


@dataclass
class Outcome:
    """What a run showed."""

    jobs: int
    start: float
    end: float

    @property
    def good(self) -> bool:
        """Whether memory stayed where it was."""
        return self.end - self.start <= GROWTH and self.end <= CEILING

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.jobs} jobs, {self.start:.0f} MB after the first tenth, {self.end:.0f} MB at the end"


def run(seconds: float, seed: int, jobs: int | None = None) -> Outcome:
    """Run jobs for so long, or so many."""
    source, started, done, start = random.Random(seed), time.monotonic(), 0, 0.0

    def share() -> float:
        return done / jobs if jobs else (time.monotonic() - started) / seconds

    with tempfile.TemporaryDirectory() as folder:
        while share() < 1:
            source.choice(JOBS)(source, Path(folder))
            done += 1
            if not start and share() >= 0.1 and done >= 50:
                start = in_use()
        assert len(list(Path(folder).glob(".*"))) == 0, "a file written aside was left"
    return Outcome(done, start, in_use())


def main() -> int:
    """Run for hours."""
    parser = argparse.ArgumentParser(prog="nox -s soak --", description=__doc__)
    parser.add_argument("--hours", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    options = parser.parse_args()
    outcome = run(options.hours * 3600, options.seed)
    print(outcome, f"(--seed {options.seed})")
    return 0 if outcome.good else 1


if __name__ == "__main__":
    sys.exit(main())
