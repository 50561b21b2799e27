"""Sizes of releases on data sets, kept in one CSV file: a program that needs sizes runs what is missing.

A Parquet file of a data set has the columns `user` and `item`, and perhaps `count`, one row for each user
and item. Items are numbered before anything is measured, so that no run spends time on strings.

A line of the CSV file stands for one cell: a data set, a guarantee, a limit and a mechanism. It has the sizes
under the keys 1, 2, ... and the fingerprint of the mechanism, which is the digest of a release of fixed rows.
If the mechanism changes, so does its fingerprint, and the cell is measured again.

`Steered(reach=r)` releases what `Steered()` does with r times the limit, bit for bit
(`tests/conformance/test_steered.py`). So the file has only the latter.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import statistics
import sys
import time
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

import dpsel
from dpsel.comparison._bound import upper_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FIGURES = Path(__file__).resolve().parent / "releases.csv"
COLUMNS = ("data", "users", "rows", "epsilon", "delta", "limit", "mechanism", "fingerprint", "items")

#: The guarantees: delta by epsilon. The third one is that of the DP-SIPS paper.
DELTAS = {0.5: 1e-5, 1.0: 1e-5, 1.765: 4.96e-5, 3.0: 1e-6, 6.0: 1e-6}
#: Those that everything is measured at.
EPSILONS = (0.5, 1.765, 6.0)
#: Items of each user in a set of short texts: about a first sentence.
SHORT = 15
#: A set gets one key for so many rows or more, smaller ones more keys, but at most this many.
ROWS_OF_ALL_KEYS, MOST_KEYS = 2_000_000, 8
#: The name of the line that is no mechanism: what any mechanism can release at most.
UPPER_BOUND = "upper bound"


@dataclass(frozen=True)
class Cell:
    """One line of the file, but for what was measured."""

    data: str
    epsilon: float
    limit: int
    mechanism: str


def cell_of(data: str, epsilon: float, limit: int, mechanism: Any) -> Cell:
    """The line that has the sizes of a mechanism at a limit."""
    reach = getattr(mechanism, "reach", 1) if mechanism.name == "steered" else 1
    narrow = replace(mechanism, reach=1) if reach > 1 else mechanism
    return Cell(data, epsilon, reach * limit, repr(narrow))


@dataclass
class Data:
    """A data set: rows with numbered items, each once for a user, and the rows as they were read."""

    name: str
    table: Any = field(repr=False)
    given: Any = field(repr=False)

    @property
    def users(self) -> int:
        return int(self.table["user"].n_unique())

    @cached_property
    def users_of_items(self) -> Any:
        """The number of users of each item."""
        return self.table.group_by("item").len("users")

    @cached_property
    def counted(self) -> Any:
        """Each row as often as the item occurs with the user."""
        if "count" not in self.given.columns:
            return self.table
        user, item = self.table["user"], self.table["item"]
        often = np.repeat(np.arange(len(self.table)), self.given["count"].to_numpy())
        return pl.DataFrame({"user": user.gather(often), "item": item.gather(often)})

    @property
    def keys(self) -> int:
        return max(1, min(MOST_KEYS, ROWS_OF_ALL_KEYS // len(self.table)))


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The arguments of programs that need sizes."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", type=Path, nargs="*", help="Parquet files or folders of them")
    parser.add_argument("--short", nargs="+", default=[], help="names of files to take as short texts, too")
    parser.add_argument("--first", type=int, default=SHORT, help="items of each user in a short text")
    parser.add_argument("--most-rows", type=int, help="take some users of sets with more rows than this")
    parser.add_argument("--epsilons", type=float, nargs="+", choices=DELTAS, default=EPSILONS)
    parser.add_argument("--figures", type=Path, default=FIGURES, help="the CSV file of all sizes")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--most-keys", type=int, default=MOST_KEYS, help="the most releases of each cell")
    return parser


def datasets(
    paths: Iterable[Path], short: Iterable[str], most_rows: int | None = None, first: int = SHORT
) -> Iterator[Data]:
    """The data sets of files and folders, small ones first, and those of short texts."""
    files = [file for path in paths for file in (path.glob("*.parquet") if path.is_dir() else [path])]
    for file in sorted(files, key=lambda file: file.stat().st_size):
        if file.stem in short:
            yield read(file, first, most_rows)
        yield read(file, most_rows=most_rows)


def read(file: Path, first: int | None = None, most_rows: int | None = None) -> Data:
    """Read a Parquet file, or the first items of each user; of a set with more rows, one user in so many."""
    arrow = pq.read_table(file)
    items = arrow["item"].combine_chunks().dictionary_encode()
    codes = getattr(items, "indices", None) or items.chunk(0).indices
    table = pl.from_arrow(arrow.drop_columns(["item"])).with_columns(item=pl.Series(codes.to_numpy()))
    name = file.stem
    if first is not None:
        table = table.filter(pl.int_range(pl.len()).over("user") < first)
        name = f"{name}, first {first} items"
    if most_rows is not None and len(table) > most_rows:
        users = -(-len(table) // most_rows)
        table = table.filter(pl.col("user") % users == 0)
        name = f"{name}, 1 user in {users}"
    return Data(name, table.select("user", "item"), table)


class Figures:
    """The file, and the runs that it lacks."""

    def __init__(self, path: Path = FIGURES, threads: int | None = None, most_keys: int = MOST_KEYS) -> None:
        self.path, self.threads, self.most_keys = path, threads, most_keys
        self.found: dict[Cell, dict[str, str]] = {}
        if path.exists():
            with path.open(newline="", encoding="utf-8") as lines:
                for row in csv.DictReader(lines):
                    cell = Cell(row["data"], float(row["epsilon"]), int(row["limit"]), row["mechanism"])
                    self.found[cell] = row

    def mean(self, cell: Cell) -> float | None:
        """The mean over keys, or `None` if the cell was not measured."""
        return statistics.fmean(sizes) if (sizes := self.sizes(cell)) else None

    def sizes(self, cell: Cell) -> list[float]:
        row = self.found.get(cell)
        return [float(size) for size in row["items"].split()] if row else []

    def measure(self, data: Data, epsilon: float, limit: int, mechanism: Any) -> None:
        """Run a mechanism under the keys of the data set, if that was not done yet."""
        cell = cell_of(data.name, epsilon, limit, mechanism)
        mechanism = replace(mechanism, reach=1) if mechanism.name == "steered" else mechanism
        mark = fingerprint(mechanism)
        known, keys = self.found.get(cell), min(data.keys, self.most_keys)
        sizes = known["items"].split() if known and known["fingerprint"] == mark else []
        if len(sizes) >= keys:
            return
        begun = time.perf_counter()
        sizes += [str(self._size(data, cell, mechanism, key)) for key in range(len(sizes) + 1, keys + 1)]
        seconds = time.perf_counter() - begun
        self._keep(data, cell, mark, " ".join(sizes))
        print(f"{cell}: {' '.join(sizes)} in {seconds:.1f} s", file=sys.stderr, flush=True)

    def once(self, data: Data, cell: Cell, size: Callable[[], float]) -> None:
        """Compute a size that no mechanism of ours has, if that was not done yet."""
        if cell not in self.found:
            self._keep(data, cell, "", f"{size():.0f}")

    def bound(self, data: Data, epsilon: float) -> None:
        """Sum the largest probability of release over all items, if that was not done yet."""
        self.once(data, Cell(data.name, epsilon, 0, UPPER_BOUND), lambda: bound(data, epsilon))

    def mean_of(self, data: str, epsilon: float, limit: int, mechanism: Any) -> float | None:
        """The mean over keys of a mechanism at a limit, or `None` if that was not measured."""
        return self.mean(cell_of(data, epsilon, limit, mechanism))

    def stale(self, mechanisms: Iterable[Any]) -> list[str]:
        """The mechanisms that would release other items today than when they were measured."""
        marks = {repr(each): fingerprint(each) for each in mechanisms}
        return sorted(
            {
                cell.mechanism
                for cell, row in self.found.items()
                if marks.get(cell.mechanism, row["fingerprint"]) != row["fingerprint"]
            }
        )

    def _size(self, data: Data, cell: Cell, mechanism: Any, key: int) -> int:
        release = dpsel.select_partitions(
            data.counted if mechanism.name == "greedy_frequency" else data.table,
            user="user",
            item="item",
            privacy=dpsel.ApproxDP(epsilon=cell.epsilon, delta=DELTAS[cell.epsilon]),
            max_items_per_user=cell.limit,
            mechanism=mechanism,
            threads=self.threads,
            insecure_test_key=bytes([key]) * 32,
        )
        return len(release)

    def _keep(self, data: Data, cell: Cell, mark: str, items: str) -> None:
        delta = f"{DELTAS[cell.epsilon]:g}"
        size = (data.users, len(data.table))
        values = (data.name, *size, f"{cell.epsilon:g}", delta, cell.limit, cell.mechanism, mark, items)
        self.found[cell] = dict(zip(COLUMNS, map(str, values), strict=True))
        new = not self.path.exists()
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(self.found[cell])

    def tidy(self) -> None:
        """Write the file once more, sorted and with one line for each cell."""
        rows = sorted(
            self.found.values(),
            key=lambda row: (row["data"], float(row["epsilon"]), int(row["limit"]), row["mechanism"]),
        )
        with self.path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def bound(data: Data, epsilon: float) -> float:
    """The items that any mechanism of the guarantee releases at most, on average."""
    users_of_items = data.users_of_items["users"].value_counts()
    return sum(
        number * upper_bound(epsilon, DELTAS[epsilon], users) for users, number in users_of_items.iter_rows()
    )


def true_order(data: Data, epsilon: float) -> Any:
    """`UnitGreedy` with the private numbers of users as its table: rarest first of what can be released.

    It has no guarantee, and tells what a better order of users' units is worth.
    """
    need = next(n for n in count(1) if upper_bound(epsilon, DELTAS[epsilon], n) >= 1 / 2)
    enough = data.users_of_items.filter(pl.col("users") >= need)
    return dpsel.UnitGreedy(prior={item: 1 / users for item, users in enough.iter_rows()})


@lru_cache
def fingerprint(mechanism: Any) -> str:
    """Six digits that change if the mechanism releases other items."""
    draw = np.random.default_rng(1)
    rows = [
        (user, min(int(1 + draw.pareto(0.4)), 5_000))
        for user in range(2_000)
        for _ in range(draw.choice((1, 3, 10, 60)))
    ]
    single = "OneItem()" in repr(mechanism)
    release = dpsel.select_partitions(
        rows,
        privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-5),
        max_items_per_user=1 if single else 30,
        mechanism=mechanism,
        insecure_test_key=bytes(32),
    )
    return hashlib.sha256(repr(sorted(release.items)).encode()).hexdigest()[:6]
