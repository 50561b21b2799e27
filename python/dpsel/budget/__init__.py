"""A budget for several releases of the same users.

Examples:
    >>> import dpsel
    >>> budget = dpsel.Budget(dpsel.ApproxDP(epsilon=2.0, delta=1e-7))
    >>> budget.spend(dpsel.ApproxDP(epsilon=0.5, delta=1e-8), "words")
    ApproxDP(epsilon=0.5, delta=1e-08)
    >>> budget.remaining.epsilon
    1.5
"""

from dpsel.budget._budget import Budget, Spent

__all__ = ["Budget", "Spent"]
