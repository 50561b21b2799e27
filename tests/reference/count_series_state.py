"""The state of a series of numbers as the core writes it, read from the specification in its `state.rs`."""

from __future__ import annotations

from dataclasses import dataclass

import blake3

from . import prf
from .series_state import STATE, Reader

START = b"dpsel.counts.v1\0"


@dataclass
class State:
    release: int
    #: Users that counted, and noisy values, since an item was named.
    items: dict[int, tuple[list[int], list[int]]]
    #: What a user spent, and the releases in which it counted in each item.
    accounts: dict[int, tuple[int, dict[int, list[int]]]]
    forgotten: list[int]


def read(state: bytes, secret: bytes) -> State:
    content, tag = state[:-32], state[-32:]
    assert blake3.blake3(content, key=prf.subkey(secret, STATE, 0)).digest() == tag
    reader = Reader(content)
    assert reader.take(16) == START
    reader.take(32)  # of the plan
    release = reader.integer()
    for _ in range(2):  # columns and types
        reader.take(reader.integer())
    items, order = {}, []
    for _ in range(reader.integer()):
        digest = reader.digest()
        if reader.take(1)[0]:
            reader.take(reader.integer())
        length = reader.integer()
        items[digest] = (
            [reader.integer() for _ in range(length)],
            [reader.signed() for _ in range(length)],
        )
        order.append(digest)
    accounts = {}
    for _ in range(reader.integer()):
        digest, spent = reader.digest(), reader.integer()
        accounts[digest] = (
            spent,
            {order[reader.integer()]: reader.counted(reader.integer) for _ in range(reader.integer())},
        )
    forgotten = reader.counted(reader.digest)
    assert reader.at == len(content)
    return State(release, items, accounts, forgotten)
