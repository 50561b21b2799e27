"""Times come back with the type and the value that they had, whatever the zone of the session."""

from __future__ import annotations

import datetime as dt

import pytest
from spark_support import PRIVACY, arguments

import dpsel
import dpsel.spark

pytestmark = pytest.mark.spark

#: The first hour does not exist in Berlin: clocks went from two to three.
WALL = [dt.datetime(2024, 3, 31, 2, 30), dt.datetime(2024, 6, 1, 12, 0)]  # noqa: DTZ001 - without a zone
ZONES = ["Europe/Berlin", "America/New_York"]
KINDS = ["timestamp_ntz", "timestamp"]


@pytest.fixture(params=ZONES)
def zoned(spark, request):
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


def visits(spark, kind: str):
    """Every user has both times."""
    texts = ", ".join(f"'{time:%Y-%m-%d %H:%M:%S}{'' if kind == 'timestamp_ntz' else 'Z'}'" for time in WALL)
    rows = spark.range(300).selectExpr("id as user", f"explode(array({texts})) as text")
    return rows.selectExpr("user", f"cast(text as {kind}) as item", "1 as place")


def selected(frame, **more):
    return dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips(), **more))


def picked(frame, **more):
    given = {"user": "user", "item": "item", "k": 2, "privacy": PRIVACY, "max_items_per_user": 2}
    return dpsel.spark.select_top_k(frame, **given | more)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("item", ["item", ["item", "place"]], ids=["one", "several"])
@pytest.mark.parametrize("select", [selected, picked])
def test_times_keep_type_and_value(zoned, kind, item, select) -> None:
    frame = visits(zoned, kind)
    found = select(frame, item=item).items
    names = [item] if isinstance(item, str) else item
    assert [found.schema[name].dataType for name in names] == [frame.schema[name].dataType for name in names]
    # As texts with the zone of the session, because Python's times depend on that of the process.
    text = "cast(item as string)"
    assert {row[0] for row in found.selectExpr(text).collect()} == {
        row[0] for row in frame.selectExpr(text).distinct().collect()
    }
    assert found.count() == len(WALL)
