"""What Spark's settings leave unencrypted is told, refused or accepted."""

from __future__ import annotations

import warnings

import pytest
from spark_support import arguments, rows, table

import dpsel
import dpsel.spark
from dpsel.exceptions import InvalidParameterError, UnencryptedSparkWarning
from dpsel.spark._encryption import check_encryption
from dpsel.spark._sharing import SETTING

pytestmark = pytest.mark.spark

CLUSTER = {"spark.master": "yarn"}
DISKS, NETWORK, EVENTS = "local disks get digests", "the network sees rows", "the event log may get"
CASES = [
    ({}, []),
    ({"spark.io.encryption.enabled": "false"}, [DISKS]),
    (CLUSTER, [NETWORK]),
    ({"spark.master": "local-cluster[2,1,1024]"}, [NETWORK]),
    ({"spark.master": "local[*, 2]"}, []),
    (CLUSTER | {"spark.network.crypto.enabled": "true"}, [NETWORK]),
    (CLUSTER | {"spark.authenticate": "true"}, [NETWORK]),
    (CLUSTER | {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}, []),
    (CLUSTER | {"spark.ssl.rpc.enabled": "TRUE"}, []),
    ({"spark.redaction.regex": "(?i)password"}, [EVENTS]),
    ({"spark.redaction.regex": "(not a pattern"}, [EVENTS]),
    ({"spark.redaction.regex": "(?i)password", "spark.eventLog.enabled": "false"}, []),
    ({"spark.redaction.regex": "dpsel"}, []),
    (CLUSTER | {"spark.io.encryption.enabled": "false"}, [DISKS, NETWORK]),
]


@pytest.fixture
def settings(spark):
    """A function that changes the settings of the application for one test."""
    real = spark.sparkContext._jsc.sc().conf()
    before = {}

    def change(given: dict[str, str]) -> None:
        for name, value in given.items():
            before.setdefault(name, real.get(name) if real.contains(name) else None)
            real.set(name, value)

    yield change
    for name, value in before.items():
        if value is None:
            real.remove(name)
        else:
            real.set(name, value)


@pytest.mark.parametrize(("given", "told"), CASES)
def test_what_is_unencrypted_is_told(spark, settings, given, told) -> None:
    settings(given)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_encryption(spark, "warn", with_secret_file=False)
        check_encryption(spark, "accept", with_secret_file=False)
    assert len(caught) == bool(told)
    for warning in caught:
        assert warning.category is UnencryptedSparkWarning
        text = str(warning.message)
        assert [part for part in (DISKS, NETWORK, EVENTS) if part in text] == told
        with pytest.raises(InvalidParameterError, match=told[0]):
            check_encryption(spark, "refuse", with_secret_file=False)
    if not told:
        check_encryption(spark, "refuse", with_secret_file=False)


def test_a_secret_file_stands_in_for_a_redacted_event_log(spark, settings) -> None:
    settings({"spark.redaction.regex": "(?i)password"})
    check_encryption(spark, "refuse", with_secret_file=True)


def test_the_name_is_reserved_in_the_application(spark) -> None:
    check_encryption(spark, "accept", with_secret_file=False)
    assert spark.sparkContext.getConf().get(SETTING) == "reserved"


def test_nothing_runs_when_it_is_refused(spark, settings) -> None:
    settings({"spark.io.encryption.enabled": "false"})
    frame = spark.createDataFrame(table(rows(30, 20))).selectExpr("raise_error('read') as user", "item")
    given = arguments(dpsel.Sips(), unencrypted="refuse")
    with pytest.raises(InvalidParameterError, match=r"spark\.io\.encryption\.enabled"):
        dpsel.spark.select_partitions(frame.selectExpr("cast(user as long) user", "item"), **given)
    with pytest.raises(InvalidParameterError, match="must be 'warn', 'refuse' or 'accept'"):
        dpsel.spark.select_partitions(frame, **given | {"unencrypted": "no"})
