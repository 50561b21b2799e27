"""Noisy numbers of users of released items, in the plainest form there is."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

from . import prf
from .noise import UNIT, noise

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

COUNTS = 14


def contribution(held: int, limit: int) -> int:
    """What a user of so many counted items adds to each: min(1, sqrt(limit / held)) in grid steps."""
    return UNIT if held <= limit else isqrt(UNIT * UNIT * limit // held)


def sums(sets: Iterable[set[Hashable]], counted: set[Hashable], limit: int) -> dict[Hashable, int]:
    """The exact sums of all users, in grid steps."""
    found = dict.fromkeys(counted, 0)
    for items in sets:
        for item in items & counted:
            found[item] += contribution(len(items & counted), limit)
    return found


def users(
    sets: Iterable[set[Hashable]], counted: set[Hashable], scale: tuple[int, float], key: bytes
) -> Mapping[Hashable, int]:
    """The published numbers; `scale` is the limit and the standard deviation."""
    limit, sigma = scale
    subkey = prf.subkey(key, COUNTS, 0)

    def published(item: Hashable, exact: int) -> int:
        noisy = exact + noise("gaussian", sigma, prf.aes(subkey, prf.item_digest(key, item)))
        return (noisy + UNIT // 2) // UNIT

    return {item: published(item, exact) for item, exact in sums(sets, counted, limit).items()}
