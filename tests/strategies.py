"""Hypothesis strategies: tables, neighbouring tables, privacy parameters; and the column types."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from hypothesis import strategies as st

import dpsel

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Rows = list[tuple[int, int]]


@dataclass(frozen=True)
class KeyType:
    """A column type, and a one-to-one map from small integers to its values."""

    name: str
    arrow: pa.DataType
    value: Callable[[int], Hashable]

    def __str__(self) -> str:
        return self.name


def _text(i: int) -> str:
    """Texts of every encoding length: empty, one block, several blocks, hashed, not ASCII."""
    return (
        ["", "a\0", "a", "é" * 40, "x" * 75, "x" * 76, "lörem " * 50][i] if i < 7 else f"{i}" + "y" * (i * 7)
    )


def _when(i: int) -> dt.datetime:
    start = dt.datetime(1969, 12, 30)  # noqa: DTZ001 - columns without a zone are meant
    return start + dt.timedelta(hours=7 * i, microseconds=i)


KEY_TYPES = [
    KeyType("int8", pa.int8(), lambda i: i - 3),
    KeyType("int16", pa.int16(), lambda i: 200 * i - 700),
    KeyType("int32", pa.int32(), lambda i: i - 2**31),
    KeyType("int64", pa.int64(), lambda i: i * 2**58 - 2**63),
    KeyType("uint8", pa.uint8(), lambda i: 255 - i),
    KeyType("uint16", pa.uint16(), lambda i: 2**16 - 1 - i),
    KeyType("uint32", pa.uint32(), lambda i: 2**32 - 1 - i),
    KeyType("uint64", pa.uint64(), lambda i: 2**64 - 1 - i),
    KeyType("string", pa.string(), _text),
    KeyType("large_string", pa.large_string(), _text),
    KeyType("string_view", pa.string_view(), _text),
    KeyType("dictionary", pa.dictionary(pa.int32(), pa.string()), _text),
    KeyType("dictionary_of_int", pa.dictionary(pa.int8(), pa.int64()), lambda i: i - 3),
    KeyType("binary", pa.binary(), lambda i: _text(i).encode() + b"\xff"),
    KeyType("large_binary", pa.large_binary(), lambda i: _text(i).encode() + b"\xff"),
    KeyType("date32", pa.date32(), lambda i: dt.date(1969, 12, 28) + dt.timedelta(days=i)),
    KeyType("timestamp_us", pa.timestamp("us"), _when),
    KeyType("timestamp_utc", pa.timestamp("us", "UTC"), lambda i: _when(i).replace(tzinfo=dt.UTC)),
]


@st.composite
def rows(draw: st.DrawFn, *, users: int = 25, items: int = 14, max_size: int = 120) -> Rows:
    """Rows with a few popular items and many rare ones, with duplicates."""
    popular = st.integers(0, 2)
    anything = st.integers(0, items - 1)
    row = st.tuples(st.integers(0, users - 1), popular | anything)
    return draw(st.lists(row, max_size=max_size))


@st.composite
def neighbours(draw: st.DrawFn, **sizes: int) -> tuple[Rows, Rows]:
    """A table, and the same with one more user, who may hold items of others and novel ones."""
    base = draw(rows(**sizes))
    added = draw(st.sets(st.integers(0, 20), min_size=1, max_size=12))
    return base, base + [(1000, item) for item in sorted(added)]


max_items = st.integers(1, 6)
keys = st.binary(min_size=32, max_size=32)
#: Large enough that tables of a hundred rows release something, small enough that not all is released.
approx_dp = st.builds(dpsel.ApproxDP, epsilon=st.floats(0.5, 8.0), delta=st.floats(1e-4, 0.2))
zcdp = st.builds(dpsel.ZCDP, rho=st.floats(0.05, 8.0), delta=st.floats(1e-4, 0.2))
