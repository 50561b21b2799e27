"""What a report says of noisy numbers of users or rows, and their intervals, from public numbers alone."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from dpsel._arguments import as_number
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from dpsel.release._report import Report

__all__ = ["counts_of", "half_width"]

#: Numbers are published as the nearest whole ones.
_ROUNDING = 0.5


def counts_of(report: Report) -> dict[str, Any]:
    """Return what a report says of the numbers; refuse a release without them."""
    if (counts := report.counts) is None:
        raise InvalidParameterError(
            "the release has no numbers of users or rows; a selection publishes them if it is asked to, with "
            "counts= and a share of its budget"
        )
    return counts


def half_width(report: Report, confidence: float, numbers: int) -> float:
    """Return the half-width of an interval that holds so many numbers at once.

    Their noises are independent, so that each of them may miss a little: 1 - confidence^(1 / numbers).
    """
    counts = counts_of(report)
    within = as_number("confidence", confidence)
    if not 0 < within < 1:
        raise InvalidParameterError(
            f"confidence must be above 0 and below 1, got {within}; 0.95 is usual, for intervals that hold "
            "in 19 of 20 cases"
        )
    missed = -math.expm1(math.log(within) / max(1, numbers))
    # The half of it lies on either side.
    points = -NormalDist().inv_cdf(missed / 2)
    return points * float(counts["scale"]) + _ROUNDING
