"""Hypothesis strategies: those of ``dpsel.testing`` by short names; and the column types."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from hypothesis import strategies as st

from dpsel import testing

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


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


max_items = st.integers(1, 6)
keys = testing.release_keys()
rows = testing.contributions
neighbours = testing.neighbours
approx_dp = testing.approx_dp()
zcdp = testing.zcdp()
