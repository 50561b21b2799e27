"""Noise with an exact law: the continuous variable, rounded down to whole grid steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import mpmath

#: Integer units in one unit of weight.
UNIT = 1 << 30
WORD = 1 << 128

_mp = mpmath.mp.clone()
_mp.prec = 320

#: P[N >= t] for t in grid steps and a scale in units of weight.
Tail = Callable[[int, float], "mpmath.mpf"]


def _ratio(t: int, scale: float):
    return _mp.mpf(t) / UNIT / _mp.mpf(scale)


def gaussian_tail(t: int, sigma: float):
    """P[floor(UNIT X) >= t], X normal with standard deviation sigma."""
    return _mp.erfc(_ratio(t, sigma) / _mp.sqrt(2)) / 2


def laplace_tail(t: int, scale: float):
    """P[floor(UNIT X) >= t], X Laplace with this scale."""
    x = _ratio(t, scale)
    return _mp.exp(-x) / 2 if x >= 0 else 1 - _mp.exp(x) / 2


TAILS: dict[str, Tail] = {"gaussian": gaussian_tail, "laplace": laplace_tail}


def at_least(kind: str, t: int, scale: float, word: int) -> bool:
    """Whether the noise that `word` stands for is at least t."""
    return word < TAILS[kind](t, scale) * WORD


def _guess(kind: str, scale: float, word: int) -> int:
    """Where to start looking: the quantile in double precision."""
    u = min(max(word / WORD, 1e-15), 1 - 1e-15)
    if kind == "gaussian":
        return round(-NormalDist().inv_cdf(u) * scale * UNIT)
    return round((-math.log(2 * u) if u < 0.5 else math.log(2 - 2 * u)) * scale * UNIT)


def noise(kind: str, scale: float, word: int) -> int:
    """The noise that `word` stands for: the largest t with `at_least(t)`, by bisection."""
    low = high = _guess(kind, scale, word)
    step = 1
    while not at_least(kind, low, scale, word):
        low, step = low - step, 2 * step
    while at_least(kind, high, scale, word):
        high, step = high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if at_least(kind, middle, scale, word):
            low = middle
        else:
            high = middle
    return low
