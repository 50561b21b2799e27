"""Keys by PipelineDP on its local backend."""

import csv
from pathlib import Path

import pipeline_dp
from timed import report


def job(path, epsilon, delta, limit):
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
    return list(selected)
    # end


report(job, "pipeline-dp")
