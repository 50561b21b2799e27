"""Sessions of Spark Connect make the same releases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from spark_support import arguments, rows, table

import dpsel
from support import KEY

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("grpc") is None, reason="pyspark[connect] is not installed"),
]

JOB = Path(__file__).with_name("connect_job.py")


@pytest.fixture(scope="module")
def results():
    # The server is another Spark than that of the tests in this process, and must not take its settings.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    done = subprocess.run(
        [sys.executable, str(JOB)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.rsplit("RESULTS", 1)[1])


@pytest.mark.parametrize(
    ("name", "mechanism"),
    [("sips", dpsel.Sips()), ("steered", dpsel.Steered(rounds=4)), ("joined", dpsel.Sips())],
)
def test_the_same_release(results, name, mechanism) -> None:
    assert results["kind"].startswith("pyspark.sql.connect")
    here = dpsel.select_partitions(table(rows(400, 300)), **arguments(mechanism))
    assert results[name] == [here.to_pylist(), here.report.to_json(), len(here)]
    assert len(here) > 3


@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(rounds=12)], ids=repr)
def test_sums_in_groups_and_shared_files(results, mechanism) -> None:
    here = dpsel.select_partitions(table(rows(400, 300)), **arguments(mechanism, counts=0.2))
    assert results[f"groups {mechanism.name}"] == [list(map(list, here.to_pylist())), here.report.to_json()]
    assert len(here) > 3


@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(rounds=4)], ids=repr)
def test_large_types_change_no_release(results, mechanism) -> None:
    named = table([(user, f"item {item}") for user, item in rows(400, 300)])
    here = dpsel.select_partitions(named, **arguments(mechanism))
    assert results[f"large {mechanism.name}"] == [here.to_pylist(), len(here)]


def test_rows_are_kept_and_given_back(results) -> None:
    """Otherwise every job would read the table again, which may have other rows then."""
    assert results["kept"] is True
    assert results["given back"] is True


def test_numbers_of_users_and_the_rows_of_released_items(results) -> None:
    here = dpsel.select_partitions(table(rows(400, 300)), **arguments(dpsel.Sips(), counts=0.2))
    assert results["counted"] == [list(map(list, here.to_pylist())), here.report.to_json(), len(here)]
    assert results["filtered"] == [list(here), [-1, *here]]


def test_the_same_top_k(results) -> None:
    given = {"user": "user", "item": "item", "k": 5, "privacy": dpsel.ApproxDP(epsilon=2.0, delta=1e-4)}
    here = dpsel.select_top_k(table(rows(400, 300)), insecure_test_key=KEY, **given)
    assert results["top_k"] == [here.to_pylist(), here.report.to_json(), len(here)]


def test_errors_of_tasks_come_back(results) -> None:
    assert results["error"].startswith("the input: user column 'user' is null in row ")


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_times_without_a_zone_come_back(results, zone) -> None:
    """An hour that does not exist in the first."""
    assert results[zone] == ["timestamp_ntz", "2024-03-31 02:30:00"]


def test_what_spark_says_of_a_row_is_left_out(results) -> None:
    text, *chained = results["foreign"]
    assert text.startswith("Spark failed: it raised NumberFormatException while the table was read; ")
    assert chained == ["None", "None"]
