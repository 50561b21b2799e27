"""Keys by Tumult Analytics on a local Spark session, whose start is timed apart."""

import os
import sys
import tempfile

from pyspark.sql import SparkSession
from timed import processor_seconds, report
from tmlt.analytics import (
    AddRowsWithID,
    ApproxDPBudget,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    QueryBuilder,
    Session,
)

os.environ["PYSPARK_PYTHON"] = sys.executable  # or its workers take another Python from the path
# Tumult keeps tables in a catalogue on disk: of its own, and gone with the process.
catalogue = tempfile.TemporaryDirectory(prefix="tumult-")
start = processor_seconds()
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.sql.warehouse.dir", catalogue.name)
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
spark.range(1).collect()
start = processor_seconds() - start


def job(path, epsilon, delta, limit):
    # job
    rows = spark.read.csv(path, header=True, inferSchema=False)
    budget = ApproxDPBudget(epsilon, delta)
    session = Session.from_dataframe(budget, "rows", rows, protected_change=AddRowsWithID("user"))
    query = (
        QueryBuilder("rows")
        .enforce(MaxGroupsPerID("item", limit))
        .enforce(MaxRowsPerGroupPerID("item", 1))
        .get_groups(["item"])
    )
    return session.evaluate(query, budget).collect()
    # end


report(job, "tmlt.analytics", session=start)
