"""The top-k mechanisms that go through the suites of their laws: one line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import dpsel
from reference import topk

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class TopKCase:
    """A mechanism, its guarantee in the tests, and its law from counts, k and a calibration."""

    mechanism: object
    law: Callable[[list[int], int, dict], topk.Law]
    privacy: object = dpsel.PureDP(epsilon=1.0)

    def __str__(self) -> str:
        return self.mechanism.name


APPROX = dpsel.ApproxDP(epsilon=1.0, delta=1e-3)


def _limit_domain(counts: list[int], k: int, calibration: dict) -> topk.Law:
    return topk.limit_domain(
        counts, k, calibration["rate"], calibration["candidates"], calibration["threshold"]
    )


CASES = [
    TopKCase(dpsel.Joint(), lambda c, k, calibration: topk.joint(c, k, calibration["rate"])),
    TopKCase(dpsel.JointSet(), lambda c, k, calibration: topk.joint_set(c, k, calibration["rate"])),
    TopKCase(dpsel.GumbelPeel(), lambda c, k, calibration: topk.gumbel_peel(c, k, calibration["rate"])),
    TopKCase(
        dpsel.PermuteFlipJoint(),
        lambda c, k, calibration: topk.permute_flip_joint(c, k, calibration["rate"]),
    ),
    TopKCase(
        dpsel.PermuteFlipPeel(), lambda c, k, calibration: topk.permute_flip_peel(c, k, calibration["rate"])
    ),
    TopKCase(dpsel.Gamma(), lambda c, k, calibration: topk.gamma(c, k, calibration["rate"], 20)),
    TopKCase(
        dpsel.LaplaceTopK(), lambda c, k, calibration: topk.laplace_top_k(c, k, calibration["rate"], 20)
    ),
    TopKCase(dpsel.LimitDomain(candidates=3), _limit_domain, APPROX),
]

#: The cases whose noise is enumerated, which bounds the number of items.
NOISY = {"gamma", "laplace_top_k"}
