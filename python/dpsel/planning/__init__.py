"""Plans: thresholds and release probabilities of a guarantee, without data and so at no cost.

Examples:
    >>> import dpsel
    >>> plan = dpsel.plan(
    ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-8),
    ...     max_items_per_user=[1, 100],
    ...     mechanisms=[dpsel.WeightedGaussian()],
    ... )
    >>> [row["max_items_per_user"] for row in plan.rows]
    [1, 100]
"""

from dpsel.planning._explain import Explanation, explain
from dpsel.planning._selection import Plan, plan
from dpsel.planning._size import SizePlan, plan_size
from dpsel.planning._top_k import TopKPlan, plan_top_k

__all__ = ["Explanation", "Plan", "SizePlan", "TopKPlan", "explain", "plan", "plan_size", "plan_top_k"]
