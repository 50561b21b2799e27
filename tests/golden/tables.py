"""The data of the golden releases: small tables that are the same on every machine."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpsel import demo_data

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Data:
    """One set of rows, and public facts about it."""

    name: str
    #: Makes the source anew, because an iterator is used up by one call.
    source: Callable[[], Any]
    #: Further arguments of a call: the columns, ``ngrams``.
    options: dict[str, Any] = field(default_factory=dict)
    #: Public items, most frequent first: the domain of top-k and the table that orders items.
    public: tuple[Any, ...] = ()
    #: The limits of items per user that selections use.
    bounds: tuple[int, ...] = (4,)
    #: Whether only the types of the columns are new here, so that fewer combinations of arguments do.
    is_about_types: bool = False

    @property
    def prior(self) -> dict[Any, float]:
        """Public frequencies of every second public item, two of which are equal."""
        return {item: float(max(3, 40 - at)) for at, item in enumerate(self.public[::2])}


def _ranks(users: int, items: int) -> list[tuple[int, int]]:
    """Rows of users and ranks of items with Zipf frequencies; some rows repeat."""
    weights = list(accumulate(1 / rank for rank in range(1, items + 1)))
    rows = []
    for user in range(users):
        rng = random.Random(f"golden {user}")
        rows += [(user, rank) for rank in rng.choices(range(items), cum_weights=weights, k=1 + user % 9)]
    return rows


ROWS = _ranks(240, 40)
COLUMNS = {"user": "user", "item": "item"}

#: An Arrow type, and the value of each rank.
TYPES: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "int64": (pa.int64(), lambda rank: rank * 2**57 - 2**62),
    "uint8": (pa.uint8(), lambda rank: 255 - rank),
    "text": (pa.string(), lambda rank: "é" * (rank * 5)),
    "binary": (pa.binary(), lambda rank: b"\xff\x00" + bytes(range(rank))),
    "date": (pa.date32(), lambda rank: dt.date(1969, 12, 20) + dt.timedelta(days=rank)),
    "timestamp": (
        pa.timestamp("us"),
        lambda rank: dt.datetime(1969, 12, 30) + dt.timedelta(hours=7 * rank, microseconds=rank),  # noqa: DTZ001
    ),
    "timestamp_utc": (
        pa.timestamp("ms", "UTC"),
        lambda rank: dt.datetime(2024, 3, 31, tzinfo=dt.UTC) + dt.timedelta(minutes=30 * rank),
    ),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), lambda rank: f"category {rank}"),
}


def _column(kind: str) -> pa.Array:
    arrow, value = TYPES[kind]
    if pa.types.is_dictionary(arrow):
        return pa.array([value(rank) for _, rank in ROWS], arrow.value_type).dictionary_encode()
    return pa.array([value(rank) for _, rank in ROWS], arrow)


def _users(arrow: pa.DataType, name: Callable[[int], Any]) -> pa.Array:
    return pa.array([name(user) for user, _ in ROWS], arrow)


def _typed(kind: str) -> Data:
    table = pa.table({"user": _users(pa.int64(), lambda user: user - 100), "item": _column(kind)})
    public = tuple(TYPES[kind][1](rank) for rank in range(40))
    return Data(kind, lambda: table, COLUMNS, public, is_about_types=True)


def _composite() -> Data:
    """Items of three columns, users of binary names."""
    table = pa.table(
        {
            "user": _users(pa.binary(), lambda user: f"user {user}".encode()),
            "word": pa.array([f"word {rank % 7}" for _, rank in ROWS]),
            "number": pa.array([rank // 7 - 3 for _, rank in ROWS], pa.int32()),
            "day": _column("date"),
        }
    )
    day = TYPES["date"][1]
    public = tuple((f"word {rank % 7}", rank // 7 - 3, day(rank)) for rank in range(40))
    return Data("composite", lambda: table, {"user": "user", "item": ["word", "number", "day"]}, public)


def _groups() -> Data:
    """Pairs of a user and a list of items, without declared types."""
    held: dict[int, list[str]] = {}
    for user, rank in ROWS:
        held.setdefault(user, []).append(f"item {rank}")
    return Data("groups", lambda: iter(held.items()), {}, tuple(f"item {rank}" for rank in range(40)))


def _lists() -> Data:
    """A table with a row for each user, which has a list of items."""
    held: dict[int, list[int]] = {}
    for user, rank in ROWS:
        held.setdefault(user, []).append(1000 - rank)
    lists = pa.array(list(held.values()), pa.list_(pa.int16()))
    table = pa.table({"user": [f"user {user}" for user in held], "item": lists})
    return Data("lists", lambda: table, COLUMNS, tuple(range(1000, 960, -1)), is_about_types=True)


def _long_lists() -> Data:
    """Users who all hold one item and hundreds of rare ones, so that `Steered` takes them to their caps."""
    rng = random.Random("golden long lists")
    held = [[0, *rng.sample(range(1, 2_001), rng.randint(240, 290))] for _ in range(48)]
    rows = [(user, item) for user, items in enumerate(held) for item in items]
    return Data("long_lists", lambda: iter(rows), {}, tuple(range(40)), (60, 300), is_about_types=True)


def _demo(kind: str, users: int, items: str, **shape: Any) -> Data:
    rows = list(demo_data.generate(kind, users=users, seed=16, items=items))
    counts: dict[Any, int] = {}
    for _, item in rows:
        counts[item] = counts.get(item, 0) + 1
    public = tuple(sorted(counts, key=lambda item: (-counts[item], item))[:60])
    return Data(f"demo_{kind}", lambda: iter(rows), {}, public, **shape)


def every() -> list[Data]:
    """Return all data sets."""
    words = ("the", "of", "and", "of the", "to", "thou", "that", "in the", "lord", "shall", "love")
    quotations = {"user": "line", "item": "text", "ngrams": (1, 2)}
    return [
        Data("quotations", demo_data.quotations, quotations, words),
        _demo("text", 120, "str", bounds=(12,)),
        _demo("zeta", 200, "int"),
        _composite(),
        _groups(),
        _lists(),
        _long_lists(),
        *(_typed(kind) for kind in TYPES),
    ]


def vectors() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return vectors of counts with their options: a list, a mapping, arrays, large and equal counts."""
    rng = random.Random("golden counts")
    sampled = [int(2_000 / rank) + rng.randrange(5) for rank in range(1, 301)]
    rng.shuffle(sampled)
    return {
        "list": ([90, 20, 70, 0, 70, 65, -3, 12], {}),
        "mapping": ({f"label {count % 97} {at}": count for at, count in enumerate(sampled)}, {}),
        "array": (np.array(sampled, dtype=np.int64), {}),
        "large": (pa.array([2**61, 2**40, 2**40 + 3, -(2**61), *range(2**40 - 20, 2**40)]), {}),
        "equal": ([50] * 12, {"labels": [dt.date(2024, 1, day) for day in range(1, 13)]}),
    }
