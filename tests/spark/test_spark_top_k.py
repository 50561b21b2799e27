"""The same top-k on Spark as on one machine, bit for bit; the same errors."""

from __future__ import annotations

import pytest
from spark_support import rows, same_top_k, table

import dpsel
import dpsel.spark
from dpsel.exceptions import DataError, SchemaError
from support import KEY

pytestmark = pytest.mark.spark

LISTED = [
    dpsel.Joint(),
    dpsel.JointSet(),
    dpsel.GumbelPeel(),
    dpsel.PermuteFlipPeel(),
    dpsel.Gamma(),
    dpsel.LaplaceTopK(),
]
DELTA = dpsel.ApproxDP(epsilon=2.0, delta=1e-4)


@pytest.fixture(scope="module")
def local():
    return table([(user, f"item {item}") for user, item in rows(600, 300)])


@pytest.fixture(scope="module")
def frame(spark, local):
    return spark.createDataFrame(local).repartition(3).persist()


@pytest.mark.parametrize(
    ("mechanism", "limit"),
    [
        pytest.param(
            mechanism, limit, id=f"{mechanism}-{limit}", marks=[pytest.mark.slow] * (place % 2 == odd)
        )
        for place, mechanism in enumerate(LISTED)
        for odd, limit in enumerate([None, 4])
    ],
)
def test_items_of_a_public_list(frame, local, mechanism, limit) -> None:
    domain = [f"item {number}" for number in range(0, 340, 2)]
    ordered = mechanism.ordered
    found = same_top_k(
        frame,
        local,
        privacy=dpsel.PureDP(epsilon=3.0),
        mechanism=mechanism,
        domain=domain,
        ordered=ordered,
        counts=dpsel.PureDP(epsilon=1.0),
        max_items_per_user=limit,
    )
    assert len(found) == 6
    assert set(found.to_pylist()) <= set(domain)


def test_a_list_of_texts_beside_a_column_of_integers(spark) -> None:
    local = table(rows(600, 300))
    domain = [str(number) for number in range(0, 340, 2)]
    found = same_top_k(spark.createDataFrame(local), local, privacy=dpsel.PureDP(epsilon=3.0), domain=domain)
    assert set(found.to_pylist()) <= set(range(0, 340, 2))
    with pytest.raises(SchemaError, match="domain= has an item at position 1 that column 'item' of the data"):
        dpsel.spark.select_top_k(
            spark.createDataFrame(local),
            user="user",
            item="item",
            k=1,
            privacy=dpsel.PureDP(epsilon=3.0),
            domain=["1", "01"],
        )


@pytest.mark.parametrize("mechanism", ["auto", dpsel.LimitDomain(candidates=11), dpsel.LimitDomain(10_000)])
def test_items_of_the_data(frame, local, mechanism) -> None:
    assert len(same_top_k(frame, local, privacy=DELTA, mechanism=mechanism)) > 0


@pytest.mark.parametrize(
    ("ordered", "counts"),
    [
        (True, dpsel.PureDP(epsilon=1.0)),
        (False, None),
        pytest.param(True, None, marks=pytest.mark.slow),
        pytest.param(False, dpsel.PureDP(epsilon=1.0), marks=pytest.mark.slow),
    ],
)
def test_discovered_items(frame, local, ordered, counts) -> None:
    given = {"privacy": DELTA, "max_items_per_user": 9, "ordered": ordered, "counts": counts}
    found = same_top_k(frame, local, **given).to_table().to_arrow()
    assert found.num_rows > 0
    assert ("count" in found.column_names) == (counts is not None)


@pytest.mark.parametrize("counts", [None, pytest.param("free", marks=pytest.mark.slow)])
@pytest.mark.parametrize("by_filter", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_noisy_counts_are_sorted(frame, local, monkeypatch, counts, by_filter) -> None:
    if by_filter:
        monkeypatch.setattr("dpsel.spark._dataflow.BROADCAST_ITEMS", 1)
    mechanism = dpsel.SelectAndCount(share=0.6, max_counted_items=2)
    found = same_top_k(frame, local, privacy=DELTA, mechanism=mechanism, max_items_per_user=4, counts=counts)
    assert len(found) == 6


@pytest.mark.parametrize("partitions", [1, pytest.param(16, marks=pytest.mark.slow)])
def test_partitions_do_not_matter(spark, local, partitions) -> None:
    spread = spark.createDataFrame(local).repartition(partitions)
    same_top_k(spread, local, privacy=DELTA, num_partitions=partitions)
    same_top_k(spread.union(spread), local, privacy=DELTA, max_items_per_user=5, num_partitions=5)


def test_no_rows_and_nothing_found(spark, local) -> None:
    nothing = spark.createDataFrame(local).where("user < 0")
    assert len(same_top_k(nothing, local.slice(0, 0), privacy=DELTA)) == 0
    assert len(same_top_k(nothing, local.slice(0, 0), privacy=DELTA, max_items_per_user=3)) == 0
    assert (
        len(
            same_top_k(nothing, local.slice(0, 0), privacy=dpsel.PureDP(epsilon=1.0), domain=list("abcdefgh"))
        )
        == 6
    )


def test_several_columns_and_the_frame_of_spark(spark) -> None:
    local = table([(user, item % 7, f"city {item % 9}") for user, item in rows(300)], names=("u", "n", "c"))
    frame = spark.createDataFrame(local)
    given = {"user": "u", "item": ["c", "n"], "k": 4, "privacy": DELTA}
    same_top_k(frame, local, **given)
    found = dpsel.spark.select_top_k(frame, insecure_test_key=KEY, **given)
    assert found.items.columns == ["c", "n", "rank"]
    assert found.items.count() == len(found) > 0
    assert repr(found).startswith("<dpsel.spark.SparkTopKRelease: ")
    assert "picked by LimitDomain(" in str(found)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": 9, "domain": ["a", "b"]},
        {"domain": 3},
        {"domain": "abc"},
        {"domain": [*range(20)]},
        {"domain": [b"item 1"] * 20},
        {"counts": 1},
        {"counts": "free"},
        {"neighbours": "other"},
        {"privacy": dpsel.PureDP(epsilon=1.0)},
        {"privacy": 1.0},
        {"max_items_per_user": 0},
        {"mechanism": dpsel.Joint()},
        {"mechanism": dpsel.Discover()},
        {"mechanism": dpsel.SelectAndCount()},
        {"mechanism": dpsel.SelectAndCount(), "max_items_per_user": 4, "counts": DELTA},
        {"mechanism": "best"},
        {"user": "nobody"},
        {"item": "nothing"},
        {"item": 3},
        {"insecure_test_key": b"short"},
    ],
    ids=str,
)
def test_the_same_errors_without_a_job(spark, local, wrong) -> None:
    given = {"user": "user", "item": "item", "k": 6, "privacy": DELTA} | wrong
    frame = spark.createDataFrame(local)
    with pytest.raises(dpsel.DpselError) as here:
        dpsel.select_top_k(local, **given)
    spark.sparkContext.setJobGroup("top-k errors", "no job is expected")
    with pytest.raises(dpsel.DpselError) as there:
        dpsel.spark.select_top_k(frame, **given)
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup("top-k errors")
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert (type(there.value), str(there.value)) == (type(here.value), str(here.value))


def test_other_tables_and_null_users(spark, local) -> None:
    given = {"user": "user", "item": "item", "k": 3, "privacy": DELTA}
    with pytest.raises(SchemaError, match="no Spark DataFrame; pass it to dpsel.select_top_k instead"):
        dpsel.spark.select_top_k(local, **given)
    with pytest.raises(SchemaError, match="or dpsel.spark.select_top_k instead"):
        dpsel.select_top_k(spark.createDataFrame(local), **given)
    frame = spark.createDataFrame(local).selectExpr("nullif(user, 7) as user", "item")
    with pytest.raises(DataError, match=r"user column 'user' is null in row \d+"):
        dpsel.spark.select_top_k(frame, **given)


@pytest.mark.parametrize(
    ("mechanism", "counted"),
    [(dpsel.LimitDomain(), False), (dpsel.Discover(), True), (dpsel.SelectAndCount(), True)],
    ids=repr,
)
def test_user_counts_are_made_for_rounds_only(spark, mechanism, counted) -> None:
    from dpsel import _core
    from dpsel._request import columns_of, request_of_rows
    from dpsel.spark import _packed
    from dpsel.spark._dataflow import Dataflow
    from dpsel.spark._sharing import shared
    from dpsel.spark._steps import Steps

    local = table(rows(40, 30))
    columns = columns_of("user", "item")
    request = request_of_rows(
        columns,
        k=3,
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        mechanism=mechanism,
        domain=None,
        ordered=True,
        counts=None,
        max_items_per_user=5,
        neighbours="add_remove",
    )
    job = _core.ExchangeTopK(request.json, local.schema).job
    with shared(spark, None) as seal:
        flow = Dataflow(spark.createDataFrame(local), columns, job, seal, 4, Steps(None, request))
        with flow.contributions() as contributions:
            found = _packed.not_of_users(contributions).count()
    assert bool(found) == counted
