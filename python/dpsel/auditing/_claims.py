"""What a function claims, as bounds on the two probabilities of one event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from dpsel.accounting import ZCDP, ApproxDP, PureDP
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from dpsel.accounting import Privacy

__all__ = ["Bounds", "bounds_of"]

#: The epsilons at which a zCDP guarantee is converted: from a hundredth of the usual one to four times it.
_STEPS: Final = 25
#: Slopes are taken over half of a probability, or over this.
_LEAST_STEP: Final = 1e-5


@dataclass(frozen=True, slots=True)
class Bounds:
    """Pairs (epsilon, delta) that all hold.

    Let p be the probability of an event on one table and q on its neighbour. Each pair allows p up to
    e^epsilon q + delta. The opposite event gives a second bound: 1 - q is at most e^epsilon (1 - p) + delta.
    """

    pairs: tuple[tuple[float, float], ...]

    def most(self, rare: float) -> float:
        """Return the largest p that is allowed beside q = ``rare``: a concave, increasing function."""
        least = 1.0
        for epsilon, delta in self.pairs:
            factor = math.exp(epsilon)
            least = min(least, factor * rare + delta, 1 - (1 - rare - delta) / factor)
        return least

    def slope(self, rare: float) -> float:
        """Return how fast that bound grows at q = ``rare``."""
        step = max(_LEAST_STEP, rare / 2)
        return (self.most(rare + step) - self.most(rare)) / step


@lru_cache(maxsize=256)
def bounds_of(privacy: Privacy) -> Bounds:
    """Return what a guarantee allows.

    zCDP is converted at many epsilons. Each of these bounds follows from it, so a claim that is refuted
    cannot hold; a few pairs of probabilities that it forbids are allowed.
    """
    if isinstance(privacy, PureDP):
        return Bounds(((privacy.epsilon, 0.0),))
    if isinstance(privacy, ApproxDP):
        return Bounds(((privacy.epsilon, privacy.delta),))
    usual = privacy.rho + 2 * math.sqrt(privacy.rho * math.log(20))
    found = []
    for step in range(_STEPS):
        epsilon = usual * 0.01 * 400 ** (step / (_STEPS - 1))
        try:
            found.append((epsilon, privacy.to_approx_dp(epsilon=epsilon).delta))
        except InvalidParameterError:
            continue
    # Where nothing can be converted, nothing is forbidden.
    return Bounds(tuple(found) or ((usual, 1.0),))


def with_epsilon(privacy: Privacy, epsilon: float) -> Privacy:
    """Return the same guarantee with another epsilon, or another rho."""
    if isinstance(privacy, PureDP):
        return PureDP(epsilon=epsilon)
    if isinstance(privacy, ApproxDP):
        return ApproxDP(epsilon=epsilon, delta=privacy.delta)
    return ZCDP(rho=epsilon, delta=privacy.delta)
