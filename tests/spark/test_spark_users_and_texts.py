"""Users of several columns and n-grams on Spark: the same releases as on one machine."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from spark_support import rows

import dpsel
import dpsel.spark
from support import KEY

pytestmark = pytest.mark.spark

PRIVACY = dpsel.ApproxDP(epsilon=2.0, delta=1e-4)
TOP_K = {"k": 5, "privacy": PRIVACY, "max_items_per_user": 4, "insecure_test_key": KEY}
SELECT = {"privacy": PRIVACY, "max_items_per_user": 4, "insecure_test_key": KEY}


@pytest.fixture(scope="module")
def local():
    data = rows(600, 300)
    days = [dt.date(2026, 1, 1 + item % 3) for _, item in data]
    return pa.table(
        {
            "tenant": [f"{'ab'[user % 2]}" for user, _ in data],
            "id": [user // 2 for user, _ in data],
            "day": days,
            "text": [f"Item {item} of  {item % 5}" for _, item in data],
        }
    )


@pytest.fixture(scope="module")
def frame(spark, local):
    return spark.createDataFrame(local).repartition(3).persist()


@pytest.mark.parametrize("user", [["tenant", "id"], ["id", "day"], ["day", "tenant", "id"]], ids=str)
def test_users_of_several_columns(frame, local, user) -> None:
    arguments = {"user": user, "item": "text", "mechanism": dpsel.Sips(), **SELECT}
    found = dpsel.spark.select_partitions(frame, num_partitions=4, unencrypted="accept", **arguments)
    alone = dpsel.select_partitions(local, **arguments)
    assert found.to_local().to_pylist() == alone.to_pylist()
    assert len(alone) > 5
    assert found.report["request"] == alone.report["request"]


OPTIONS = [{"ngrams": (1, 2)}] + [{"ngrams": (2, 3), "tokenizer": unit} for unit in ("chars", "subwords")]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_ngrams_of_a_selection_and_of_a_top_k(frame, local, options) -> None:
    arguments = {"user": ["tenant", "id"], "item": "text", **options}
    on_spark = {"num_partitions": 4, "unencrypted": "accept"}
    chosen = {"mechanism": dpsel.Sips(), **SELECT, **arguments}
    found = dpsel.spark.select_partitions(frame, **on_spark, **chosen)
    assert found.to_local().to_pylist() == dpsel.select_partitions(local, **chosen).to_pylist()
    top = dpsel.spark.select_top_k(frame, **on_spark, **TOP_K, **arguments)
    assert top.to_local().to_pylist() == dpsel.select_top_k(local, **TOP_K, **arguments).to_pylist()
    assert len(top.to_local()) > 0
