"""The top-k mechanisms that go through the suites of their laws: every registered one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import dpsel
from dpsel.auditing._laws import LAWS
from dpsel.mechanisms import top_k_mechanisms

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


#: Parameters and guarantees of a better test than the defaults.
CHOSEN = [case(dpsel.LimitDomain(candidates=3), privacy=APPROX)]

#: Every registered mechanism that draws from counts; others need rows.
CASES = [
    *(
        case(cls())
        for name, cls in top_k_mechanisms().items()
        if not cls.needs_rows and name not in {each.mechanism.name for each in CHOSEN}
    ),
    *CHOSEN,
]

#: The cases whose noise is enumerated, which bounds the number of items.
NOISY = {"gamma", "laplace_top_k"}
