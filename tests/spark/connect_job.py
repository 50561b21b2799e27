"""A client of Spark Connect, whose server it starts. Prints one JSON object.

Run by test_spark_connect.py as a process of its own, because a process has either kind of session.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from spark_support import arguments, rows, table  # noqa: E402

import dpsel  # noqa: E402
import dpsel.spark  # noqa: E402
from dpsel.exceptions import DataError  # noqa: E402
from dpsel.spark import _dataflow, _driver, _packed, _values  # noqa: E402
from support import KEY  # noqa: E402


def main() -> None:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.remote("local[2]")
    spark = (
        builder.config("spark.sql.shuffle.partitions", "3").config("spark.log.level", "ERROR").getOrCreate()
    )
    frame = spark.createDataFrame(table(rows(400, 300))).repartition(4)
    results = {"kind": type(frame).__module__}
    with _packed.persisted(frame) as rows_kept:
        results["kept"] = rows_kept.storageLevel.useMemory
    results["given back"] = not frame.storageLevel.useMemory
    for mechanism in (dpsel.Sips(), dpsel.Steered(rounds=4)):
        found = dpsel.spark.select_partitions(frame, **arguments(mechanism))
        results[mechanism.name] = [found.to_local().to_pylist(), found.report.to_json(), found.items.count()]
    found = dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips(), counts=0.2))
    results["counted"] = [found.to_local().to_pylist(), found.report.to_json(), found.items.count()]
    results["filtered"] = [
        sorted(row[0] for row in found.filter(frame, **given).select("item").distinct().collect())
        for given in ({}, {"other": -1})
    ]
    # Sums come in groups, and what tasks share as files.
    _driver.DRIVER_SUMS, _values.FUNCTION_BYTES = 1, 0
    for mechanism in (dpsel.Sips(), dpsel.Steered(rounds=12)):
        found = dpsel.spark.select_partitions(frame, **arguments(mechanism, counts=0.2))
        results[f"groups {mechanism.name}"] = [found.to_local().to_pylist(), found.report.to_json()]
    _dataflow.BROADCAST_ITEMS, _dataflow.FILTER_BITS = 0, 1
    found = dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips()))
    results["joined"] = [found.to_local().to_pylist(), found.report.to_json(), found.items.count()]
    given = {"user": "user", "item": "item", "k": 5, "privacy": dpsel.ApproxDP(epsilon=2.0, delta=1e-4)}
    top = dpsel.spark.select_top_k(frame, insecure_test_key=KEY, **given)
    results["top_k"] = [top.to_local().to_pylist(), top.report.to_json(), top.items.count()]
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    named = frame.selectExpr("user", "concat('item ', item) as item")
    for mechanism in (dpsel.Sips(), dpsel.Steered(rounds=4)):
        found = dpsel.spark.select_partitions(named, **arguments(mechanism))
        results[f"large {mechanism.name}"] = [found.to_local().to_pylist(), found.items.count()]
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "false")
    wall = frame.selectExpr("user", "timestamp_ntz'2024-03-31 02:30:00' as item")
    for zone in ("Europe/Berlin", "America/New_York"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        found = dpsel.spark.select_partitions(wall, **arguments(dpsel.Sips())).items
        texts = [row[0] for row in found.selectExpr("cast(item as string)").collect()]
        results[zone] = [found.schema["item"].dataType.simpleString(), *texts]
    spoilt = frame.selectExpr("user", "cast(concat('SECRET', user) as int) as item")
    try:
        dpsel.spark.select_partitions(spoilt, **arguments(dpsel.Sips()))
    except DataError as error:
        results["foreign"] = [str(error), *map(repr, (error.__cause__, error.__context__))]
    try:
        dpsel.spark.select_partitions(
            frame.selectExpr("nullif(user, 7) as user", "item"), **arguments(dpsel.Sips())
        )
    except DataError as error:
        results["error"] = str(error)
    spark.stop()
    print("RESULTS" + json.dumps(results))


if __name__ == "__main__":
    main()
