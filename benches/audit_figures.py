"""What broken selections need at least: the delta of one family of tables in closed form."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Numbers of others that are tried; thresholds are below.
MOST = 60


def laplace_tail(x: float) -> float:
    """The probability that Laplace noise of scale 1 is at least ``x``."""
    return math.exp(-x) / 2 if x >= 0 else 1 - math.exp(x) / 2


def normal_tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def of_counts(
    scale: float,
    at: float,
    items: int = 1,
    *,
    then: tuple[float, float] | None = None,
    epsilon: float = 1.0,
    tail: Callable[[float], float] = laplace_tail,
) -> float:
    """The delta that noise on counts needs at ``epsilon``, if a user has so many items.

    The others have n users each or, of some, none. All items are independent. ``then`` is the scale and the
    threshold with the user, if these are others.
    """
    scale_then, at_then = then or (scale, at)

    def chance(users: int) -> float:
        return tail((at - users) / scale) if users else 0.0

    def chance_then(users: int) -> float:
        return tail((at_then - users) / scale_then)

    tables = [(n, shared) for n in range(1, MOST) for shared in range(items + 1)]
    return max(
        _divergence(shared, chance(n), chance_then(n + 1), (1 - chance_then(1)) ** (items - shared), epsilon)
        for n, shared in tables
    )


def _divergence(items: int, before: float, after: float, hidden: float, epsilon: float) -> float:
    """The divergence of so many coins, both ways; with the user something new shows unless ``hidden``."""
    ways = [math.comb(items, n) for n in range(items + 1)]
    without = [w * before**n * (1 - before) ** (items - n) for n, w in enumerate(ways)]
    added = [hidden * w * after**n * (1 - after) ** (items - n) for n, w in enumerate(ways)]
    factor = math.exp(epsilon)
    there = 1 - hidden + sum(max(0.0, q - factor * p) for p, q in zip(without, added, strict=True))
    return max(there, sum(max(0.0, p - factor * q) for p, q in zip(without, added, strict=True)))


def gaussian_delta(epsilon: float, distance: float) -> float:
    """The delta that a normal number of deviation 1 needs if a user moves it by ``distance``."""
    far, near = epsilon / distance + distance / 2, epsilon / distance - distance / 2
    return normal_tail(near) - math.exp(epsilon) * normal_tail(far)


def of_coins(before: list[float], after: list[float], epsilon: float) -> float:
    """The delta that independent coins need whose chances go from one list to the other, the larger way."""
    there = back = 0.0
    for faces in itertools.product((0, 1), repeat=len(before)):
        p = math.prod(c if up else 1 - c for c, up in zip(before, faces, strict=True))
        q = math.prod(c if up else 1 - c for c, up in zip(after, faces, strict=True))
        there += max(0.0, q - math.exp(epsilon) * p)
        back += max(0.0, p - math.exp(epsilon) * q)
    return max(there, back)
