"""The same errors as locally, on the driver before a job starts where that is possible."""

from __future__ import annotations

import traceback

import pytest
from spark_support import arguments, changing_items, rows, table

import dpsel
import dpsel.spark
from dpsel.exceptions import DataError, InvalidParameterError, SchemaError
from dpsel.spark import _dataflow

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def local():
    return table([(user, f"item {item}") for user, item in rows(300, 30)])


@pytest.fixture
def no_jobs(spark):
    """No job has started at the end."""
    spark.sparkContext.setJobGroup("errors", "no job is expected")
    yield
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup("errors")
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


@pytest.mark.usefixtures("no_jobs")
@pytest.mark.parametrize(
    "wrong",
    [
        {"user": "nobody"},
        {"item": "nothing"},
        {"item": ["item", "item"]},
        {"item": "user"},
        {"max_items_per_user": 0},
        {"privacy": dpsel.PureDP(epsilon=1.0)},
        {"with_weights": True, "mechanism": dpsel.Sips(release="curve")},
        {"insecure_test_key": b"short"},
        {"ngrams": (2, 1)},
        {"mechanism": "best"},
        {"user": 3},
    ],
    ids=str,
)
def test_parameters_and_columns(spark, local, wrong) -> None:
    given = arguments(dpsel.Sips()) | wrong
    with pytest.raises(dpsel.DpselError) as here:
        dpsel.select_partitions(local, **given)
    with pytest.raises(dpsel.DpselError) as there:
        dpsel.spark.select_partitions(spark.createDataFrame(local), **given)
    assert (type(there.value), str(there.value)) == (type(here.value), str(here.value))


@pytest.mark.usefixtures("no_jobs")
@pytest.mark.parametrize("kind", ["double", "decimal(9, 2)", "struct<a: int>", "map<int, int>"])
@pytest.mark.parametrize("column", ["user", "item"])
def test_types(spark, local, kind, column) -> None:
    frame = spark.createDataFrame(local).selectExpr(
        *(f"cast(null as {kind}) as {name}" if name == column else name for name in ("user", "item"))
    )
    with pytest.raises(
        SchemaError, match=f"^{column} column '{column}' of the input has type .*, which is not"
    ):
        dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips()))


@pytest.mark.usefixtures("no_jobs")
@pytest.mark.parametrize(
    "mechanism",
    [
        dpsel.PolicyGaussian(),
        dpsel.PolicyLaplace(),
        dpsel.GreedyFrequency(),
        dpsel.UnitGreedy(),
        dpsel.UnitGreedy(prior={"tea": 1}),
        dpsel.Matching(),
        dpsel.Matching(screening=True),
        dpsel.Mad(),
        dpsel.Mad2R(),
        dpsel.MatchingOr(),
    ],
    ids=repr,
)
def test_mechanisms_whose_users_come_in_an_order(spark, local, mechanism) -> None:
    with pytest.raises(
        InvalidParameterError,
        match=r"Spark does not run .*, which needs all rows in memory: about .* bytes for each .*; pass "
        r"mechanism=dpsel.Steered\(reach=3\) or mechanism=dpsel.Sips\(\), or call dpsel.select_partitions on",
    ):
        dpsel.spark.select_partitions(spark.createDataFrame(local), **arguments(mechanism))


@pytest.mark.usefixtures("no_jobs")
@pytest.mark.parametrize("number", [0, -1, 2**31, True, 1.5])
def test_num_partitions(spark, local, number) -> None:
    given = arguments(dpsel.Sips(), num_partitions=number)
    with pytest.raises(InvalidParameterError, match="num_partitions must be"):
        dpsel.spark.select_partitions(spark.createDataFrame(local), **given)


def test_other_tables(local) -> None:
    with pytest.raises(SchemaError, match="no Spark DataFrame; pass it to dpsel.select_partitions instead"):
        dpsel.spark.select_partitions(local, **arguments(dpsel.Sips()))


def test_a_null_user(spark, local) -> None:
    frame = spark.createDataFrame(local).selectExpr("nullif(user, 7) as user", "item")
    with pytest.raises(
        DataError, match=r"^the input: user column 'user' is null in row \d+; every row must name"
    ) as caught:
        dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips()))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def quoting_udf(batches):
    """A function of the table whose own errors quote a row."""
    for batch in batches:
        raise ValueError(f"SECRET-{batch['user'][0]}")
        yield batch


QUOTING = {
    "cast": (
        "NumberFormatException",
        lambda frame: frame.selectExpr("user", "cast(concat('SECRET', user) as int) as item"),
    ),
    "raise_error": (
        "SparkRuntimeException",
        lambda frame: frame.selectExpr("user", "cast(raise_error(concat('SECRET', user)) as int) as item"),
    ),
    "udf": ("PythonException", lambda frame: frame.mapInArrow(quoting_udf, frame.schema)),
}


@pytest.mark.parametrize("kind", ["partitions", "top_k"])
@pytest.mark.parametrize("source", QUOTING)
def test_what_spark_says_of_a_row_is_left_out(spark, local, capfd, caplog, kind, source) -> None:
    """Neither in the error, nor in what it is chained to, nor in a log of Python."""
    name, spoil = QUOTING[source]
    frame = spoil(spark.createDataFrame(local))
    given = arguments(dpsel.Sips())
    select = dpsel.spark.select_partitions
    if kind == "top_k":
        given = {name: given[name] for name in ("user", "item", "privacy", "insecure_test_key")} | {"k": 5}
        select = dpsel.spark.select_top_k
    with pytest.raises(DataError) as caught:
        select(frame, **given)
    assert f"Spark failed: it raised {name} while" in str(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))
    # Java writes its own log: of that process, and under settings of Spark.
    written = [line for line in capfd.readouterr().err.splitlines() if '"logger"' in line]
    assert not [line for line in written if "SECRET" in line]
    assert "SECRET" not in caplog.text


def test_an_interrupt_passes(spark, local, monkeypatch) -> None:
    def interrupted(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr(_dataflow.Dataflow, "selected", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dpsel.spark.select_partitions(spark.createDataFrame(local), **arguments(dpsel.Sips()))


def test_a_table_that_changes_between_reads(spark, tmp_path) -> None:
    """Here: items that are other ones whenever they are read."""
    frame = spark.createDataFrame(table([(user, 1) for user in range(500)])).coalesce(1)
    with pytest.raises(DataError, match="rows changed between the two; write the table out first"):
        dpsel.spark.select_partitions(
            frame.mapInArrow(changing_items(tmp_path / "read"), "user long, item string"),
            **arguments(dpsel.Sips()),
        )


def test_the_local_function_points_here(spark, local) -> None:
    with pytest.raises(SchemaError, match="call dpsel.spark.select_partitions or"):
        dpsel.select_partitions(spark.createDataFrame(local), **arguments(dpsel.Sips()))
