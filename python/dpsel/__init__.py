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

from dpsel._core_calls import __commit__ as __commit__
from dpsel._core_calls import __version__ as __version__

if TYPE_CHECKING:
    # `_PLACES` below says the same to the interpreter, which loads these when they are first asked for.
    from dpsel import demo_data as demo_data
    from dpsel import exceptions as exceptions
    from dpsel import mechanisms as mechanisms
    from dpsel import release as release
    from dpsel.accounting import ZCDP as ZCDP
    from dpsel.accounting import ApproxDP as ApproxDP
    from dpsel.accounting import Cost as Cost
    from dpsel.accounting import Counts as Counts
    from dpsel.accounting import PureDP as PureDP
    from dpsel.accounting import Quantile as Quantile
    from dpsel.accounting import Rest as Rest
    from dpsel.accounting import for_group as for_group
    from dpsel.auditing import AuditReport as AuditReport
    from dpsel.auditing import audit as audit
    from dpsel.auditing import audit_callable as audit_callable
    from dpsel.budget import Budget as Budget
    from dpsel.budget import Ledger as Ledger
    from dpsel.column_domains import Domains as Domains
    from dpsel.column_domains import domains as domains
    from dpsel.comparison import Comparison as Comparison
    from dpsel.comparison import compare as compare
    from dpsel.exceptions import DpselError as DpselError
    from dpsel.exceptions import WeakGuaranteeWarning as WeakGuaranteeWarning
    from dpsel.formats import Csv as Csv
    from dpsel.mechanisms import *  # noqa: F403 - every registered mechanism
    from dpsel.planning import Plan as Plan
    from dpsel.planning import SizePlan as SizePlan
    from dpsel.planning import TopKPlan as TopKPlan
    from dpsel.planning import explain as explain
    from dpsel.planning import plan as plan
    from dpsel.planning import plan_size as plan_size
    from dpsel.planning import plan_top_k as plan_top_k
    from dpsel.release import Release as Release
    from dpsel.release import Report as Report
    from dpsel.release import TopKRelease as TopKRelease
    from dpsel.release import check as check
    from dpsel.selection import select_partitions as select_partitions
    from dpsel.series import CountSeries as CountSeries
    from dpsel.series import Series as Series
    from dpsel.top_k import select_top_k as select_top_k
    from dpsel.top_k import top_k_from_counts as top_k_from_counts
else:
    # Type checkers follow the lines above; names that are loaded on demand would be hidden from them.
    from importlib import import_module as _import_module

    _PLACES = {
        "ZCDP": "accounting",
        "ApproxDP": "accounting",
        "AuditReport": "auditing",
        "Budget": "budget",
        "Comparison": "comparison",
        "Cost": "accounting",
        "CountSeries": "series",
        "Counts": "accounting",
        "Csv": "formats",
        "Domains": "column_domains",
        "DpselError": "exceptions",
        "Ledger": "budget",
        "Plan": "planning",
        "PureDP": "accounting",
        "Quantile": "accounting",
        "Release": "release",
        "Report": "release",
        "Rest": "accounting",
        "Series": "series",
        "SizePlan": "planning",
        "TopKPlan": "planning",
        "TopKRelease": "release",
        "WeakGuaranteeWarning": "exceptions",
        "audit": "auditing",
        "audit_callable": "auditing",
        "check": "release",
        "compare": "comparison",
        "domains": "column_domains",
        "explain": "planning",
        "for_group": "accounting",
        "plan": "planning",
        "plan_size": "planning",
        "plan_top_k": "planning",
        "select_partitions": "selection",
        "select_top_k": "top_k",
        "top_k_from_counts": "top_k",
    }
    #: Submodules that are public without an import of their own.
    _SUBMODULES = ("demo_data", "exceptions", "mechanisms", "release")

    def __getattr__(name: str) -> object:
        """Load a name when it is first asked for; then it is an ordinary attribute."""
        if name in _SUBMODULES:
            return _import_module(f"dpsel.{name}")
        if name in _PLACES:
            value = getattr(_import_module(f"dpsel.{_PLACES[name]}"), name)
        elif name == "__all__":
            value = ["__version__", *_PLACES, *_SUBMODULES, *_mechanisms()]
        elif not name.startswith("_") and name in _mechanisms():
            value = getattr(_import_module("dpsel.mechanisms"), name)
        else:
            import sys

            module = sys.modules["dpsel"]
            raise AttributeError(f"module 'dpsel' has no attribute {name!r}", name=name, obj=module)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """Show what is public, and not the files that it comes from."""
        return sorted([*__getattr__("__all__"), "__doc__", "__file__", "__name__", "__path__"])

    def _mechanisms() -> list[str]:
        """The names that every mechanism has here, in the order of registration."""
        return _import_module("dpsel.mechanisms").__all__
