"""The top-k mechanisms that go through the suites of their laws: one line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import dpsel
from dpsel.auditing._laws import LAWS

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel.auditing._laws import Law


@dataclass(frozen=True)
class TopKCase:
    """A mechanism, its guarantee in the tests, and its law from counts, k and a calibration."""

    mechanism: object
    law: Callable[[list[int], int, dict], Law]
    privacy: object = dpsel.PureDP(epsilon=1.0)

    def __str__(self) -> str:
        return self.mechanism.name


APPROX = dpsel.ApproxDP(epsilon=1.0, delta=1e-3)


#: Noise on all counts is cut off here when it is enumerated.
REACH = 20


def case(mechanism: object, **privacy: object) -> TopKCase:
    """A mechanism with its enumerated law."""
    law = LAWS[mechanism.name]
    return TopKCase(mechanism, lambda counts, k, calibration: law(counts, k, calibration, REACH), **privacy)


CASES = [
    case(dpsel.Joint()),
    case(dpsel.JointSet()),
    case(dpsel.GumbelPeel()),
    case(dpsel.PermuteFlipJoint()),
    case(dpsel.PermuteFlipPeel()),
    case(dpsel.Gamma()),
    case(dpsel.LaplaceTopK()),
    case(dpsel.LimitDomain(candidates=3), privacy=APPROX),
]

#: The cases whose noise is enumerated, which bounds the number of items.
NOISY = {"gamma", "laplace_top_k"}
