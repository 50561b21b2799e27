"""Releases on a Spark cluster: the same items as on one machine, bit for bit.

Needs PySpark 4.0 or newer (``pip install dpsel[spark]``), and dpsel on the executors. The guide is
``docs/guide/spark.md``.

Examples:
    >>> import dpsel
    >>> dpsel.spark.select_partitions  # doctest: +ELLIPSIS
    <function select_partitions at ...>
"""

from __future__ import annotations

from dpsel.spark._release import SparkRelease
from dpsel.spark._selection import select_partitions

__all__ = ["SparkRelease", "select_partitions"]
