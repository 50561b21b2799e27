"""Rows of (user, item) with the skew of real data, from the standard library alone.

A generator that needs numpy would draw other rows without it; one slow path (about half a million draws
per second) that gives the same rows everywhere is worth more for demonstration data.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from itertools import accumulate

from dpsel.demo_data._words import word

KINDS = ("text", "zeta")
ORDERS = ("user", "random")
ITEM_TYPES = ("int", "str")

Row = tuple[int, int | str]
Draw = Callable[[random.Random], list[int]]

# Text: Zipf-Mandelbrot ranks, fitted by eye to English prose; log-normal lengths with median 33 words.
_VOCABULARY = 100_000
_ZIPF_EXPONENT = 1.1
_ZIPF_SHIFT = 2.7
_LENGTH_MU = 3.5
_LENGTH_SIGMA = 1.0

# Zeta: Section 5.1 of the DP-SIPS paper (Swanberg, Desfontaines and Haney, PoPETs 2023).
_PARETO_SCALE = 10.0
_PARETO_SHAPE = 1.16
_ZETA = 1.1
_MOST_ITEMS = 10_000
# About 6 % of the draws of a zeta(1.1) law are above this; they are drawn again, because lumping them into
# one value would make one artificial popular item.
_LARGEST_ITEM = 1 << 40


def generate(
    kind: str, *, users: int, seed: int = 0, order: str = "user", items: str = "int"
) -> Iterator[Row]:
    """Yield distinct ``(user, item)`` rows.

    Args:
        kind: ``"text"`` draws word ranks from a Zipf-Mandelbrot law with log-normal lengths;
            ``"zeta"`` follows the synthetic data of the DP-SIPS paper: Pareto sizes, zeta items.
        users: number of users, numbered from 0.
        seed: the same arguments give the same rows.
        order: ``"user"`` keeps the rows of a user together; ``"random"`` shuffles all rows, which holds
            them in memory.
        items: ``"int"`` or ``"str"`` (a made-up word for each integer).

    Raises:
        ValueError: if an argument is none of those.

    >>> list(generate("text", users=1, seed=7))[:3] == list(generate("text", users=1, seed=7))[:3]
    True
    """
    _one_of("kind", kind, KINDS)
    _one_of("order", order, ORDERS)
    _one_of("items", items, ITEM_TYPES)
    if users < 1:
        message = f"users must be at least 1, got {users}"
        raise ValueError(message)
    numbered = _in_order(kind, users, seed)
    if order == "random":
        shuffled = list(numbered)
        random.Random(f"{seed} order").shuffle(shuffled)  # noqa: S311 - repeatable on purpose
        numbered = iter(shuffled)
    if items == "int":
        return numbered
    return ((user, word(item)) for user, item in numbered)


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        message = f"{name} must be one of {', '.join(allowed)}, got {value}"
        raise ValueError(message)


def _in_order(kind: str, users: int, seed: int) -> Iterator[tuple[int, int]]:
    draw = _text_draw() if kind == "text" else _zeta_draw
    for user in range(users):
        # One generator per user: a prefix of the users does not depend on how many follow.
        rng = random.Random(f"{seed} {kind} {user}")  # noqa: S311 - repeatable on purpose
        # dict.fromkeys removes duplicates and keeps the order of the draws.
        for item in dict.fromkeys(draw(rng)):
            yield user, item


def _text_draw() -> Draw:
    weights = (1 / (rank + _ZIPF_SHIFT) ** _ZIPF_EXPONENT for rank in range(1, _VOCABULARY + 1))
    cumulative = list(accumulate(weights))
    ranks = range(1, _VOCABULARY + 1)

    def draw(rng: random.Random) -> list[int]:
        length = max(1, round(rng.lognormvariate(_LENGTH_MU, _LENGTH_SIGMA)))
        return rng.choices(ranks, cum_weights=cumulative, k=min(length, _MOST_ITEMS))

    return draw


def _zeta_draw(rng: random.Random) -> list[int]:
    size = min(math.floor(_PARETO_SCALE * rng.paretovariate(_PARETO_SHAPE)), _MOST_ITEMS)
    return [_zeta(rng) for _ in range(size)]


def _zeta(rng: random.Random) -> int:
    """Draw from P(n) proportional to n^-a, by rejection (Devroye 1986, chapter X.6)."""
    a = _ZETA - 1
    b = math.pow(2, a)
    while True:
        candidate = math.pow(1 - rng.random(), -1 / a)
        if candidate >= _LARGEST_ITEM:
            continue
        n = math.floor(candidate)
        t = math.pow(1 + 1 / n, a)
        if rng.random() * n * (t - 1) / (b - 1) <= t / b:
            return n
