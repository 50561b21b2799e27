"""``frame.dpsel`` for pandas: importing this module adds the accessor to DataFrame.

Examples:
    >>> import pandas as pd
    >>> import dpsel
    >>> import dpsel.pandas
    >>> frame = pd.DataFrame({"user": range(500), "drink": ["tea"] * 500})
    >>> privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
    >>> frame.dpsel.select_partitions(
    ...     user="user", item="drink", privacy=privacy, max_items_per_user=1
    ... ).items["drink"].tolist()
    ['tea']
"""

from __future__ import annotations

import pandas as pd

from dpsel._namespace import Namespace

__all__ = ["Namespace"]

pd.api.extensions.register_dataframe_accessor("dpsel")(Namespace)
