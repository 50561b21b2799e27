"""Spark sessions for the tests: a small local one, and a real cluster of processes on this machine."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

# Tests are imported without their folder on the path; the helpers beside them are wanted by name.
sys.path.insert(0, str(Path(__file__).parent))

#: `nox -s spark` installs PySpark; without it there is nothing to collect here, and `-m spark` fails.
collect_ignore_glob = [] if find_spec("pyspark") else ["test_*.py"]


def session(master: str, **settings: str):
    """A session that is small and quiet; the interpreter of the tests runs the tasks."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName("dpsel-tests")
    fixed = {
        "spark.driver.memory": "1g",
        # Many short jobs: the better compiler costs more than it gains here.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        # What a release writes is to be encrypted, or dpsel warns.
        "spark.io.encryption.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.session.timeZone": "UTC",
    }
    for name, value in (fixed | settings).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@pytest.fixture(scope="session")
def events(tmp_path_factory):
    """The folder of the event log of the local session."""
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="session")
def spark(events):
    """Two threads in one process."""
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false"}
    made = session("local[2]", **settings, **{"spark.eventLog.dir": events.as_uri()})
    yield made
    made.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings of Spark that are not ours.

    Py4J leaves its sockets to the garbage collector, which pytest would report in some later test. PySpark
    asks for pandas wherever it asks for Arrow, and warns of its newest versions; no row goes through pandas.
    """
    newest = "ignore:PySpark does not yet fully support pandas:FutureWarning"
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.filterwarnings(newest))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))
