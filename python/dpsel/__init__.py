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

from __future__ import annotations

from typing import TYPE_CHECKING

from dpsel import exceptions as exceptions
from dpsel import mechanisms as mechanisms
from dpsel import release as release
from dpsel._core_calls import __version__ as __version__
from dpsel.accounting import ZCDP as ZCDP
from dpsel.accounting import ApproxDP as ApproxDP
from dpsel.accounting import Cost as Cost
from dpsel.accounting import PureDP as PureDP
from dpsel.auditing import AuditReport as AuditReport
from dpsel.auditing import audit as audit
from dpsel.auditing import audit_callable as audit_callable
from dpsel.budget import Budget as Budget
from dpsel.comparison import Comparison as Comparison
from dpsel.comparison import compare as compare
from dpsel.exceptions import DpselError as DpselError
from dpsel.exceptions import WeakGuaranteeWarning as WeakGuaranteeWarning
from dpsel.mechanisms import *  # noqa: F403 - every registered mechanism
from dpsel.planning import Plan as Plan
from dpsel.planning import TopKPlan as TopKPlan
from dpsel.planning import plan as plan
from dpsel.planning import plan_top_k as plan_top_k
from dpsel.release import Release as Release
from dpsel.release import Report as Report
from dpsel.release import TopKRelease as TopKRelease
from dpsel.release import check as check
from dpsel.selection import select_partitions as select_partitions
from dpsel.top_k import select_top_k as select_top_k
from dpsel.top_k import top_k_from_counts as top_k_from_counts

if not TYPE_CHECKING:
    # Type checkers follow the lines above; a list that is computed would hide the mechanisms from them.
    __all__ = [
        "ZCDP",
        "ApproxDP",
        "AuditReport",
        "Budget",
        "Comparison",
        "Cost",
        "DpselError",
        "Plan",
        "PureDP",
        "Release",
        "Report",
        "TopKPlan",
        "TopKRelease",
        "WeakGuaranteeWarning",
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
    __all__ += mechanisms.__all__

    def __dir__() -> list[str]:
        """Show what is public, and not the files that it comes from."""
        return sorted([*__all__, "__doc__", "__file__", "__name__", "__path__"])
