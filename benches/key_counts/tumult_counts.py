"""Keys with counts by Tumult Analytics on a local Spark session. KIND: `halves`.

Half of epsilon and all of delta are for the keys, the other half of epsilon for their counts.
"""

import json
import os
import sys
import tempfile
from importlib.metadata import version

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    QueryBuilder,
    Session,
)

path, epsilon, delta, limits = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
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
rows = spark.read.csv(path, header=True, inferSchema=False)
for limit in map(int, limits.split(",")):
    session = Session.from_dataframe(
        ApproxDPBudget(epsilon, delta), "rows", rows, protected_change=AddRowsWithID("user")
    )
    bounded = (
        QueryBuilder("rows").enforce(MaxGroupsPerID("item", limit)).enforce(MaxRowsPerGroupPerID("item", 1))
    )
    keys = session.evaluate(bounded.get_groups(["item"]), ApproxDPBudget(epsilon / 2, delta)).toPandas()
    numbers = []
    if len(keys):
        groups = KeySet.from_tuples([(key,) for key in keys["item"]], columns=["item"])
        numbers = session.evaluate(bounded.groupby(groups).count(), ApproxDPBudget(epsilon / 2, 0)).collect()
    counts = {row["item"]: float(row["count"]) for row in numbers}
    print(json.dumps({"limit": limit, "counts": counts, "version": version("tmlt.analytics")}), flush=True)
