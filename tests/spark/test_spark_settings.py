"""What a session is set to changes no release."""

from __future__ import annotations

import datetime as dt
from contextlib import contextmanager, nullcontext
from decimal import Decimal

import pyarrow as pa
import pytest
from spark_support import PRIVACY, arguments, rows, same_top_k

import dpsel
import dpsel.spark
from dpsel.exceptions import InvalidParameterError, SchemaError
from dpsel.spark import _dataflow, _driver
from support import released

pytestmark = pytest.mark.spark

ARROW = "spark.sql.execution.arrow."
#: Settings of what passes between Spark and Python, and values other than the usual ones.
PASSING = [
    (f"{ARROW}useLargeVarTypes", "true"),
    (f"{ARROW}maxRecordsPerBatch", "1"),
    (f"{ARROW}maxBytesPerBatch", "1"),
    (f"{ARROW}maxBytesPerOutputBatch", "1"),
    (f"{ARROW}maxRecordsPerOutputBatch", "1"),
    (f"{ARROW}compression.codec", "zstd"),
    (f"{ARROW}enabled", "false"),
    (f"{ARROW}pyspark.enabled", "false"),
    (f"{ARROW}pyspark.fallback.enabled", "false"),
    (f"{ARROW}pyspark.selfDestruct.enabled", "true"),
    (f"{ARROW}pyspark.validateSchema.enabled", "true"),
    (f"{ARROW}pythonUDF.columnarInput.enabled", "false"),
    (f"{ARROW}localRelationThreshold", "0"),
    ("spark.sql.execution.pandas.convertToArrowArraySafely", "true"),
    ("spark.sql.execution.pandas.structHandlingMode", "dict"),
    ("spark.sql.execution.pyspark.binaryAsBytes", "false"),
    ("spark.sql.execution.pyspark.udf.hideTraceback.enabled", "true"),
    ("spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled", "false"),
    ("spark.sql.execution.pythonUDF.arrow.enabled", "false"),
    ("spark.sql.execution.python.udf.maxRecordsPerBatch", "1"),
    ("spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName", "false"),
]
#: Settings of types, names and plans.
MEANING = [
    ("spark.sql.session.timeZone", "America/New_York"),
    ("spark.sql.session.timeZone", "+05:30"),
    ("spark.sql.ansi.enabled", "false"),
    ("spark.sql.ansi.doubleQuotedIdentifiers", "true"),
    ("spark.sql.caseSensitive", "true"),
    ("spark.sql.timestampType", "TIMESTAMP_NTZ"),
    ("spark.sql.datetime.java8API.enabled", "true"),
    ("spark.sql.parser.quotedRegexColumnNames", "true"),
    ("spark.sql.preserveCharVarcharTypeInfo", "true"),
    ("spark.sql.parquet.enableVectorizedReader", "false"),
    ("spark.sql.parquet.int96RebaseModeInRead", "LEGACY"),
    ("spark.sql.parquet.binaryAsString", "true"),
    ("spark.sql.adaptive.enabled", "false"),
    ("spark.sql.codegen.wholeStage", "false"),
    ("spark.sql.codegen.factoryMode", "NO_CODEGEN"),
    ("spark.sql.shuffle.partitions", "1"),
    ("spark.sql.inMemoryColumnarStorage.enableVectorizedReader", "false"),
    ("spark.sql.defaultCacheStorageLevel", "DISK_ONLY"),
]
#: Those that once broke a release run with the quick tests.
OFTEN = {("spark.sql.session.timeZone", "+05:30"), PASSING[0]}
#: They have no bearing on a release: how hard to compress, and what is no table, or not read by Python.
ELSEWHERE = {
    f"{ARROW}compression.zstd.level",
    f"{ARROW}fallback.enabled",
    f"{ARROW}sparkr.enabled",
    f"{ARROW}cache.prefetch.enabled",
    f"{ARROW}transformWithStateInPySpark.maxStateRecordsPerBatch",
}
NAMES = ["text", "time", "bytes", "number", "day", "instant"]


@contextmanager
def set_to(spark, *settings):
    before = {name: spark.conf.get(name) for name, _ in settings}
    try:
        for name, value in settings:
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@pytest.fixture(scope="module")
def path(spark, tmp_path_factory):
    """A table of items with a part of every kind that settings are about."""
    start = dt.datetime(2024, 3, 31, 2, 30, tzinfo=dt.UTC)
    data = [(user, item % 8) for user, item in rows(250, 300)]
    hours = [start + dt.timedelta(hours=item % 3) for _, item in data]
    columns = {
        "user": [f"user {user}" for user, _ in data],
        "text": [f"name {item}" for _, item in data],
        "time": pa.array([time.replace(tzinfo=None) for time in hours], pa.timestamp("us")),
        "bytes": [b"x" * (item % 3) for _, item in data],
        "number": pa.array([Decimal(item % 4) for _, item in data], pa.decimal128(20, 0)),
        "day": [dt.date(1500, 1, 1) + dt.timedelta(item % 3) for _, item in data],
        "instant": pa.array(hours, pa.timestamp("us", "UTC")),
    }
    place = str(tmp_path_factory.mktemp("settings") / "table")
    from pyspark.sql.pandas.types import from_arrow_schema

    table = pa.table(columns)
    spark.createDataFrame(table, from_arrow_schema(table.schema, True)).repartition(2).write.parquet(place)
    return place


@pytest.fixture(scope="module")
def here(spark, path):
    """The local release of the table, as usual settings hand it over."""
    return dpsel.select_partitions(spark.read.parquet(path).toArrow(), **given())


def given() -> dict:
    return arguments(dpsel.Steered(rounds=3), item=NAMES, counts=0.2)


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(each, id=f"{each[0]}={each[1]}", marks=[pytest.mark.slow] * (each not in OFTEN))
        for each in PASSING + MEANING
    ],
)
@pytest.mark.parametrize("most", [_driver.DRIVER_SUMS, 1], ids=["together", "in groups"])
def test_a_setting_changes_no_release(spark, path, here, monkeypatch, setting, most) -> None:
    """Neither items, nor their types, nor the report, however sums come to the driver."""
    monkeypatch.setattr(_driver, "DRIVER_SUMS", most)
    usual = dpsel.spark.select_partitions(spark.read.parquet(path), **given()).items.schema
    with set_to(spark, setting):
        there = dpsel.spark.select_partitions(spark.read.parquet(path), **given())
        assert released(there.to_local()).equals(released(here))
        assert there.report.to_json() == here.report.to_json()
        assert (there.items.schema, there.items.count()) == (usual, len(here))
        assert len(here) > 3


def test_settings_change_no_top_k_no_filter_and_no_join(spark, path, monkeypatch) -> None:
    local = spark.read.parquet(path).toArrow()
    monkeypatch.setattr(_dataflow, "BROADCAST_ITEMS", 0)
    with set_to(spark, *PASSING[:3]):
        frame = spark.read.parquet(path)
        same_top_k(frame, local, item="text", privacy=PRIVACY)
        there = dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips(), item="text"))
        assert len(there) > 3
        assert there.to_local().to_pylist() == list(
            dpsel.select_partitions(local, **arguments(dpsel.Sips(), item="text"))
        )
        kept = {row[0] for row in there.filter(frame).select("text").distinct().collect()}
        assert kept == set(there.to_local())


def test_every_setting_of_arrow_is_in_the_matrix(spark) -> None:
    """A new version of PySpark with a new one fails here."""
    there = {row[0] for row in spark.sql("SET -v").collect() if row[0].startswith(ARROW)}
    assert there - {name for name, _ in PASSING} - ELSEWHERE == set()


@pytest.mark.parametrize(
    ("sensitive", "refused"),
    [
        pytest.param("true", nullcontext(), id="true"),
        pytest.param("false", pytest.raises(SchemaError, match="differ only in case"), id="false"),
    ],
)
def test_names_that_differ_in_case_or_look_like_patterns(spark, sensitive, refused) -> None:
    """Names are those of the schema. Where Spark does not heed case, such a column could be another one."""
    local = pa.table({"USER": ["-"] * 400, "user": range(400), "i.*`": [1] * 400, "I.*`": [2] * 400})
    with set_to(
        spark, ("spark.sql.caseSensitive", sensitive), ("spark.sql.parser.quotedRegexColumnNames", "true")
    ):
        frame = spark.createDataFrame(local)
        with refused:
            found = dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips(), item="I.*`"))
            assert found.to_local().to_pylist() == [2]


@pytest.mark.parametrize("number", ["0", "-1"])
def test_batches_without_a_limit_are_refused_before_anything_is_spent(spark, number) -> None:
    """PySpark makes no DataFrame of the items, and never ends where it filters."""
    frame = spark.range(400).selectExpr("id as user", "1L as item")
    release = dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips()))
    budget = dpsel.Budget(PRIVACY)
    paying = arguments(dpsel.Sips(), privacy=budget.on_use(PRIVACY), insecure_test_key=None)
    with set_to(spark, (f"{ARROW}maxRecordsPerBatch", number)):
        for refused in (
            lambda: dpsel.spark.select_partitions(frame, **paying),
            lambda: release.filter(frame),
        ):
            with pytest.raises(InvalidParameterError, match="maxRecordsPerBatch is not positive.*set"):
                refused()
    assert budget.spent == ()


def test_a_streaming_frame_is_refused(spark) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value as user", "value as item")
    with pytest.raises(SchemaError, match="a streaming DataFrame never ends.*write the stream out"):
        dpsel.spark.select_partitions(stream, **arguments(dpsel.Sips()))
