"""Keys by PipelineDP on its local backend."""

import csv
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pipeline_dp

path, epsilon, delta, limit = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
start = time.perf_counter()
# job
with Path(path).open(newline="", encoding="utf-8") as lines:
    rows = [(row["user"], row["item"]) for row in csv.DictReader(lines)]
accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
selected = engine.select_partitions(
    rows,
    pipeline_dp.SelectPartitionsParams(max_partitions_contributed=limit),
    pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1]
    ),
)
accountant.compute_budgets()
keys = list(selected)
# end
seconds = time.perf_counter() - start
print(json.dumps({"keys": len(keys), "seconds": seconds, "version": version("pipeline-dp")}))
