"""The same release on Spark as on one machine, bit for bit, however the rows are spread."""

from __future__ import annotations

import datetime as dt
import random
import re

import pyarrow as pa
import pytest
from spark_support import PARALLEL, arguments, rows, same, table

import dpsel
import dpsel.spark
from dpsel.exceptions import MemoryLimitError
from dpsel.spark import _dataflow, _driver, _tasks
from support import released

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def local():
    return table(rows())


@pytest.fixture(scope="module")
def frame(spark, local):
    return spark.createDataFrame(local).repartition(3).persist()


@pytest.mark.parametrize("mechanism", PARALLEL, ids=repr)
def test_every_parallel_mechanism(frame, local, mechanism) -> None:
    assert 5 < same(frame, local, mechanism).num_rows < 2900


#: Those that can release noisy weights; the ones of Gaussian noise take a guarantee in zCDP.
NOISY = [
    m for m in PARALLEL if getattr(m, "release", "noise") == "noise" and not isinstance(m, dpsel.OneItem)
]
GAUSSIAN = dpsel.Sips | dpsel.Steered | dpsel.WeightedGaussian | dpsel.CountGaussian


@pytest.mark.parametrize("mechanism", NOISY, ids=repr)
def test_noisy_weights_and_zcdp(frame, local, mechanism) -> None:
    zcdp = {"privacy": dpsel.ZCDP(rho=0.5, delta=1e-4)} if isinstance(mechanism, GAUSSIAN) else {}
    same(frame, local, mechanism, with_weights=True, **zcdp)


@pytest.mark.parametrize("mechanism", PARALLEL, ids=repr)
def test_numbers_of_users(frame, local, mechanism) -> None:
    """Users hold far more items than they keep, and more released ones than count whole."""
    counts = dpsel.Counts(share=0.3, max_counted_items=3, nonnegative=True)
    limit = 1 if isinstance(mechanism, dpsel.OneItem) else 4
    found = same(frame, local, mechanism, counts=counts, max_items_per_user=limit)
    assert found.column_names == ["item", "users"]
    assert len(set(found["users"].to_pylist())) > 5


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("mechanism", PARALLEL, ids=repr)
def test_sums_come_to_the_driver_group_by_group(frame, local, monkeypatch, mechanism, size) -> None:
    """As where they are more than it takes together, in every round."""
    monkeypatch.setattr(_dataflow, "TASK_ROWS", 500)
    monkeypatch.setattr(_dataflow, "BLOCK_TASK_ROWS", 500)
    sent = []

    def groups(_session, _counts, tasks, _instead, **_of_nodes) -> list[range]:
        sent.append([range(first, min(first + size, tasks)) for first in range(0, tasks, size)])
        return sent[0]

    monkeypatch.setattr(_dataflow, "groups", groups)
    noisy = {"with_weights": True} if mechanism in NOISY else {}
    assert same(frame, local, mechanism, num_partitions=40, counts=0.2, **noisy).num_rows > 0
    assert len(sent[0]) > 1


@pytest.mark.parametrize("mechanism", PARALLEL, ids=repr)
def test_a_single_user_may_have_an_item_released(spark, mechanism) -> None:
    """Then hardly any item can be left out before the rounds."""
    data = [(user, user) for user in range(900)] + [(user, 1000 + user % 3) for user in range(900, 1200)]
    local, given = table(data), {"privacy": dpsel.ApproxDP(epsilon=9.0, delta=0.3)}
    found = same(spark.createDataFrame(local).repartition(3), local, mechanism, **given)
    assert set(range(900)) & set(found["item"].to_pylist())


@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(rounds=3)], ids=repr)
def test_more_sums_than_spark_lets_come_to_the_driver(frame, monkeypatch, mechanism) -> None:
    """Refused with what helps, before a round."""
    monkeypatch.setattr(_driver, "settings", lambda _session: lambda _name: "900")
    cure = "start Spark with --conf spark.driver.maxResultSize=1g and a driver of twice as much memory"
    instead = ", or take Sips, which sums up fewer items" if isinstance(mechanism, dpsel.Steered) else ""
    with pytest.raises(MemoryLimitError, match=f"{cure}{instead}$") as caught:
        dpsel.spark.select_partitions(frame, **arguments(mechanism))
    assert not re.search(r"\d", str(caught.value).replace("=1g", ""))


@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(rounds=10)], ids=repr)
def test_more_tasks_than_cores(spark, frame, local, monkeypatch, mechanism) -> None:
    """As many as there are for rows beyond what one task takes, and fewer than partitions."""
    monkeypatch.setattr(_dataflow, "TASK_ROWS", 500)
    monkeypatch.setattr(_dataflow, "BLOCK_TASK_ROWS", 500)
    taken, plain = [], _dataflow.Dataflow._tasks

    def noted(self, *given: object) -> int:
        taken.append(plain(self, *given))
        return taken[-1]

    monkeypatch.setattr(_dataflow.Dataflow, "_tasks", noted)
    same(frame, local, mechanism, num_partitions=40)
    cores = spark.sparkContext.defaultParallelism
    assert cores < taken[0] < 40
    assert taken[0] % cores == 0


@pytest.mark.parametrize("sums", [_driver.DRIVER_SUMS, 1])
@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(rounds=10)], ids=repr)
def test_nothing_stays_kept(spark, frame, local, monkeypatch, mechanism, sums) -> None:
    """After a release and after a failure amid the rounds."""
    monkeypatch.setattr(_driver, "DRIVER_SUMS", sums)

    def kept() -> int:
        return spark.sparkContext._jsc.getPersistentRDDs().size()

    same(frame, local, mechanism)
    before, rows_kept = kept(), []

    def failing(plain):
        def task(*given: object):
            rows_kept.append(kept())
            if given[-2] > 1:
                raise MemoryError
            return plain(*given)

        return task

    for name in ("Weigh", "WeighBlocks"):
        monkeypatch.setattr(_tasks, name, failing(getattr(_tasks, name)))
    with pytest.raises((MemoryError, dpsel.DpselError)):
        dpsel.spark.select_partitions(frame, **arguments(mechanism))
    assert len(rows_kept) == 2
    assert min(rows_kept) > before
    assert kept() == before


def test_thirty_scored_rounds(frame, local, events) -> None:
    """Neither do plans double with each round, nor do tasks hold those of all rounds before."""

    def logged() -> int:
        return sum(path.stat().st_size for path in events.rglob("*") if path.is_file())

    before = logged()
    same(frame, local, dpsel.Steered(rounds=30), with_weights=True)
    assert logged() - before < 40_000_000


@pytest.mark.parametrize("rounds", [1, 2])
def test_few_scored_rounds(frame, local, rounds) -> None:
    same(frame, local, dpsel.Steered(rounds=rounds), with_weights=True)


def test_users_who_reach_their_caps(spark) -> None:
    """They have one common item and many rare ones, so what they gave to it comes back each round."""
    rare = random.Random(3)
    data = [(user, 0) for user in range(30)]
    data += [(user, rare.randrange(1200)) for user in range(30) for _ in range(320)]
    data += [(user, 100 * user + n) for user in range(1000, 1500) for n in range(34)]
    local = table(data)
    given = {"privacy": dpsel.ApproxDP(epsilon=20.0, delta=1e-9), "max_items_per_user": 300}
    frame = spark.createDataFrame(local).repartition(3)
    assert same(frame, local, dpsel.Steered(rounds=6), with_weights=True, **given).num_rows > 0


@pytest.mark.parametrize("most", [1, 3, 10_000])
@pytest.mark.parametrize(
    "mechanism", [dpsel.Sips(ratio=0.2, release="curve"), dpsel.Steered(rounds=3)], ids=repr
)
def test_numbers_of_rows(frame, local, mechanism, most) -> None:
    """The rows of a user and an item are in several tasks, and some are there often."""
    counts = dpsel.Counts(0.3, max_counted_items=3, count="rows", max_rows_per_item=most)
    often = local.filter(pa.compute.less(local["user"], 40))
    many = frame.union(frame.where("user < 40")).union(frame.where("user < 40")).repartition(5)
    found = same(many, pa.concat_tables([local, often, often]), mechanism, counts=counts)
    assert found.column_names == ["item", "rows"]
    assert len(set(found["rows"].to_pylist())) > 5


def test_numbers_beside_weights_and_zcdp_and_of_what_auto_takes(frame, local) -> None:
    zcdp = {"privacy": dpsel.ZCDP(rho=0.5, delta=1e-4), "with_weights": True}
    found = same(frame, local, dpsel.Sips(), counts=0.2, **zcdp)
    assert found.column_names == ["item", "weight", "users"]
    given = arguments("auto", counts=0.2)
    there = dpsel.spark.select_partitions(frame, **given)
    taken = there.report["request"]["mechanism"]
    assert taken["name"] == "steered"
    assert there.report.counts["max_counted_items"] == 12
    assert len(there) > 5
    assert there.items.toArrow()["users"].to_pylist() == there.to_local().to_arrow()["users"].to_pylist()


SPREADS = [(spark_partitions, ours) for spark_partitions in (1, 3, 16) for ours in (1, 7, 64)]
SOME_SPREADS = [(1, 64), (3, 1), (16, 7)]


@pytest.mark.parametrize(
    ("partitions", "number"),
    [pytest.param(*spread, marks=[pytest.mark.slow] * (spread not in SOME_SPREADS)) for spread in SPREADS],
)
def test_partitions_do_not_matter(spark, local, partitions, number) -> None:
    from pyspark.sql import functions as f

    shuffled = spark.createDataFrame(local).orderBy(f.xxhash64("item", "user")).repartition(partitions)
    same(shuffled, local, dpsel.Sips(), num_partitions=number, counts=0.2)


def test_empty_partitions_and_repeated_rows(spark, local) -> None:
    twice = spark.createDataFrame(local).union(spark.createDataFrame(local)).repartition(6)
    few = twice.where("user < 20").repartition(12)
    same(twice, local, dpsel.Sips())
    same(few, local.filter(pa.compute.less(local["user"], 20)), dpsel.Sips())


def test_no_rows(spark, local) -> None:
    nothing = spark.createDataFrame(local).where("user < 0")
    assert same(nothing, local.slice(0, 0), dpsel.Sips()).num_rows == 0
    assert same(nothing, local.slice(0, 0), dpsel.Sips(), counts=0.2).num_rows == 0


def texts(users: int) -> list[tuple]:
    return [
        (f"user {user:030}", "tea" if item % 3 else f"drink number {item} " * 7) for user, item in rows(users)
    ]


def kinds():
    day, second = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    some = rows(400, 40)
    yield "text", texts(400)
    yield "null items", [(user, None if item % 3 == 0 else item) for user, item in some]
    yield "dates", [(day + dt.timedelta(user), day + dt.timedelta(item)) for user, item in some]
    yield "instants", [(user, second + dt.timedelta(seconds=item)) for user, item in some]
    yield (
        "local times",
        [(user, second.replace(tzinfo=None) + dt.timedelta(seconds=item)) for user, item in some],
    )
    yield "binary", [(str(user).encode(), str(item).encode() * 9) for user, item in some]
    yield "booleans", [(user, item % 2 == 0) for user, item in some]
    yield "lists", [(user, [item, item + 1, None] if item else None) for user, item in some]


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in kinds()])
def test_every_type(spark, data) -> None:
    local = table(data)
    frame = spark.createDataFrame(local).repartition(3)
    found = same(frame, frame.toArrow(), dpsel.WeightedGaussian(), max_items_per_user=40)
    assert 0 < found.num_rows < len(set(map(str, data)))


def test_several_item_columns(spark) -> None:
    data = [(user, item % 7, None if item == 3 else f"city {item % 9}") for user, item in rows(400, 60)]
    local = table(data, names=("user", "a number", "a.city`"))
    item = ["a.city`", "a number"]
    found = same(
        spark.createDataFrame(local).repartition(4), local, dpsel.Sips(), item=item, max_items_per_user=40
    )
    assert found.column_names == item
    assert found.num_rows > 5


@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(rounds=5)], ids=["sips", "steered"])
@pytest.mark.parametrize("limit", [5, 40])
def test_ngrams(spark, mechanism, limit) -> None:
    words = ["the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog"]
    data = [(user, " ".join(words[item % 7 :][:4])) for user, item in rows(300, 30)]
    local = table(data)
    frame = spark.createDataFrame(local).repartition(4)
    found = same(frame, local, mechanism, ngrams=(1, 2), max_items_per_user=limit)
    assert found.num_rows > 5


def test_collations_do_not_join_items(spark) -> None:
    local = table([(user, "tea" if user % 2 else "TEA") for user in range(400)])
    frame = spark.createDataFrame(local).selectExpr("user", "item collate UTF8_LCASE as item")
    found = dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips()))
    assert found.to_local().to_pylist() == ["TEA", "tea"]


def test_one_large_user_and_one_item_of_everybody(spark) -> None:
    data = [(0, item) for item in range(30_000)] + [(user, 0) for user in range(3000)]
    local = table(data)
    frame = spark.createDataFrame(local).repartition(5)
    same(frame, local, dpsel.Sips(), num_partitions=5)
    same(frame, local, dpsel.Steered(rounds=3), num_partitions=5)
    same(frame, local, dpsel.Sips(), num_partitions=5, counts=dpsel.Counts(max_counted_items=1))


@pytest.mark.slow
def test_one_user_of_ten_million_rows(spark) -> None:
    import numpy as np

    users, items = 20_000, 10_000_000
    owner = np.concatenate([np.zeros(items, np.int64), np.arange(users)])
    item = np.concatenate([np.arange(items), np.full(users, 5)])
    local = pa.table({"user": owner, "item": item})
    large = spark.range(items).selectExpr("0L as user", "id as item")
    frame = large.union(spark.range(users).selectExpr("id as user", "5L as item")).repartition(9)
    assert same(frame, local, dpsel.Sips()).num_rows == 1


@pytest.mark.slow
def test_very_many_tiny_partitions(spark) -> None:
    local = table(rows(400, 300))
    frame = spark.createDataFrame(local).repartition(2000)
    same(frame, local, dpsel.Sips())


def test_the_items_are_a_frame_of_spark(frame) -> None:
    found = dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips(), with_weights=True))
    assert found.items.toArrow().equals(released(found.to_local()).cast(found.items.toArrow().schema))
    assert found.items.count() == len(found)
    assert repr(found).startswith("<dpsel.spark.SparkRelease: ")


def test_fresh_keys_differ(frame) -> None:
    first, second = (
        dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips(), insecure_test_key=None))
        for _ in range(2)
    )
    assert first.report["key"]["commitment"] != second.report["key"]["commitment"]
    assert not first.report.is_insecure
    assert released(first.to_local()) != released(second.to_local())


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["imdb", "git_messages", "synthetic_pareto_zeta_50k"])
@pytest.mark.parametrize("partitions", [1, 3, 16])
@pytest.mark.parametrize("mechanism", PARALLEL, ids=repr)
def test_real_data(spark, shared_data, name, partitions, mechanism) -> None:
    from pyspark.sql import functions as f

    path = str(shared_data / f"{name}.parquet")
    frame = spark.read.parquet(path).select("user", "item")
    shuffled = frame.repartition(partitions, f.xxhash64("item", "user"))
    limit = 1 if isinstance(mechanism, dpsel.OneItem) else 100
    assert same(shuffled, path, mechanism, max_items_per_user=limit).num_rows > 100
