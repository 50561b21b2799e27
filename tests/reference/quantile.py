"""A limit as a noisy quantile of the users' numbers of items, in the plainest form there is."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from . import prf
from .matching import geometric

LIMIT = 15


def sizes(most: int) -> list[int]:
    """The limits that can be found."""
    grid = {size for power in range(32) for size in (2**power, 2**power * 3 // 2) if size < most}
    return sorted(grid | {most})


def noisy_users(most: int, rate: float, sets: dict, key: bytes) -> list[int]:
    """The noisy numbers of users of each size, and of those with more items."""
    grid = [0, *sizes(most), 10**18]
    lengths = [len(items) for items in sets.values()]
    exact = [sum(low < n <= high for n in lengths) for low, high in pairwise(grid)]
    return [number + _noise(key, at, rate) for at, number in enumerate(exact)]


def _noise(key: bytes, number: int, rate: float) -> int:
    word = prf.aes(prf.subkey(key, LIMIT, number), 0)
    return geometric(rate, word % 2**64) - geometric(rate, word >> 64)


def limit(most: int, quantile: float, users: list[int]) -> int:
    """The least size that ``quantile`` of all users do not exceed."""
    for at, size in enumerate(sizes(most)):
        if sum(users[: at + 1]) >= Fraction(quantile) * sum(users):
            return size
    return most
