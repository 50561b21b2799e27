"""The mechanisms that go through the conformance and differential suites: one line each."""

from __future__ import annotations

from dataclasses import dataclass

import dpsel


@dataclass(frozen=True)
class Case:
    """A mechanism, its name in reports, and the kinds of guarantee it has."""

    name: str
    mechanism: object
    guarantees: tuple[type, ...]
    label: str = ""

    def __str__(self) -> str:
        return self.label or self.name

    @property
    def zcdp(self) -> bool:
        """Whether it can be run under zCDP."""
        return dpsel.ZCDP in self.guarantees


APPROX = (dpsel.ApproxDP,)
BOTH = (dpsel.ApproxDP, dpsel.ZCDP)

#: Public frequencies of a few items, some equal.
PRIOR = {3: 9.5, 1: 4, 2: 4, 7: 0, 8: -1}

MECHANISMS = [
    Case("count_laplace", dpsel.CountLaplace(), APPROX),
    Case("count_gaussian", dpsel.CountGaussian(), BOTH),
    Case("weighted_laplace", dpsel.WeightedLaplace(), APPROX),
    Case("weighted_gaussian", dpsel.WeightedGaussian(), BOTH),
    Case("policy_laplace", dpsel.PolicyLaplace(alpha=1.0), APPROX),
    Case("policy_laplace", dpsel.PolicyLaplace(passes=3), APPROX, "policy_laplace-passes"),
    Case("policy_gaussian", dpsel.PolicyGaussian(alpha=1.0), BOTH),
    Case("policy_gaussian", dpsel.PolicyGaussian(passes=3), BOTH, "policy_gaussian-passes"),
    Case("sips", dpsel.Sips(rounds=3, ratio=1 / 3), BOTH),
    Case("sips", dpsel.Sips(rounds=1, ratio=0.5), BOTH, "sips-one-round"),
    Case("sips", dpsel.Sips(rounds=4, ratio=1.0), BOTH, "sips-equal-rounds"),
    Case("steered", dpsel.Steered(rounds=4), BOTH),
]

#: Without noise: no scale, no threshold, no noisy weights. They have a suite of their own.
CURVES = [
    Case("one_item", dpsel.OneItem(), APPROX, "one-item"),
    Case("weighted_gaussian", dpsel.WeightedGaussian(release="curve"), APPROX, "weighted-gaussian-curve"),
    Case("sips", dpsel.Sips(rounds=3, ratio=0.2, release="curve"), APPROX, "sips-curve"),
    Case("greedy_frequency", dpsel.GreedyFrequency(), APPROX, "greedy-frequency"),
    Case("greedy_frequency", dpsel.GreedyFrequency(prior=PRIOR), APPROX, "greedy-frequency-prior"),
    Case("unit_greedy", dpsel.UnitGreedy(), APPROX, "unit-greedy"),
    Case("unit_greedy", dpsel.UnitGreedy(prior=PRIOR), APPROX, "unit-greedy-prior"),
    Case("mad", dpsel.Mad(alpha=0.0), APPROX),
    Case("mad2r", dpsel.Mad2R(alpha=0.5), APPROX),
    Case("weighted_laplace", dpsel.WeightedLaplace(release="curve"), APPROX, "weighted-laplace-curve"),
    Case("policy_laplace", dpsel.PolicyLaplace(alpha=0.5, release="curve"), APPROX, "policy-laplace-curve"),
    Case(
        "policy_laplace",
        dpsel.PolicyLaplace(passes=3, release="curve"),
        APPROX,
        "policy-laplace-curve-passes",
    ),
    Case(
        "policy_gaussian", dpsel.PolicyGaussian(alpha=0.5, release="curve"), APPROX, "policy-gaussian-curve"
    ),
    Case(
        "policy_gaussian",
        dpsel.PolicyGaussian(passes=3, release="curve"),
        APPROX,
        "policy-gaussian-curve-passes",
    ),
]
