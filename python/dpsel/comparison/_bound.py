"""The most that any mechanism of a guarantee releases."""

from __future__ import annotations

import math
from typing import Final

__all__ = ["upper_bound"]

#: Beyond this exponent every probability is 1 in double precision.
_LARGE: Final = 700.0


def upper_bound(epsilon: float, delta: float, users: int) -> float:
    """Return the largest release probability of an item of ``users`` users under (epsilon, delta)-DP.

    It is the optimum for users of one item each: Desfontaines, Voss, Gipson and Mandayam (PoPETs 2022),
    Theorem 1, in double precision.

    Examples:
        >>> from dpsel.comparison._bound import upper_bound
        >>> upper_bound(1.0, 1e-6, 1)
        1e-06
        >>> 0.5 < upper_bound(1.0, 1e-6, 15) < upper_bound(1.0, 1e-6, 100) == 1.0
        True
    """
    growth = math.expm1(epsilon)
    turn = 1 + math.floor(math.log((growth + 2 * delta) / (delta * (growth + 2))) / epsilon)
    if users * epsilon < _LARGE and users <= turn:
        return min(1.0, delta * math.expm1(users * epsilon) / growth)
    at_turn = delta * math.expm1(turn * epsilon) / growth
    left = math.exp(-(users - turn) * epsilon)
    return min(1.0, (1 - left) * (1 + delta / growth) + left * at_turn)
