"""Comparisons: the number of items that each mechanism releases from public data.

Examples:
    >>> import dpsel
    >>> rows = [(user, item) for user in range(300) for item in range(user % 30)]
    >>> compared = dpsel.compare(
    ...     rows,
    ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
    ...     max_items_per_user=[10, 30],
    ...     mechanisms=[dpsel.WeightedGaussian(), dpsel.Sips()],
    ...     public_data=True,
    ... )
    >>> len(compared.rows)
    4
"""

from dpsel.comparison._result import Comparison
from dpsel.comparison._run import compare

__all__ = ["Comparison", "compare"]
