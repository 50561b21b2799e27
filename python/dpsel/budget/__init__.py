"""A budget for several releases of the same users.

Examples:
    >>> import dpsel
    >>> budget = dpsel.Budget(dpsel.ApproxDP(epsilon=2.0, delta=1e-7))
    >>> budget.spend(dpsel.ApproxDP(epsilon=0.5, delta=1e-8), "words")
    ApproxDP(epsilon=0.5, delta=1e-08)
    >>> budget.remaining.epsilon
    1.5
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpsel.budget._budget import Budget, Spent
    from dpsel.budget._ledger import Ledger
else:
    # Every call uses `_payment`, and few programs have a budget.
    from dpsel._lazy import loader

    _PLACES = dict.fromkeys(("Budget", "Spent"), "dpsel.budget._budget")
    _PLACES |= {"Ledger": "dpsel.budget._ledger"}
    __getattr__ = loader(__name__, _PLACES)

__all__ = ["Budget", "Ledger", "Spent"]
