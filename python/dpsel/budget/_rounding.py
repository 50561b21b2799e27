"""Floats that a budget can book: the decimals that write them are not above an exact amount."""

from __future__ import annotations

import math
from fractions import Fraction

from dpsel.accounting._amounts import as_written

__all__ = ["decimal_root_down", "round_down"]

#: Bits of a root beyond those of its whole part. The least float above 0 has 1074.
_BITS = 1200


def round_down(amount: Fraction) -> float:
    """Return the largest float whose decimal is at most the amount; 0 if the amount is below all of them."""
    if amount <= 0:
        return 0.0
    value = amount.numerator / amount.denominator
    while as_written(value) > amount:
        value = math.nextafter(value, 0.0)
    return value


def decimal_root_down(amount: Fraction) -> float:
    """Return the largest such float of the square root of an amount."""
    scaled = (amount.numerator << 2 * _BITS) // amount.denominator
    value = math.nextafter(round_down(Fraction(math.isqrt(scaled), 1 << _BITS)), math.inf)
    while as_written(value) ** 2 > amount:
        value = math.nextafter(value, 0.0)
    return value
