"""Differentially private partition selection: the items of a (user, item) table that may be published.

Examples:
    >>> import dpsel
    >>> rows = [(user, drink) for user in range(500) for drink in ("tea", "milk")] + [(7, "absinthe")]
    >>> release = dpsel.select_partitions(
    ...     rows, privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=3
    ... )
    >>> release.items
    ['milk', 'tea']
"""

from dpsel import exceptions, mechanisms, release
from dpsel._core import __version__
from dpsel.accounting import ZCDP, ApproxDP, Budget, Cost, PureDP
from dpsel.auditing import AuditReport, audit, audit_callable
from dpsel.comparison import Comparison, compare
from dpsel.exceptions import DpselError, WeakGuaranteeWarning
from dpsel.mechanisms import (
    CountGaussian,
    CountLaplace,
    GreedyFrequency,
    Mad,
    Mad2R,
    OneItem,
    PolicyGaussian,
    PolicyLaplace,
    Sips,
    Steered,
    UnitGreedy,
    WeightedGaussian,
    WeightedLaplace,
)
from dpsel.planning import Plan, plan
from dpsel.release import Release, Report, check
from dpsel.selection import select_partitions
from dpsel.top_k import select_top_k, top_k_from_counts
from dpsel.top_k_mechanisms import (
    Discover,
    Gamma,
    GumbelPeel,
    Joint,
    JointSet,
    LaplaceTopK,
    LimitDomain,
    PermuteFlipJoint,
    PermuteFlipPeel,
)
from dpsel.top_k_planning import TopKPlan, plan_top_k
from dpsel.top_k_release import TopKRelease

__all__ = [
    "ZCDP",
    "ApproxDP",
    "AuditReport",
    "Budget",
    "Comparison",
    "Cost",
    "CountGaussian",
    "CountLaplace",
    "Discover",
    "DpselError",
    "Gamma",
    "GreedyFrequency",
    "GumbelPeel",
    "Joint",
    "JointSet",
    "LaplaceTopK",
    "LimitDomain",
    "Mad",
    "Mad2R",
    "OneItem",
    "PermuteFlipJoint",
    "PermuteFlipPeel",
    "Plan",
    "PolicyGaussian",
    "PolicyLaplace",
    "PureDP",
    "Release",
    "Report",
    "Sips",
    "Steered",
    "TopKPlan",
    "TopKRelease",
    "UnitGreedy",
    "WeakGuaranteeWarning",
    "WeightedGaussian",
    "WeightedLaplace",
    "__version__",
    "audit",
    "audit_callable",
    "check",
    "compare",
    "exceptions",
    "mechanisms",
    "plan",
    "plan_top_k",
    "release",
    "select_partitions",
    "select_top_k",
    "top_k_from_counts",
]
