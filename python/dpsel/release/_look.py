"""How far the noisy numbers of a look may be off, and the limit that follows from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["limit_within", "look_half_width"]


def look_half_width(epsilon: float) -> int:
    """Return the whole number within which the geometric noise of one number lies with 95 %."""
    # It is beyond z with a probability of 2 a^(z + 1) / (1 + a), where a = e^-epsilon.
    return max(0, math.ceil((math.log(40) - math.log1p(math.exp(-epsilon))) / epsilon) - 1)


def limit_within(report: Mapping[str, Any]) -> str:
    """Return which part of the users a limit covers that was found, and how far that may be off.

    The noisy numbers of the report are all that this needs. See ``Quantile`` for what they are.
    """
    look, asked = report["look"], report["request"]["quantile"]["quantile"]
    numbers, total = look["users"], sum(look["users"])
    width = f"each noisy number of users is within {look_half_width(look['epsilon']):,} with 95 %"
    if total <= 0:
        return f"limit: {width}, which says nothing of so few users"
    sizes = range(1, len(numbers))
    at = next((at for at in sizes if sum(numbers[:at]) >= asked * total), len(sizes))
    part = sum(numbers[:at]) / total
    decay = math.exp(-look["epsilon"])
    deviation = math.sqrt(2 * decay) / (1 - decay)
    # The part p is S / T. For small noise its error is that of S - p T, divided by T.
    spread = at * (1 - part) ** 2 + (len(numbers) - at) * part**2
    off = 1.96 * deviation * math.sqrt(spread) / total
    within = f"within {100 * off:.1f} % with 95 %" if off < 1 else "which says nothing of so few users"
    covered = f"users of at most {look['limit']:,} items are about {100 * part:.1f} % of all, {within}"
    return f"limit: {covered}; {width}"
