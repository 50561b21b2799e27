"""Privacy parameters, and the cost of a call.

A guarantee is for adding or removing one user with all of its rows, unless a [`Cost`][dpsel.Cost] says
otherwise.

Examples:
    >>> import dpsel
    >>> cost = dpsel.Cost(items=dpsel.PureDP(epsilon=1.0), counts=dpsel.PureDP(epsilon=0.5))
    >>> cost.total
    PureDP(epsilon=1.5)
"""

from typing import TYPE_CHECKING

from dpsel.accounting._cost import Cost, Neighbours, NeighboursOfCounts, PublishedCounts
from dpsel.accounting._counts import Counts, checked_counts, counts_of_json
from dpsel.accounting._privacy import ZCDP, ApproxDP, Privacy, PureDP, checked_privacy
from dpsel.accounting._quantile import Quantile
from dpsel.accounting._rest import Rest, checked_rest, rest_of_json

if TYPE_CHECKING:
    from dpsel.accounting._groups import for_group
else:
    # A selection does not need it, and exact fractions take long to import.
    from dpsel._lazy import loader

    __getattr__ = loader(__name__, {"for_group": "dpsel.accounting._groups"})

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Cost",
    "Counts",
    "Neighbours",
    "NeighboursOfCounts",
    "Privacy",
    "PublishedCounts",
    "PureDP",
    "Quantile",
    "Rest",
    "checked_counts",
    "checked_privacy",
    "checked_rest",
    "counts_of_json",
    "for_group",
    "rest_of_json",
]
