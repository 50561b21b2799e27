"""``frame.dpsel`` for polars: importing this module adds the namespace to DataFrame and LazyFrame.

Examples:
    >>> import polars as pl
    >>> import dpsel
    >>> import dpsel.polars
    >>> frame = pl.DataFrame({"user": range(500), "drink": ["tea"] * 500})
    >>> privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
    >>> frame.dpsel.select_partitions(
    ...     user="user", item="drink", privacy=privacy, max_items_per_user=1
    ... ).items.to_dict(as_series=False)
    {'drink': ['tea']}
"""

from __future__ import annotations

import polars as pl

from dpsel._namespace import Namespace

__all__ = ["Namespace"]

for register in (pl.api.register_dataframe_namespace, pl.api.register_lazyframe_namespace):
    register("dpsel")(Namespace)
