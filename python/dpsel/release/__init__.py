"""The result of a call: the items that may be published, and the report of what was enforced.

Examples:
    >>> import dpsel
    >>> rows = [(user, drink) for user in range(500) for drink in ("tea", "milk")] + [(7, "absinthe")]
    >>> release = dpsel.select_partitions(
    ...     rows, privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=3
    ... )
    >>> release.items
    ['milk', 'tea']
"""

from typing import TYPE_CHECKING

from dpsel.item_table import ItemTable
from dpsel.release._report import Report
from dpsel.release._selection import EXTENSIONS, Release

if TYPE_CHECKING:
    from dpsel.release._card import Card
    from dpsel.release._check import CheckResult, check
    from dpsel.release._item_set import ItemSet
    from dpsel.release._top_k import TopKRelease
else:
    # A selection needs none of them.
    from dpsel._lazy import loader

    _PLACES = dict.fromkeys(("CheckResult", "check"), "dpsel.release._check")
    _RESULTS = {
        "Card": "dpsel.release._card",
        "ItemSet": "dpsel.release._item_set",
        "TopKRelease": "dpsel.release._top_k",
    }
    __getattr__ = loader(__name__, _PLACES | _RESULTS)

__all__ = [
    "EXTENSIONS",
    "Card",
    "CheckResult",
    "ItemSet",
    "ItemTable",
    "Release",
    "Report",
    "TopKRelease",
    "check",
]
