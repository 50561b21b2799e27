"""The mechanisms that go through the conformance and differential suites: one line each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

import dpsel
from reference.noise import UNIT

if TYPE_CHECKING:
    from collections.abc import Callable


class Seen(Enum):
    """How the weights behind a release can be seen."""

    #: In each item's noisy weight, in the round that releases it.
    NOISY = auto()
    #: In each item's cumulative score: every round adds its share of the weight, rounded down.
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


@dataclass(frozen=True)
class Case:
    """A mechanism, what one user changes in each round, and how that can be seen."""

    name: str
    mechanism: object
    guarantees: tuple[type, ...]
    #: The norms of the difference of neighbouring histograms in integer units, for users of so many items.
    norms: Callable[[int], dict]
    seen: Seen
    label: str = ""
    #: The most items of one user for which the mechanism is there.
    most_items: int = 2**32

    def __str__(self) -> str:
        return self.label or self.name

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
        return self.name in ("greedy_frequency", "unit_greedy") and self.mechanism.prior is None

    @property
    def prior(self) -> object:
        """The public table of preferences, if there is one."""
        return getattr(self.mechanism, "prior", None)

    def bound(self, items: int) -> int:
        """So many items for each user, or the most that there may be."""
        return min(items, self.most_items)


APPROX = (dpsel.ApproxDP,)
BOTH = (dpsel.ApproxDP, dpsel.ZCDP)

#: Public frequencies of a few items, some equal.
PRIOR = {3: 9.5, 1: 4, 2: 4, 7: 0, 8: -1}

MECHANISMS = [
    Case("count_laplace", dpsel.CountLaplace(), APPROX, count_l1, Seen.NOISY),
    Case("count_gaussian", dpsel.CountGaussian(), BOTH, count_l2, Seen.NOISY),
    Case("weighted_laplace", dpsel.WeightedLaplace(), APPROX, l1, Seen.NOISY),
    Case("weighted_gaussian", dpsel.WeightedGaussian(), BOTH, l2, Seen.NOISY),
    Case("policy_laplace", dpsel.PolicyLaplace(alpha=1.0), APPROX, l1, Seen.NOISY),
    Case("policy_laplace", dpsel.PolicyLaplace(passes=3), APPROX, l1, Seen.NOISY, "policy_laplace-passes"),
    Case("policy_gaussian", dpsel.PolicyGaussian(alpha=1.0), BOTH, l2_and_slack, Seen.NOISY),
    Case(
        "policy_gaussian",
        dpsel.PolicyGaussian(passes=3),
        BOTH,
        l2_and_slack,
        Seen.NOISY,
        "policy_gaussian-passes",
    ),
    Case("sips", dpsel.Sips(rounds=3, ratio=1 / 3), BOTH, l2, Seen.NOISY),
    Case("sips", dpsel.Sips(rounds=1, ratio=0.5), BOTH, l2, Seen.NOISY, "sips-one-round"),
    Case("sips", dpsel.Sips(rounds=4, ratio=1.0), BOTH, l2, Seen.NOISY, "sips-equal-rounds"),
    Case("steered", dpsel.Steered(rounds=4), BOTH, l2, Seen.SCORE),
]

#: Without noise: no scale, no threshold, no noisy weights. Curves have a suite of their own besides.
CURVES = [
    Case("one_item", dpsel.OneItem(), APPROX, one_item, Seen.DECISIONS, "one-item", most_items=1),
    Case(
        "weighted_gaussian",
        dpsel.WeightedGaussian(release="curve"),
        APPROX,
        l2,
        Seen.DECISIONS,
        "weighted-gaussian-curve",
    ),
    Case("sips", dpsel.Sips(rounds=3, ratio=0.2, release="curve"), APPROX, l2, Seen.DECISIONS, "sips-curve"),
    Case("greedy_frequency", dpsel.GreedyFrequency(), APPROX, l1, Seen.DECISIONS, "greedy-frequency"),
    Case(
        "greedy_frequency",
        dpsel.GreedyFrequency(prior=PRIOR),
        APPROX,
        l1,
        Seen.DECISIONS,
        "greedy-frequency-prior",
    ),
    Case("unit_greedy", dpsel.UnitGreedy(), APPROX, one_item, Seen.DECISIONS, "unit-greedy"),
    Case("unit_greedy", dpsel.UnitGreedy(prior=PRIOR), APPROX, one_item, Seen.DECISIONS, "unit-greedy-prior"),
    Case("mad", dpsel.Mad(alpha=0.0), APPROX, l2_and_slack, Seen.DECISIONS),
    Case("mad2r", dpsel.Mad2R(alpha=0.5), APPROX, l2_and_slack, Seen.DECISIONS),
    Case(
        "weighted_laplace",
        dpsel.WeightedLaplace(release="curve"),
        APPROX,
        l1,
        Seen.DECISIONS,
        "weighted-laplace-curve",
    ),
    Case(
        "policy_laplace",
        dpsel.PolicyLaplace(alpha=0.5, release="curve"),
        APPROX,
        l1,
        Seen.DECISIONS,
        "policy-laplace-curve",
    ),
    Case(
        "policy_laplace",
        dpsel.PolicyLaplace(passes=3, release="curve"),
        APPROX,
        l1,
        Seen.DECISIONS,
        "policy-laplace-curve-passes",
    ),
    Case(
        "policy_gaussian",
        dpsel.PolicyGaussian(alpha=0.5, release="curve"),
        APPROX,
        l2_and_slack,
        Seen.DECISIONS,
        "policy-gaussian-curve",
    ),
    Case(
        "policy_gaussian",
        dpsel.PolicyGaussian(passes=3, release="curve"),
        APPROX,
        l2_and_slack,
        Seen.DECISIONS,
        "policy-gaussian-curve-passes",
    ),
]

#: All of them: the laws hold for each.
EVERY = MECHANISMS + CURVES
