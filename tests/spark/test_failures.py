"""What a cluster does to tasks changes nothing: executors die, tasks run again, caches are lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from spark_support import arguments, rows, table

import dpsel

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCORED = ["blocked", "steered", "forgotten", "retried", "blocks in groups"]
PLAIN = ["plain", "dying", "failing", "uncached", "joined", "counted", "pruned", "in groups"]
SCENARIOS = [*PLAIN, *SCORED]
JOB = Path(__file__).with_name("cluster_job.py")


def run(folder: Path, scenarios: list[str]) -> dict:
    """What comes out of each scenario on one cluster of two executors."""
    import pyspark

    home = Path(pyspark.__file__).parent
    given = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(JOB), str(folder), *scenarios]
    done = subprocess.run(
        command, env=os.environ | given, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.rsplit("RESULTS", 1)[1])


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Of all scenarios."""
    return run(tmp_path_factory.mktemp("cluster"), SCENARIOS)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_release_is_the_local_one(results, scenario) -> None:
    mechanism = dpsel.Steered(rounds=10) if scenario in SCORED else dpsel.Sips()
    counts = 0.2 if scenario == "counted" else None
    given = arguments(mechanism, with_weights=True, counts=counts)
    here = dpsel.select_partitions(table(rows()), **given)
    assert results[scenario]["items"] == [list(item) for item in here.to_pylist()]
    assert results[scenario]["report"] == here.report.to_json()


@pytest.mark.parametrize(
    "scenario", [name for name in SCENARIOS if name not in ("plain", "uncached", "forgotten")]
)
def test_it_did_happen(results, scenario) -> None:
    assert results[scenario]["happened"]


@pytest.mark.shared_data
def test_real_data_after_killed_executors(shared_data, tmp_path) -> None:
    paths = [
        str(shared_data / f"{name}.parquet") for name in ("imdb", "git_messages", "synthetic_pareto_zeta_50k")
    ]
    results = run(tmp_path, [f"dying:{path}" for path in paths])
    for path in paths:
        here = dpsel.select_partitions(path, **arguments(dpsel.Sips(), with_weights=True))
        found = results[f"dying:{path}"]
        assert found["happened"]
        assert found["items"] == [list(item) for item in here.to_pylist()]
        assert found["report"] == here.report.to_json()
