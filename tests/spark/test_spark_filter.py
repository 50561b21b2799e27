"""``release.filter`` of a Spark DataFrame: the rows that the local filter keeps, and a lazy DataFrame."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from spark_support import PRIVACY, arguments

import dpsel
import dpsel.spark
from dpsel.exceptions import InvalidParameterError, SchemaError

pytestmark = pytest.mark.spark

DAY, SECOND = dt.date(2024, 3, 31), dt.datetime(2024, 3, 31, 2, 30)  # noqa: DTZ001 - local


def release_of(*columns: pa.Array) -> dpsel.Release:
    """A release of exactly these items."""
    names = [f"c{place}" for place in range(len(columns))]
    items = pa.table(list(columns), names=names)
    users = pa.array([user for user in range(300) for _ in range(len(items))], pa.int64())
    rows = pa.concat_tables([items] * 300).append_column("user", users)
    limit = max(1, len(items))
    found = dpsel.select_partitions(
        rows, user="user", item=names, privacy=PRIVACY, max_items_per_user=limit, mechanism=dpsel.Sips()
    )
    assert len(found) == len(items)
    return found


def utc(hour: int) -> dt.datetime:
    return dt.datetime(2024, 3, 31, hour, tzinfo=dt.UTC)


#: Released items, the SQL of a column of several values, and a label.
COLUMNS = {
    "tinyint": (pa.array([1, -2]), "cast(id - 3 as tinyint)", 99),
    "smallint": (pa.array([1, -2], pa.int8()), "cast(id - 3 as smallint)", 99),
    "int": (pa.array([1, 2], pa.uint64()), "cast(id as int)", 99),
    "bigint": (pa.array([1, 2], pa.int16()), "id", 1 << 40),
    "decimal": (pa.array([1, 2], pa.int64()), "cast(id as decimal(20, 0))", 99),
    "text": (pa.array(["item 1", "item 2"]), "concat('item ', id)", "other"),
    "case": (pa.array(["item 1", "item 2"]), "if(id = 1, 'item 1', upper(concat('item ', id)))", "other"),
    "collation": (pa.array(["item 1"]), "concat('ITEM ', id) collate UTF8_LCASE", None),
    "blanks": (pa.array(["item"]), "rpad('item', 4 + cast(id as int), ' ') collate UTF8_BINARY_RTRIM", None),
    "digits": (pa.array(["1", "02"]), "cast(id as string)", "other"),
    "binary": (pa.array([b"1", b"\0"]), "cast(if(id = 0, '\\0', cast(id as string)) as binary)", b"\xff"),
    "boolean": (pa.array([True]), "id % 2 = 0", None),
    "date": (pa.array([DAY]), "date_add(date'2024-03-30', cast(id as int))", dt.date(1999, 1, 1)),
    "instant": (
        pa.array([utc(1), utc(2)], pa.timestamp("ms", "Asia/Tokyo")),
        "timestamp_seconds(1711846800 + 3600 * id)",
        dt.datetime(1999, 1, 1, 3, 4, 5, 6, tzinfo=dt.UTC),
    ),
    "nanoseconds": (
        pa.array([1711846800 * 10**9, 1711850400 * 10**9 + 1], pa.timestamp("ns", "UTC")),
        "timestamp_seconds(1711846800 + 3600 * id)",
        dt.datetime(1999, 1, 1, tzinfo=dt.UTC),
    ),
    "local time": (
        pa.array([SECOND]),
        "timestamp_ntz'2024-03-31 02:30:00' + make_dt_interval(0, id)",
        dt.datetime(1999, 1, 1, 3, 4, 5, 6),  # noqa: DTZ001 - local
    ),
}


def frame_of(spark: object, sql: str) -> object:
    """Six rows, one of them without an item."""
    made = spark.range(6).selectExpr("id", f"{sql} as key", "id * 1.5 as beside")
    return made.selectExpr("id", "if(id = 5, null, key) as key", "beside").repartition(2)


def ids(table: object) -> set:
    return set(table.column("id").to_pylist())


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_the_rows_and_labels_of_the_local_filter(spark, kind, zone) -> None:
    items, sql, label = COLUMNS[kind]
    keys = release_of(items)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = frame_of(spark, sql)
        local = frame.toArrow()
        kept = keys.filter(frame, item="key")
        assert kept.schema == frame.schema
        expected = keys.filter(local, item="key")
        assert kept.toArrow().sort_by("id").equals(expected.sort_by("id"))
        if kind not in ("collation", "digits"):
            assert 0 < len(expected) < 5
        if label is None:
            return
        labelled = keys.filter(frame, item="key", other=label)
        assert labelled.schema == frame.schema
        expected = keys.filter(local, item="key", other=label)
        assert labelled.toArrow().sort_by("id").equals(expected.sort_by("id"))
        assert len(expected) == 6
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_several_columns_are_one_key(spark) -> None:
    keys = release_of(pa.array(["a", "b"]), pa.array([1, 2]))
    frame = spark.sql(
        "select * from values ('a', 1, 1), ('a', 2, 2), ('b', 2, 3), (null, 2, 4), ('b', null, 5), "
        "('c', 1, 6) as t(`a.city``s`, day, id)"
    )
    item = ["a.city`s", "day"]
    assert ids(keys.filter(frame, item=item).toArrow()) == {1, 3}
    labelled = keys.filter(frame, item=item, other=("other", -1))
    assert labelled.schema.simpleString() == frame.schema.simpleString()
    rows = sorted(map(tuple, labelled.collect()), key=lambda row: row[2])
    assert rows == [
        ("a", 1, 1),
        ("other", -1, 2),
        ("b", 2, 3),
        (None, 2, 4),
        ("b", None, 5),
        ("other", -1, 6),
    ]
    with pytest.raises(InvalidParameterError, match="one for each of 2 item columns"):
        keys.filter(frame, item=item, other=("other",))


def test_a_release_of_spark_filters_what_it_came_from(spark) -> None:
    frame = spark.range(4000).selectExpr(
        "id div 4 as user", "concat('item ', if(id % 4 = 0, 0, id % 1500)) as item"
    )
    found = dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips()))
    kept = found.filter(frame)
    assert 0 < kept.count() < frame.count()
    names = {row[0] for row in kept.select("item").distinct().collect()}
    assert names == set(found.to_local().to_pylist())
    assert found.filter(frame, other="other").count() == frame.count()
    assert found.filter([(1, "item 0"), (2, "nothing")]) == [(1, "item 0")]


def test_nothing_runs_before_it_is_asked_for(spark) -> None:
    """A row that no task can read is an error when rows are read; types and labels are checked at once."""
    keys = release_of(pa.array(["item 1"]))
    frame = spark.range(9).selectExpr("id", "if(id = 7, raise_error('read'), concat('item ', id)) as item")
    spark.sparkContext.setJobGroup("lazy", "no job is expected")
    kept = keys.filter(frame, item="item")
    keys.filter(frame, item="item", other="other")
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup("lazy")
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert ids(kept.where("id < 7").toArrow()) == {1}


@pytest.mark.parametrize(
    ("sql", "options", "error", "words"),
    [
        ("id", {}, SchemaError, "column 'key' of the table has integers, but the released items are text"),
        ("array('a')", {}, SchemaError, "column 'key' of the table is a list"),
        ("1.5D", {}, SchemaError, "'key'"),
        ("named_struct('a', 1)", {}, SchemaError, "'key'"),
        ("make_ym_interval(1, 2)", {}, SchemaError, "'key'"),
        ("'a'", {"item": "nothing"}, SchemaError, "the table has no column named 'nothing'"),
        ("'a'", {"item": ["id", "key"]}, SchemaError, "2 were named"),
        ("'a'", {"other": "item 1"}, InvalidParameterError, "other must be a label that was not released"),
        ("'a' collate UTF8_LCASE", {"other": "ITEM 1"}, InvalidParameterError, "'key' has a collation"),
        ("'a'", {"other": 7}, InvalidParameterError, "other must be a value of the type of column key"),
    ],
)
def test_what_cannot_be_is_an_error_at_once(spark, sql, options, error, words) -> None:
    keys = release_of(pa.array(["item 1"]))
    frame = spark.range(3).selectExpr("id", f"{sql} as key")
    with pytest.raises(error, match="(?s)" + words):
        keys.filter(frame, **{"item": "key"} | options)


def test_a_label_has_to_fit(spark) -> None:
    keys = release_of(pa.array([1]))
    frame = spark.range(3).selectExpr("id", "cast(id as tinyint) as key")
    for label in (1000, "other", 1.5):
        for table in (frame, frame.toArrow()):
            with pytest.raises(InvalidParameterError, match="other must be a value of the type of column"):
                keys.filter(table, item="key", other=label)


def test_other_things_of_pyspark_are_no_tables(spark) -> None:
    keys = release_of(pa.array([1]))
    with pytest.raises(SchemaError, match="is not a table of rows; pass a DataFrame of Spark SQL"):
        keys.filter(spark.range(3).groupBy("id"), item="id")


def test_plan_and_function_have_released_items_and_no_others(spark, events) -> None:
    from pyspark import cloudpickle

    from dpsel._filter._spark import _lookup

    items = [f"secret item {item}" for item in range(400)]
    rows = [(user, items[0]) for user in range(300)] + [(user, items[user]) for user in range(1, 300)]
    keys = dpsel.select_partitions(
        rows, user="user", item="item", privacy=PRIVACY, max_items_per_user=2, mechanism=dpsel.Sips()
    )
    assert list(keys) == items[:1]
    function = cloudpickle.dumps(_lookup(keys._keys()).func)
    assert items[0].encode() in function
    assert not [item for item in items[10:] if item.encode() in function]
    frame = spark.range(400).selectExpr("concat('secret ', 'item ', id) as item").repartition(2)
    kept = keys.filter(frame)
    assert kept.count() == 1
    plan = kept._jdf.queryExecution().toString()
    assert "is_released" in plan
    logged = plan.encode() + b"".join(path.read_bytes() for path in events.rglob("*") if path.is_file())
    assert not [item for item in items[10:] if item.encode() in logged]
