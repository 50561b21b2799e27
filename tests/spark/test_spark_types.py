"""A user is one person on Spark exactly as locally: the declared type says what a value is."""

from __future__ import annotations

import pytest
from pyspark.sql import types as t
from spark_support import PRIVACY, arguments, same

import dpsel
import dpsel.spark
from dpsel.exceptions import SchemaError

pytestmark = pytest.mark.spark

#: Expressions of an id from 0 to 399, of every type that can identify.
ACCEPTED = {
    "tinyint": "cast(id % 7 as tinyint)",
    "smallint": "cast(id % 7 as smallint)",
    "int": "cast(id as int)",
    "bigint": "id",
    "boolean": "id % 2 = 0",
    "decimal(9, 0)": "cast(id as decimal(9, 0))",
    "decimal(38, 0)": "cast(id as decimal(38, 0))",
    "string": "concat('name ', id % 9, if(id % 2 = 0, ' ', ''))",
    "char(12)": "cast(concat('name ', id) as char(12))",
    "varchar(12)": "cast(concat('name ', id) as varchar(12))",
    "binary": "cast(concat('name ', id % 9) as binary)",
    "date": "date_add(date'1500-01-01', cast(id as int))",
    "timestamp": "timestamp'2024-03-31 02:30:00' + make_dt_interval(0, 0, 0, id)",
    "timestamp_ntz": "timestamp_ntz'2024-03-31 02:30:00' + make_dt_interval(0, 0, 0, id)",
}
#: Types that identify nobody, or that only look like one that does.
REFUSED = {
    "float": "cast(id as float)",
    "double": "if(id % 2 = 0, 0.0D, -0.0D)",
    "decimal(9, 2)": "cast(id as decimal(9, 2))",
    "struct": "struct(id)",
    "map": "map(id, id)",
    "variant": "parse_json(string(id))",
    "interval day": "make_dt_interval(cast(id as int))",
    "interval month": "make_ym_interval(0, cast(id as int))",
    "interval": "make_interval(0, 1, 0, cast(id as int))",
    "geometry": "st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')",
}


class Initial(t.UserDefinedType):
    """A type of the caller's. It has to be at the top of a module, where PySpark finds it."""

    @classmethod
    def sqlType(cls):  # noqa: N802 - a name of Spark
        return t.StringType()

    @classmethod
    def module(cls) -> str:
        return __name__


COLLATIONS = ["UTF8_LCASE", "UTF8_BINARY_RTRIM", "UNICODE", "UNICODE_CI", "UNICODE_AI", "en_USA_CI_RTRIM"]


def frame_of(spark, user: str, item: str):
    return spark.range(400).selectExpr(f"{user} as user", f"{item} as item").repartition(3)


@pytest.mark.parametrize("column", ["user", "item"])
@pytest.mark.parametrize("kind", [pytest.param(sql, id=name) for name, sql in ACCEPTED.items()])
def test_the_release_of_every_type_is_the_local_one(spark, kind, column) -> None:
    expressions = {"user": "id", "item": "id % 3"} | {column: kind}
    frame = frame_of(spark, **expressions)
    local = frame.toArrow()
    many = {"privacy": dpsel.ApproxDP(epsilon=8.0, delta=1e-2), "max_items_per_user": 40}
    same(frame, local, dpsel.WeightedGaussian(), **many)


@pytest.mark.filterwarnings("ignore:The copy keyword is deprecated")
@pytest.mark.parametrize("kind", ["bigint", "string", "date", "timestamp_ntz"])
def test_the_release_is_that_of_pandas(spark, kind) -> None:
    frame = frame_of(spark, ACCEPTED[kind], "id % 3")
    given = arguments(dpsel.Sips(), privacy=dpsel.ApproxDP(epsilon=8.0, delta=1e-2))
    there = dpsel.spark.select_partitions(frame, **given).to_local().to_pylist()
    assert list(dpsel.select_partitions(frame.toPandas(), **given)) == there


def refused(frame, match: str) -> None:
    """No budget is spent."""
    budget = dpsel.Budget(PRIVACY)
    with pytest.raises(SchemaError, match=match):
        dpsel.spark.select_partitions(
            frame, **arguments(dpsel.Sips(), privacy=budget.on_use(PRIVACY), insecure_test_key=None)
        )
    assert budget.spent == ()


@pytest.mark.parametrize("column", ["user", "item"])
@pytest.mark.parametrize("kind", [pytest.param(sql, id=name) for name, sql in REFUSED.items()])
def test_any_other_type_is_refused_by_name(spark, kind, column) -> None:
    frame = frame_of(spark, **{"user": "id", "item": "id % 3"} | {column: kind})
    refused(frame, f"^{column} column '{column}' of the input has type .*, which is not supported; ")


@pytest.mark.parametrize("column", ["user", "item"])
def test_a_type_of_the_callers_is_refused(spark, column) -> None:
    """It is stored as a text, and two of its values may be one user."""
    kinds = {"user": t.LongType(), "item": t.LongType()} | {column: Initial()}
    fields = [t.StructField(name, kind) for name, kind in kinds.items()]
    refused(
        spark.createDataFrame([], t.StructType(fields)), f"^{column} column '{column}' of .*not supported"
    )


def test_a_time_of_day_is_what_it_is_locally(spark) -> None:
    frame = frame_of(spark, "id", "time'12:00:00'")
    given = arguments(dpsel.Sips())
    try:
        here = list(dpsel.select_partitions(frame.toArrow(), **given))
    except SchemaError:
        refused(frame, "item column 'item' of the input has type .*Time.*, which is not supported")
        return
    assert dpsel.spark.select_partitions(frame, **given).to_local().to_pylist() == here


@pytest.mark.parametrize("kind", ["char(12)", "varchar(12)"])
def test_kept_char_and_varchar_are_refused(spark, kind) -> None:
    before = spark.conf.get("spark.sql.preserveCharVarcharTypeInfo")
    spark.conf.set("spark.sql.preserveCharVarcharTypeInfo", "true")
    try:
        refused(
            frame_of(spark, ACCEPTED[kind], "id % 3"), r"^user column 'user' of the input has type (var)?char"
        )
    finally:
        spark.conf.set("spark.sql.preserveCharVarcharTypeInfo", before)


@pytest.mark.parametrize("collation", COLLATIONS)
def test_a_collation_of_users_is_refused(spark, collation) -> None:
    """Spark takes Ann and ANN for one user. Both would give to items."""
    frame = frame_of(spark, f"if(id % 2 = 0, 'Ann', 'ANN') collate {collation}", "id % 3")
    refused(
        frame, f"^user column 'user' of the input has the collation .*{collation.split('_')[-1]}.*lower()"
    )
    several = frame_of(spark, "id", "id % 3").selectExpr("user", "item", f"'a' collate {collation} as place")
    with pytest.raises(SchemaError, match="^user column 'place' of the input has the collation"):
        dpsel.spark.select_top_k(several, user=["user", "place"], item="item", k=2, privacy=PRIVACY)


@pytest.mark.parametrize("collation", COLLATIONS)
def test_a_collation_joins_no_items(spark, collation) -> None:
    item = f"if(id % 2 = 0, 'tea', 'TEA ') collate {collation}"
    found = dpsel.spark.select_partitions(frame_of(spark, "id", item), **arguments(dpsel.Sips()))
    assert found.to_local().to_pylist() == ["TEA ", "tea"]
    lists = dpsel.spark.select_partitions(frame_of(spark, "id", f"array({item})"), **arguments(dpsel.Sips()))
    assert lists.to_local().to_pylist() == ["TEA ", "tea"]
