"""The Python processes of the executors."""

from __future__ import annotations

import gc
import os

import pyarrow as pa
import pytest
from spark_support import arguments, rows

import dpsel
import dpsel.spark
from dpsel.spark import _pairs

pytestmark = pytest.mark.spark


def test_processes_that_ran_a_task_search_no_modules_for_garbage(spark) -> None:
    """PySpark searches after each task, and rounds have many small ones."""
    data = spark.createDataFrame(rows(), ["user", "item"])
    dpsel.spark.select_partitions(data, **arguments(dpsel.Steered(rounds=3)))

    def kept(batches):
        """How many objects the process keeps."""
        for _ in batches:
            yield pa.record_batch({"kept": [gc.get_freeze_count()]})

    numbers = spark.range(8, numPartitions=8).mapInArrow(kept, "kept long").collect()
    assert max(number.kept for number in numbers) > 10_000


def test_later_rounds_run_in_the_processes_that_work_on_tables(spark) -> None:
    """In new ones PySpark and pyarrow would be loaded again, in a tenth of the time of a release."""

    def parents_of_tables(batches):
        """The process that made this one."""
        for _ in batches:
            parent = str(os.getppid()).encode()
            yield pa.record_batch({"bucket": pa.array([0], pa.int32()), "packed": [parent]})

    def parents_of_rounds(values):
        return ((0, str(os.getppid()).encode()) for _ in values)

    tables = spark.range(8, numPartitions=8).mapInArrow(parents_of_tables, "partition int, packed binary")
    of_tables = {bytes(row.packed) for row in tables.collect()}
    of_rounds = _pairs.made(_pairs.values(tables), parents_of_rounds, spark)
    assert set(_pairs.of_users(of_rounds).collect()) == of_tables
    # Else the test would not notice new processes.
    plain = spark.sparkContext.parallelize(range(8), 8).map(lambda _: os.getppid()).collect()
    assert not {str(parent).encode() for parent in plain} & of_tables
    assert "SPARK_SIMPLIFIED_TRACEBACK" not in spark.sparkContext.environment
