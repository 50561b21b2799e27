"""The falsifier that one writes first: a few fixed tables, two events for each item, Clopper-Pearson bounds.

It knows nothing about where items come out, takes the same number of samples on each table, and looks once.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import dpsel
from dpsel.auditing._bounds import Counts

if TYPE_CHECKING:
    from collections.abc import Callable

FALSE_ALARM = 1e-6
#: Numbers of others that have all the items of the user; 0 for items of nobody else.
LEVELS = (0, 1, 3, 7, 16)
LEAST = 20


def refutes(function: Callable[..., Any], privacy: Any, bound: int, seconds: float) -> bool:
    """Whether the claim of (epsilon, delta) falls; one of zCDP is converted at one epsilon."""
    if isinstance(privacy, dpsel.ZCDP):
        epsilon = privacy.rho + 2 * math.sqrt(privacy.rho * math.log(20))
        delta = privacy.to_approx_dp(epsilon=epsilon).delta
    else:
        epsilon, delta = privacy.epsilon, getattr(privacy, "delta", 0.0)
    # Both ways, released or not, for each item.
    alpha = FALSE_ALARM / (len(LEVELS) * bound * 4)
    return any(
        _falls(function, level, bound, (epsilon, delta), alpha, seconds / len(LEVELS)) for level in LEVELS
    )


def _falls(
    function: Callable[..., Any],
    level: int,
    bound: int,
    claim: tuple[float, float],
    alpha: float,
    seconds: float,
) -> bool:
    others = [(user, item) for user in range(level) for item in range(bound)]
    sides = (others, [*others, *((level, item) for item in range(bound))])
    samples = _affordable(function, sides, seconds)
    hits = [Counter(item for _ in range(samples) for item in _items(function(list(side)))) for side in sides]
    for item in range(bound):
        seen = [side[item] for side in hits]
        for first, second in (
            seen,
            seen[::-1],
            [samples - n for n in seen],
            [samples - n for n in seen[::-1]],
        ):
            if Counts(first, samples, second, samples).least_delta(claim[0], alpha) > claim[1]:
                return True
    return False


def _affordable(function: Callable[..., Any], sides: tuple[Any, ...], seconds: float) -> int:
    """Return how many samples of both sides the time allows."""
    started = time.process_time()
    for _ in range(LEAST):
        for side in sides:
            function(list(side))
    cost = (time.process_time() - started) / LEAST
    return max(LEAST, int(seconds / max(cost, 1e-7)))


def _items(answer: Any) -> set[int]:
    """Return the items of an answer as whole numbers."""
    names = (one[0] if isinstance(one, tuple) else one for one in answer)
    return {int(name) for name in names if str(name).isdigit()}
