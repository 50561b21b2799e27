"""Keys by Tumult Analytics on a local Spark session; its start is not timed."""

import json
import os
import sys
import tempfile
import time
from importlib.metadata import version

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    ApproxDPBudget,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    QueryBuilder,
    Session,
)

path, epsilon, delta, limit = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
os.environ["PYSPARK_PYTHON"] = sys.executable  # or its workers take another Python from the path
# Tumult keeps tables in a catalogue on disk: of its own, and gone with the process.
catalogue = tempfile.TemporaryDirectory(prefix="tumult-")
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.sql.warehouse.dir", catalogue.name)
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
start = time.perf_counter()
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
keys = session.evaluate(query, budget).collect()
# end
seconds = time.perf_counter() - start
print(json.dumps({"keys": len(keys), "seconds": seconds, "version": version("tmlt.analytics")}))
