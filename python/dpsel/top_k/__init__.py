"""``select_top_k`` and ``top_k_from_counts``: the k items that most users hold.

Examples:
    >>> import dpsel
    >>> release = dpsel.top_k_from_counts(
    ...     [900, 20, 700, 0], labels=["tea", "gin", "milk", "ink"], k=2, privacy=dpsel.PureDP(epsilon=1.0)
    ... )
    >>> release.items
    ['tea', 'milk']
"""

from dpsel.top_k._counts import top_k_from_counts
from dpsel.top_k._rows import select_top_k

__all__ = ["select_top_k", "top_k_from_counts"]
