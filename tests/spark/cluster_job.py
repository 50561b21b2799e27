"""A driver on a cluster of two executors, and what goes wrong there. Prints one JSON object.

    python tests/spark/cluster_job.py FOLDER dying:table.parquet plain dying failing uncached steered counted

Scenarios: nothing, an executor that dies in the middle of a round, a task that fails when it has made
everything, contributions that are no longer cached, and an executor that dies in the middle of
scored rounds (`blocked`, `steered`), of a join, or of numbers of users, also of blocks that are no longer
cached (`forgotten`), and while sums come to the driver `in groups`. Speculative copies of tasks cannot be had
here: Spark starts them on other hosts only. The classes of tasks stand in this file, which is the main
module: so they travel by value. Run by test_failures.py as a process of its own, because a process has one
Spark context.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from spark_support import arguments, rows, table  # noqa: E402

import dpsel  # noqa: E402
import dpsel.spark  # noqa: E402
from conftest import session  # noqa: E402
from dpsel.spark import _dataflow, _driver, _tasks  # noqa: E402


@dataclass
class Dying:
    """A task that kills its executor once: a worker's parent is its daemon, whose parent is the executor."""

    task: Any
    mark: str

    def __call__(self, batches):
        for batch in self.task(batches):
            yield batch
            if not Path(self.mark).exists():
                Path(self.mark).touch()
                daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()
                os.kill(int(daemon[1]), signal.SIGKILL)
                time.sleep(60)


@dataclass
class Failing:
    """A task that makes everything and then fails, once: Spark has to forget what it made."""

    task: Any
    mark: str

    def __call__(self, batches):
        yield from self.task(batches)
        if not Path(self.mark).exists():
            Path(self.mark).touch()
            raise OSError("once")


#: The tasks that are disturbed.
TASKS = {
    "pruned": "PruneAndWeigh",
    "blocked": "BlockUsers",
    "steered": "WeighBlocks",
    "forgotten": "WeighBlocks",
    "retried": "WeighBlocks",
    "blocks in groups": "WeighBlocks",
    "joined": "FalsePositives",
    "counted": "NoisyCounts",
}
SCORED = {"blocked", "steered", "forgotten", "retried", "blocks in groups"}


def select(spark, frame, mark: Path, scenario: str) -> dict:
    name = TASKS.get(scenario, "Weigh")
    mechanism = dpsel.Steered(rounds=10) if scenario in SCORED else dpsel.Sips()
    plain = getattr(_tasks, name)
    #: The round in which it happens. By the seventh one, blocks were made from blocks and shuffled.
    number = {"steered": 7, "dying": 1, "blocks in groups": 7, "in groups": 1}

    def disturbed(*given):
        task = plain(*given)
        if scenario in ("joined", "counted", "blocked", "pruned") or task.round == number.get(scenario):
            return Dying(task, str(mark))
        if scenario in ("failing", "retried") and task.round == 1:
            return Failing(task, str(mark))
        if scenario in ("uncached", "forgotten"):
            # On the driver, before the round is planned.
            kept = list(spark.sparkContext._jsc.getPersistentRDDs().values())
            # What plain rounds keep is kept once, before the first of these tasks.
            assert kept or (scenario == "uncached" and task.round > 1)
            for rows_kept in kept:
                rows_kept.unpersist()
        return task

    setattr(_tasks, name, disturbed)
    listed = _dataflow.BROADCAST_ITEMS, _dataflow.FILTER_BITS
    if scenario == "joined":
        _dataflow.BROADCAST_ITEMS, _dataflow.FILTER_BITS = 0, 1
    sums = _driver.DRIVER_SUMS
    if "in groups" in scenario:
        _driver.DRIVER_SUMS = 1
    try:
        counts = 0.2 if scenario == "counted" else None
        given = arguments(mechanism, with_weights=True, counts=counts)
        found = dpsel.spark.select_partitions(frame, **given)
    finally:
        setattr(_tasks, name, plain)
        _dataflow.BROADCAST_ITEMS, _dataflow.FILTER_BITS = listed
        _driver.DRIVER_SUMS = sums
    return {
        "items": found.to_local().to_pylist(),
        "happened": mark.exists(),
        "report": found.report.to_json(),
    }


def main() -> None:
    folder = Path(sys.argv[1])
    settings = {
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "spark.local.dir": str(folder / "local"),
        # So many executors die that the master would give up.
        "spark.deploy.maxExecutorRetries": "-1",
    }
    spark = session("local-cluster[2,1,1024]", **settings)
    results = {}
    for number, given in enumerate(sys.argv[2:]):
        scenario, _, path = given.partition(":")
        frame = spark.read.parquet(path) if path else spark.createDataFrame(table(rows()))
        results[given] = select(spark, frame.repartition(6), folder / str(number), scenario)
    spark.stop()
    print("RESULTS" + json.dumps(results))


if __name__ == "__main__":
    main()
