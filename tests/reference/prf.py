"""The keyed PRF: canonical bytes, digests and words, written from the specification in `docs/decisions`."""

from __future__ import annotations

import datetime as dt
from functools import cache

import blake3
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

ITEM_DIGEST, USER_DIGEST, BOUND, ORDER, NOISE, COMMITMENT = 1, 2, 3, 4, 5, 6

INTEGER, TEXT, BINARY, BOOLEAN, DATE, TIMESTAMP, INSTANT, COMPOSITE = range(1, 9)

#: Longer byte strings are hashed before they are encoded.
INLINE_BYTES = 75
LONG = 0x80
WORD = 1 << 128

EPOCH = dt.date(1970, 1, 1)


def subkey(key: bytes, purpose: int, round_: int) -> bytes:
    """The key of one purpose and round: keyed BLAKE3 of a name of 20 bytes."""
    name = b"dpsel.v1.subkey" + bytes([purpose]) + round_.to_bytes(4, "little")
    return blake3.blake3(name, key=key).digest()


def commitment(key: bytes) -> str:
    """What the report says about the key."""
    return subkey(key, COMMITMENT, 0).hex()


@cache
def _encryptor(key: bytes):
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305 - single blocks: the permutation itself


def aes(key: bytes, word: int) -> int:
    """AES-256 of one block; a word is the block read as a little-endian integer."""
    block = _encryptor(key).update(word.to_bytes(16, "little"))
    return int.from_bytes(block, "little")


def kind_and_value(value: object) -> tuple[int, int | bytes]:  # noqa: PLR0911 - one line per type
    """The type tag of a Python value, and the integer or bytes that are encoded with it."""
    match value:
        case bool():
            return BOOLEAN, int(value)
        case int():
            return INTEGER, value
        case str():
            return TEXT, value.encode()
        case bytes():
            return BINARY, value
        case dt.datetime():
            return _timestamp(value)
        case dt.date():
            return DATE, (value - EPOCH).days
        case tuple():
            return COMPOSITE, b"".join(_component(part) for part in value)
    raise TypeError(f"no canonical bytes for {type(value)}")


def _timestamp(value: dt.datetime) -> tuple[int, int]:
    zone = value.tzinfo
    delta = value - dt.datetime(1970, 1, 1, tzinfo=zone and dt.UTC)
    nanoseconds = ((delta.days * 86400 + delta.seconds) * 10**6 + delta.microseconds) * 1000
    return (INSTANT if zone else TIMESTAMP), nanoseconds


def _component(part: object) -> bytes:
    """One column of a composite key: type tag, length as LEB128, bytes; integers as short as they go."""
    kind, value = kind_and_value(part)
    if isinstance(value, int):
        size = next(n for n in range(1, 17) if -(1 << 8 * n - 1) <= value < 1 << 8 * n - 1)
        value = value.to_bytes(size, "little", signed=True)
    length, leb128 = len(value), bytearray()
    while length >= 0x80:
        leb128.append(length % 0x80 + 0x80)
        length //= 0x80
    return bytes([kind, *leb128, length]) + value


def blocks(kind: int, value: int | bytes, long_key: bytes) -> list[int]:
    """The canonical encoding as 16-byte blocks, each read as a little-endian integer."""
    if isinstance(value, int):
        return [kind | (value << 8) % WORD]
    tag, payload = kind, value
    if len(value) > INLINE_BYTES:
        tag, payload = kind | LONG, blake3.blake3(value, key=long_key).digest()
    data = bytes([tag]) + len(value).to_bytes(4, "little") + payload
    data += bytes(-len(data) % 16)
    return [int.from_bytes(data[i : i + 16], "little") for i in range(0, len(data), 16)]


@cache
def digest(key: bytes, purpose: int, kind: int, value: int | bytes) -> int:
    """CBC-MAC of the canonical encoding."""
    cipher_key, long_key = subkey(key, purpose, 0), subkey(key, purpose, 1)
    state = 0
    for block in blocks(kind, value, long_key):
        state = aes(cipher_key, state ^ block)
    return state


def item_digest(key: bytes, item: object) -> int:
    """Digest of an item."""
    return digest(key, ITEM_DIGEST, *kind_and_value(item))


def user_digest(key: bytes, user: object) -> int:
    """Digest of a user."""
    return digest(key, USER_DIGEST, *kind_and_value(user))


def bound_priority(key: bytes, user: object, item: object) -> int:
    """Smaller means kept first: two-block CBC-MAC over the digests of user and item."""
    bound_key = subkey(key, BOUND, 0)
    return aes(bound_key, aes(bound_key, user_digest(key, user)) ^ item_digest(key, item))


def order_word(key: bytes, user: object) -> int:
    """Users of sequential mechanisms come in ascending order of this."""
    return aes(subkey(key, ORDER, 0), user_digest(key, user))


def noise_word(key: bytes, round_: int, item: object) -> int:
    """The uniform 128-bit word from which an item's noise in a round (from 0) is made."""
    return aes(subkey(key, NOISE, round_), item_digest(key, item))
