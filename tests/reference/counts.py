"""Noisy numbers of users or rows of released items, in the plainest form there is."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

from . import prf
from .noise import UNIT, noise

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

COUNTS = 14


def of_row(rows: Iterable[int], limit: int, most: int = 1) -> int:
    """What each row of a user counts, in grid steps, given its numbers of rows of all counted items.

    1, unless their norm exceeds sqrt(limit) * most: then so much less that it does not.
    """
    squares, largest = sum(number * number for number in rows), limit * most * most
    return UNIT if squares <= largest else isqrt(UNIT * UNIT * largest // squares)


def sums(
    held: Iterable[Mapping[Hashable, int]], counted: set[Hashable], limit: int, most: int = 1
) -> dict[Hashable, int]:
    """The exact sums of all users, in grid steps, given the number of rows of each of a user's items."""
    found = dict.fromkeys(counted, 0)
    for rows in held:
        capped = {item: min(number, most) for item, number in rows.items() if item in counted}
        each = of_row(capped.values(), limit, most)
        for item, number in capped.items():
            found[item] += number * each
    return found


def published(
    held: Iterable[Mapping[Hashable, int]],
    counted: set[Hashable],
    scale: tuple[int, int, float],
    key: bytes,
) -> Mapping[Hashable, int]:
    """The published numbers; `scale` has the limits of items and of rows, and the standard deviation."""
    limit, most, sigma = scale
    subkey = prf.subkey(key, COUNTS, 0)

    def number(item: Hashable, exact: int) -> int:
        noisy = exact + noise("gaussian", sigma, prf.aes(subkey, prf.item_digest(key, item)))
        return (noisy + UNIT // 2) // UNIT

    return {item: number(item, exact) for item, exact in sums(held, counted, limit, most).items()}
