"""The Python processes of the executors."""

from __future__ import annotations

import gc

import pytest
from spark_support import arguments, rows

import dpsel
import dpsel.spark

pytestmark = pytest.mark.spark


def test_processes_that_ran_a_task_search_no_modules_for_garbage(spark) -> None:
    """PySpark searches after each task, and rounds have many small ones."""
    data = spark.createDataFrame(rows(), ["user", "item"])
    dpsel.spark.select_partitions(data, **arguments(dpsel.Steered(rounds=3)))
    kept = spark.sparkContext.parallelize(range(8), 8).map(lambda _: gc.get_freeze_count()).collect()
    assert max(kept) > 10_000
