"""Releases on a Spark cluster: the same items as on one machine, bit for bit.

Needs PySpark 4.0 or newer (``pip install dpsel[spark]``), and dpsel on the executors. The guide is
<https://dpsel.github.io/dpsel/guide/spark/>.

Examples:
    >>> import dpsel
    >>> dpsel.spark.select_partitions  # doctest: +ELLIPSIS
    <function select_partitions at ...>
"""

from __future__ import annotations

from dpsel.spark._release import SparkRelease, SparkTopKRelease
from dpsel.spark._selection import select_partitions
from dpsel.spark._top_k import select_top_k

__all__ = ["SparkRelease", "SparkTopKRelease", "select_partitions", "select_top_k"]
