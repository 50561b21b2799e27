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
from dpsel.accounting import ZCDP, ApproxDP, Budget, PureDP
from dpsel.comparison import Comparison, compare
from dpsel.exceptions import DpselError
from dpsel.mechanisms import (
    CountGaussian,
    CountLaplace,
    GreedyFrequency,
    Mad,
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

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Budget",
    "Comparison",
    "CountGaussian",
    "CountLaplace",
    "DpselError",
    "GreedyFrequency",
    "Mad",
    "OneItem",
    "Plan",
    "PolicyGaussian",
    "PolicyLaplace",
    "PureDP",
    "Release",
    "Report",
    "Sips",
    "Steered",
    "UnitGreedy",
    "WeightedGaussian",
    "WeightedLaplace",
    "__version__",
    "check",
    "compare",
    "exceptions",
    "mechanisms",
    "plan",
    "release",
    "select_partitions",
]
