"""The state of a series as the core writes it, read from the specification in `state.rs`."""

from __future__ import annotations

from dataclasses import dataclass, field

import blake3

from . import prf

STATE = 20
START = b"dpsel.series.v1\0"
HAS_KEY, HAS_WALK, IS_PAUSED = 4, 8, 16


@dataclass
class Item:
    digest: int
    status: int
    key: bytes | None = None
    #: Score, noise, exposure and importance; `None` if there is no walk, and empty if it is paused.
    walk: tuple[int, ...] | None = None


@dataclass
class Account:
    digest: int
    left: int
    first: int
    ranked: int
    #: Digest of the item, place of its caps, and what it got.
    pairs: list[tuple[int, int, int]] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)


@dataclass
class State:
    release: int
    columns: str
    types: str
    noise_keys: list[bytes]
    items: dict[int, Item]
    accounts: dict[int, Account]
    forgotten: list[int]


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, length: int) -> bytes:
        found = self.data[self.at : self.at + length]
        assert len(found) == length
        self.at += length
        return found

    def digest(self) -> int:
        return int.from_bytes(self.take(16), "little")

    def integer(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def signed(self) -> int:
        value = self.integer()
        return (value >> 1) ^ -(value & 1)

    def counted(self, read) -> list:
        return [read() for _ in range(self.integer())]

    def item(self) -> Item:
        found, byte = self.digest(), self.take(1)[0]
        item = Item(found, byte & 3)
        if byte & HAS_KEY:
            item.key = self.take(self.integer())
        if byte & HAS_WALK:
            paused = byte & IS_PAUSED
            item.walk = () if paused else (self.signed(), self.signed(), self.integer(), self.integer())
        return item

    def account(self, items: list[Item]) -> Account:
        account = Account(self.digest(), self.integer(), self.integer(), self.integer())
        account.pairs = self.counted(
            lambda: (items[self.integer()].digest, self.take(1)[0], self.integer()),
        )
        account.queue = self.counted(lambda: items[self.integer()].digest)
        return account


def read(state: bytes, secret: bytes) -> State:
    content, tag = state[:-32], state[-32:]
    assert blake3.blake3(content, key=prf.subkey(secret, STATE, 0)).digest() == tag
    reader = Reader(content)
    assert reader.take(16) == START
    reader.take(32)  # of the plan
    release = reader.integer()
    columns, types = (reader.take(reader.integer()).decode() for _ in range(2))
    noise_keys = reader.counted(lambda: reader.take(32))
    items = reader.counted(reader.item)
    accounts = reader.counted(lambda: reader.account(items))
    forgotten = reader.counted(reader.digest)
    assert reader.at == len(content)
    by_digest = lambda found: {each.digest: each for each in found}  # noqa: E731
    return State(release, columns, types, noise_keys, by_digest(items), by_digest(accounts), forgotten)
