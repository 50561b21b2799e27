"""A look at the lengths of lists, and what it chooses, in the plainest form there is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from . import prf
from .matching import geometric

LOOK = 13


@dataclass(frozen=True)
class Looked:
    """What a look shows: its epsilon, the noisy numbers of users, and whether the lists count as short."""

    epsilon: float
    users: tuple[int, int]
    is_short: bool


def noise(key: bytes, number: int, rate: float) -> int:
    """The noise of one number of users."""
    word = prf.aes(prf.subkey(key, LOOK, number), 0)
    return geometric(rate, word % 2**64) - geometric(rate, word >> 64)


def is_short(users: tuple[int, int], percent: int, epsilon: float) -> bool:
    """Whether the users with long lists and a margin are at most so many per cent of all."""
    short, long = (max(number, 0) for number in users)
    margin = ceil(3 / Fraction(epsilon))
    return Fraction(long + margin) <= Fraction(percent, 100) * (short + long)


def look(question: tuple[int, int], rate: float, sets: dict, key: bytes) -> Looked:
    """The look at the sets of items of all users, before any limit; the question is a size and per cent."""
    size, percent = question
    lengths = [len(items) for items in sets.values() if items]
    exact = (sum(n <= size for n in lengths), sum(n > size for n in lengths))
    users = tuple(number + noise(key, at, rate) for at, number in enumerate(exact))
    return Looked(rate, users, is_short(users, percent, rate))
