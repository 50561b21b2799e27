"""Keys with counts by PipelineDP on its local backend. KIND: `NOISE-STRATEGY`.

The strategy `post` compares the noisy count itself with a threshold, so the whole budget goes to one number.
The others divide it between the choice of keys and their counts.
"""

import csv
import json
import sys
from importlib.metadata import version
from pathlib import Path

import pipeline_dp

path, epsilon, delta, limits, kind = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:6]
noise, strategy = kind.upper().split("-")
chosen = {"POST": f"{noise}_THRESHOLDING", "GEOMETRIC": "TRUNCATED_GEOMETRIC"}
with Path(path).open(newline="", encoding="utf-8") as lines:
    rows = [(row["user"], row["item"]) for row in csv.DictReader(lines)]
for limit in map(int, limits.split(",")):
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    result = engine.aggregate(
        rows,
        pipeline_dp.AggregateParams(
            metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
            noise_kind=pipeline_dp.NoiseKind[noise],
            max_partitions_contributed=limit,
            max_contributions_per_partition=1,
            partition_selection_strategy=pipeline_dp.PartitionSelectionStrategy[chosen[strategy]],
            post_aggregation_thresholding=strategy == "POST",
        ),
        pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda _: 0,
        ),
    )
    accountant.compute_budgets()
    numbers = list(result)
    counts = {key: float(number.privacy_id_count) for key, number in numbers}
    print(json.dumps({"limit": limit, "counts": counts, "version": version("pipeline-dp")}), flush=True)
