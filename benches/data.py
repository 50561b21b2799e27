"""The synthetic workload of the DP-SIPS paper (Swanberg et al., PoPETs 2023, Section 5.1), kept in files.

    python -m benches.data --users 50000 500000 --kinds int str --orders grouped random

A user draws the length of its list from a Pareto law (minimum 10, shape 1.16, at most 10,000) and each entry
from a zeta law of parameter 1.1; entries above 2^40 become 2^40; repeated entries of a user are dropped. One
row is one distinct (user, item). String items are an injective image of the integers: short words for
frequent items. `grouped` keeps a user's rows together, `random` shuffles all rows.

Files are made once, in `bench-data/` or the folder that `--folder` or `DPSEL_BENCH_DATA` names. Their content
depends on the arguments and numpy alone: one PCG64 stream per 65,536 users.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20230101
USERS_PER_STREAM = 1 << 16
PARETO_MINIMUM, PARETO_SHAPE, ZETA = 10.0, 1.16, 1.1
MAX_DRAWS = 10_000
LARGEST_ITEM = 1 << 40
ROW_GROUP = 1_000_000

LETTERS = b"etaoinshrdlu"
SHORTEST, LONGEST = 4, 12  # 12 letters out of 12 tell more than 2^40 items apart
SCATTER = 1_000_003  # coprime with 12: a bijection modulo 12^length

KINDS = ("int", "str")
ORDERS = ("grouped", "random")
SIZES = {50_000: "50k", 500_000: "500k", 2_000_000: "2m"}


@dataclass(frozen=True)
class Dataset:
    """One file of the workload."""

    users: int
    kind: str = "int"
    order: str = "grouped"

    @property
    def name(self) -> str:
        size = SIZES.get(self.users, str(self.users))
        order = "_rnd" if self.order == "random" else ""
        return f"syn{size}{order}_{self.kind}"

    def path(self, folder: Path) -> Path:
        return folder / f"{self.name}.parquet"


def default_folder() -> Path:
    return Path(os.environ.get("DPSEL_BENCH_DATA", "bench-data"))


def ensure(dataset: Dataset, folder: Path) -> Path:
    """The path of the file, made first if it is not there."""
    path = dataset.path(folder)
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"making {path}", flush=True)
        aside = path.with_suffix(".partial")
        _write(dataset, aside)
        aside.rename(path)
    return path


def _write(dataset: Dataset, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    item_type = pa.int64() if dataset.kind == "int" else pa.string()
    schema = pa.schema([("user", pa.int64()), ("item", item_type)])
    with pq.ParquetWriter(path, schema, compression="zstd", compression_level=3) as writer:
        for user, item in _blocks(dataset):
            items = pa.array(item) if dataset.kind == "int" else words(item)
            writer.write_table(pa.table([pa.array(user), items], schema=schema), row_group_size=ROW_GROUP)


def _blocks(dataset: Dataset) -> Iterator[tuple]:
    """Arrays (user, item) in the order of the file."""
    import numpy as np

    starts = range(0, dataset.users, USERS_PER_STREAM)
    drawn = (_draw(start, min(USERS_PER_STREAM, dataset.users - start)) for start in starts)
    if dataset.order == "grouped":
        yield from drawn
        return
    user, item = (np.concatenate(column) for column in zip(*drawn, strict=True))
    order = np.random.Generator(np.random.PCG64([SEED, 1 << 40])).permutation(user.size)
    user, item = user[order], item[order]
    for start in range(0, user.size, ROW_GROUP):
        yield user[start : start + ROW_GROUP], item[start : start + ROW_GROUP]


def drawn(first_user: int, users: int) -> tuple:
    """Distinct (user, item) rows of consecutive users, in order."""
    _, owner, item = _rows(first_user, users)
    return owner + first_user, item


def _draw(first_user: int, users: int) -> tuple:
    """Distinct (user, item) rows of consecutive users; a user's items stand in random order."""
    import numpy as np

    stream, owner, item = _rows(first_user, users)
    shuffled = np.lexsort((stream.random(owner.size), owner))
    return owner[shuffled] + first_user, item[shuffled]


def _rows(first_user: int, users: int) -> tuple:
    """The stream, and the distinct rows that it drew."""
    import numpy as np

    stream = np.random.Generator(np.random.PCG64([SEED, first_user // USERS_PER_STREAM]))
    # numpy's `pareto` is the Lomax law: the classical one is its shift by one, scaled.
    lengths = np.floor(PARETO_MINIMUM * (1 + stream.pareto(PARETO_SHAPE, users)))
    lengths = np.minimum(lengths, MAX_DRAWS).astype(np.int64)
    owner = np.repeat(np.arange(users), lengths)
    item = np.minimum(stream.zipf(ZETA, owner.size), LARGEST_ITEM)
    # 16 bits of user and 41 of item fit one word, whose sorted distinct values are the distinct rows.
    rows = (owner << 41) | item
    rows.sort()  # `unique` takes ten times as long
    rows = rows[np.concatenate(([True], rows[1:] != rows[:-1]))]
    return stream, rows >> 41, rows & ((1 << 41) - 1)


def words(items: object) -> object:
    """Integers in 0 .. 12^12 as distinct words, an Arrow string array."""
    import numpy as np
    import pyarrow as pa

    values = np.asarray(items, dtype=np.uint64)
    powers = np.array([len(LETTERS) ** n for n in range(SHORTEST, LONGEST)], dtype=np.uint64)
    lengths = SHORTEST + np.searchsorted(powers, values, side="right")
    ends = np.cumsum(lengths)
    text = np.empty(int(ends[-1]) if ends.size else 0, dtype=np.uint8)
    for length in np.unique(lengths):
        mine = np.flatnonzero(lengths == length)
        rest = values[mine] * np.uint64(SCATTER) % np.uint64(len(LETTERS) ** int(length))
        for back in range(1, int(length) + 1):
            rest, digit = np.divmod(rest, np.uint64(len(LETTERS)))
            text[ends[mine] - back] = np.frombuffer(LETTERS, np.uint8)[digit.astype(np.intp)]
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    return pa.StringArray.from_buffers(values.size, pa.py_buffer(offsets), pa.py_buffer(text))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, nargs="+", default=[50_000, 500_000])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--orders", nargs="+", choices=ORDERS, default=["grouped"])
    parser.add_argument("--folder", type=Path, default=default_folder())
    args = parser.parse_args()
    for users in args.users:
        for order in args.orders:
            for kind in args.kinds:
                print(ensure(Dataset(users, kind, order), args.folder))


if __name__ == "__main__":
    main()
