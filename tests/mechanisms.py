"""The cases of the conformance and differential suites: every registered mechanism.

These suites test what a mechanism states in its dataclass: guarantees, sensitivity and noisy weights. A new
mechanism is found here with its default parameters, and with a release curve if it has one. Lines in
`CHOSEN` replace the defaults by parameters of a better test.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum, auto

import dpsel
from dpsel.mechanisms import SelectionMechanism, selection_mechanisms
from reference.noise import UNIT


class Seen(Enum):
    """How the weights behind a release can be seen."""

    #: In each item's noisy weight, in the round that releases it.
    NOISY = auto()
    #: In each item's cumulative score: every round adds a weight, rounded down.
    SCORE = auto()
    #: In the decisions alone: an item is released iff its word of the key is below the curve's entry.
    DECISIONS = auto()


def count_l1(bound: int) -> dict:
    """One unit for each of a user's items, for noise in L1."""
    return {"l0": bound, "l1": bound * UNIT, "linf": UNIT}


def count_l2(bound: int) -> dict:
    """One unit for each of a user's items, for noise in L2."""
    return {"l0": bound, "l2_squared": bound * UNIT**2, "linf": UNIT}


def l1(_bound: int) -> dict:
    """One unit in all."""
    return {"l1": UNIT}


def l2(_bound: int) -> dict:
    """One unit of L2 norm."""
    return {"l2_squared": UNIT**2}


def l2_and_slack(_bound: int) -> dict:
    """One unit of L2 norm, and of the slack what tables as small as those of the tests use."""
    return {"l2_squared": (UNIT + 64) ** 2}


def one_item(_bound: int) -> dict:
    """One whole unit on one item."""
    return {"l0": 1, "l1": UNIT, "linf": UNIT}


#: Stated sensitivity -> the norms of the difference of neighbouring histograms, in integer units.
NORMS = {
    "count_l1": count_l1,
    "count_l2": count_l2,
    "l1": l1,
    "l2": l2,
    "l2_and_slack": l2_and_slack,
    "one_item": one_item,
}
#: What `with_weights=True` returns -> how weights are seen.
SEEN = {"noisy_weight": Seen.NOISY, "cumulative_score": Seen.SCORE, "none": Seen.DECISIONS}
KINDS = {"approx_dp": dpsel.ApproxDP, "zcdp": dpsel.ZCDP}


@dataclass(frozen=True)
class Case:
    """A mechanism with its parameters, under a name for the test."""

    mechanism: SelectionMechanism
    label: str = ""

    def __str__(self) -> str:
        return self.label or self.name

    @property
    def name(self) -> str:
        """The name of the mechanism in requests."""
        return self.mechanism.name

    @property
    def is_curve(self) -> bool:
        """Whether this mechanism, which can have noise, releases by a curve."""
        return getattr(self.mechanism, "release", "noise") == "curve"

    @property
    def guarantees(self) -> tuple[type, ...]:
        """The guarantees that it has; release curves have (epsilon, delta) only."""
        return (
            (dpsel.ApproxDP,) if self.is_curve else tuple(KINDS[kind] for kind in self.mechanism.guarantees)
        )

    @property
    def seen(self) -> Seen:
        """How the weights behind a release can be seen."""
        return Seen.DECISIONS if self.is_curve else SEEN[self.mechanism.weights]

    @property
    def zcdp(self) -> bool:
        """Whether it can be run under zCDP."""
        return dpsel.ZCDP in self.guarantees

    @property
    def has_weights(self) -> bool:
        """Whether noisy weights can be published."""
        return self.seen is not Seen.DECISIONS

    @property
    def counts_rows(self) -> bool:
        """Whether users prefer the items of which they have more rows."""
        return hasattr(self.mechanism, "prior") and self.prior is None

    @property
    def prior(self) -> object:
        """The public table of preferences, if there is one."""
        return getattr(self.mechanism, "prior", None)

    def norms(self, bound: int) -> dict:
        """The norms of the difference of neighbouring histograms, for users of at most `bound` items."""
        mechanism = self.mechanism
        if isinstance(mechanism, dpsel.MatchingOr):
            mechanism = mechanism.otherwise
        return NORMS[mechanism.sensitivity](bound)

    def bound(self, items: int) -> int:
        """A limit of `items` for each user, or the largest one for which the mechanism exists."""
        return 1 if isinstance(self.mechanism, dpsel.OneItem) else items

    def kept(self, bound: int) -> int:
        """The most items that a user keeps under a limit."""
        return kept_items(self.mechanism, bound)


def kept_items(mechanism: SelectionMechanism, bound: int) -> int:
    """The most items that a user keeps under a limit."""
    return getattr(mechanism, "reach", 1) * bound


#: Public frequencies of a few items, some equal.
PRIOR = {3: 9.5, 1: 4, 2: 4, 7: 0, 8: -1}

CHOSEN = [
    Case(dpsel.CountLaplace()),
    Case(dpsel.CountGaussian()),
    Case(dpsel.WeightedLaplace()),
    Case(dpsel.WeightedGaussian()),
    Case(dpsel.PolicyLaplace(alpha=1.0)),
    Case(dpsel.PolicyLaplace(passes=3), "policy_laplace-passes"),
    Case(dpsel.PolicyGaussian(alpha=1.0)),
    Case(dpsel.PolicyGaussian(passes=3), "policy_gaussian-passes"),
    Case(dpsel.Sips(rounds=3, ratio=1 / 3)),
    Case(dpsel.Sips(rounds=1, ratio=0.5), "sips-one-round"),
    Case(dpsel.Sips(rounds=4, ratio=1.0), "sips-equal-rounds"),
    Case(dpsel.Steered(rounds=4)),
    Case(dpsel.Steered(rounds=4, reach=3), "steered-reach"),
    Case(dpsel.OneItem(), "one-item"),
    Case(dpsel.WeightedGaussian(release="curve"), "weighted-gaussian-curve"),
    Case(dpsel.Sips(rounds=3, ratio=0.2, release="curve"), "sips-curve"),
    Case(dpsel.GreedyFrequency(), "greedy-frequency"),
    Case(dpsel.GreedyFrequency(prior=PRIOR), "greedy-frequency-prior"),
    Case(dpsel.UnitGreedy(), "unit-greedy"),
    Case(dpsel.UnitGreedy(prior=PRIOR), "unit-greedy-prior"),
    Case(dpsel.Matching()),
    Case(dpsel.Matching(screening=True), "matching-screening"),
    # Both are the same, so that a case has one calibration; see also `test_matching_or.py`.
    Case(dpsel.MatchingOr(dpsel.Matching(screening=True), share=0.3), "matching-or"),
    Case(dpsel.Mad(alpha=0.0)),
    Case(dpsel.Mad2R(alpha=0.5)),
    Case(dpsel.WeightedLaplace(release="curve"), "weighted-laplace-curve"),
    Case(dpsel.PolicyLaplace(alpha=0.5, release="curve"), "policy-laplace-curve"),
    Case(dpsel.PolicyLaplace(passes=3, release="curve"), "policy-laplace-curve-passes"),
    Case(dpsel.PolicyGaussian(alpha=0.5, release="curve"), "policy-gaussian-curve"),
    Case(dpsel.PolicyGaussian(passes=3, release="curve"), "policy-gaussian-curve-passes"),
]


def unchosen() -> list[Case]:
    """The registered mechanisms for which no parameters were chosen above."""
    chosen = {case.name for case in CHOSEN}
    found = []
    for mechanism in (cls() for name, cls in selection_mechanisms().items() if name not in chosen):
        found.append(Case(mechanism))
        if "release" in {each.name for each in fields(mechanism)}:
            found.append(Case(replace(mechanism, release="curve"), f"{mechanism.name}-curve"))
    return found


#: All of them: the laws hold for each.
EVERY = [*CHOSEN, *unchosen()]

MECHANISMS = [case for case in EVERY if case.has_weights]

#: Without noise: no scale, no threshold, no noisy weights. Curves have a suite of their own besides.
CURVES = [case for case in EVERY if not case.has_weights]
