"""What a cluster does to tasks changes nothing: executors die, caches are lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from spark_support import arguments, rows, table

import dpsel

pytestmark = pytest.mark.spark

SCENARIOS = ["plain", "dying", "uncached"]
JOB = Path(__file__).with_name("cluster_job.py")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What came out of each scenario on one cluster of two executors."""
    import pyspark

    home = Path(pyspark.__file__).parent
    given = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, str(JOB), str(tmp_path_factory.mktemp("cluster")), *SCENARIOS]
    done = subprocess.run(
        command, env=os.environ | given, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.rsplit("RESULTS", 1)[1])


@pytest.fixture(scope="module")
def expected():
    here = dpsel.select_partitions(table(rows()), **arguments(dpsel.Sips(), with_weights=True))
    return [list(item) for item in here.to_pylist()], here.report.to_json()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_release_is_the_local_one(results, expected, scenario) -> None:
    items, report = expected
    assert results[scenario]["items"] == items
    assert results[scenario]["report"] == report


@pytest.mark.parametrize("scenario", ["dying"])
def test_it_did_happen(results, scenario) -> None:
    assert results[scenario]["happened"]
