"""Nodes of a tree on Spark: the same release as on one machine, bit for bit."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from spark_support import PARALLEL, arguments, same, table

import dpsel
import dpsel.spark
from dpsel.exceptions import DataError, InvalidParameterError
from dpsel.spark import _dataflow

pytestmark = pytest.mark.spark

COLUMNS = ["country", "region", "city"]


def nodes(users: int = 700, seed: int = 1) -> list[tuple]:
    """Users with nodes of every level, frequent and rare ones, and some below nodes that they alone have."""
    draw = random.Random(seed)
    made = []
    for user in range(users):
        for _ in range(1 + int(draw.paretovariate(0.9)) % 40):
            country, region = f"country {int(9 * draw.random() ** 3)}", int(12 * draw.random() ** 2)
            made.append((user, country, region, f"city {int(25 * draw.random() ** 2)}"))
            made.append((user, country, region if draw.random() < 0.5 else None, None))
        if user % 3 == 0:
            made += [(user, f"alone {user}", part, f"city {city}") for part in range(2) for city in range(2)]
    return made + made[::5]


def path(node: tuple) -> str:
    return "/".join(str(part) for part in node if part is not None)


@pytest.fixture(scope="module")
def columns():
    return table(nodes(), names=("user", *COLUMNS))


@pytest.fixture(scope="module")
def paths():
    return table([(user, path(node)) for user, *node in nodes()])


@pytest.fixture(scope="module")
def column_frame(spark, columns):
    return spark.createDataFrame(columns).repartition(3).persist()


@pytest.fixture(scope="module")
def path_frame(spark, paths):
    return spark.createDataFrame(paths).repartition(3).persist()


TREE = {"item": COLUMNS, "levels": True}


@pytest.mark.parametrize("mechanism", [*PARALLEL, "auto"], ids=repr)
def test_every_parallel_mechanism(path_frame, paths, mechanism) -> None:
    found = same(path_frame, paths, mechanism, levels="/")
    assert found.column_names == ["item", "level"]
    assert found.num_rows > 2
    every = set(found["item"].to_pylist())
    assert all(node.rpartition("/")[0] in every for node in every if "/" in node)


@pytest.mark.parametrize("limit", [2, 15, 200])
@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(rounds=12)], ids=repr)
def test_levels_of_columns(column_frame, columns, mechanism, limit) -> None:
    found = same(column_frame, columns, mechanism, max_items_per_user=limit, **TREE)
    assert found.column_names == [*COLUMNS, "level"]
    assert set(found["level"].to_pylist()) >= {1, 2}


LISTS = {
    "exclude": [("country 0", 1, None), ("country 2", None, None), ("nowhere", None, None)],
    "public_items": [("country 1", 3, "city 0"), ("country 7", None, None), ("elsewhere", 5, None)],
}


@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(rounds=5)], ids=repr)
@pytest.mark.parametrize(
    "given",
    [
        LISTS,
        {"exclude": LISTS["exclude"], "counts": 0.2, "rest": 0.1},
        {"public_items": LISTS["public_items"]},
        {"counts": 0.3, "rest": 0.1, **LISTS},
        {"max_items_per_user": dpsel.Quantile(0.8, most=40), **LISTS},
        {"rest": 0.1, "privacy": dpsel.ZCDP(rho=0.5, delta=1e-4)},
    ],
    ids=str,
)
def test_options(column_frame, columns, mechanism, given) -> None:
    assert same(column_frame, columns, mechanism, **TREE, **given).num_rows > 3


def test_the_least_number_of_users(column_frame, columns) -> None:
    assert same(column_frame, columns, dpsel.CountGaussian(), min_users=30, **TREE).num_rows > 2


@pytest.mark.parametrize("mechanism", [dpsel.Sips(), dpsel.Steered(rounds=5)], ids=repr)
def test_released_nodes_may_be_joined(column_frame, columns, monkeypatch, mechanism) -> None:
    """A filter with many false positives, also for nodes that an excluded one took out."""
    monkeypatch.setattr(_dataflow, "BROADCAST_ITEMS", 2)
    monkeypatch.setattr(_dataflow, "FILTER_BITS", 2)
    same(column_frame, columns, mechanism, counts=0.3, **TREE, **LISTS)


@pytest.mark.parametrize("size", [1, 3])
def test_sums_and_lines_come_to_the_driver_group_by_group(path_frame, paths, monkeypatch, size) -> None:
    monkeypatch.setattr(_dataflow, "BLOCK_TASK_ROWS", 500)
    groups = lambda _session, _counts, tasks, _instead, **_of_nodes: [  # noqa: E731
        range(first, min(first + size, tasks)) for first in range(0, tasks, size)
    ]
    monkeypatch.setattr(_dataflow, "groups", groups)
    same(path_frame, paths, dpsel.Steered(rounds=8), num_partitions=40, levels="/", counts=0.2)


@pytest.mark.parametrize(("partitions", "number"), [(1, 64), (3, 1), (16, 7)])
def test_partitions_do_not_matter(spark, paths, partitions, number) -> None:
    from pyspark.sql import functions as f

    shuffled = spark.createDataFrame(paths).orderBy(f.xxhash64("item", "user")).repartition(partitions)
    same(shuffled, paths, dpsel.Steered(rounds=5), num_partitions=number, levels="/")


def test_no_rows_and_users_who_share_nothing(spark, paths) -> None:
    nothing = spark.createDataFrame(paths).where("user < 0")
    assert same(nothing, paths.slice(0, 0), dpsel.Steered(), levels="/", counts=0.2).num_rows == 0
    alone = table([(user, f"{user}/x/y") for user in range(900)])
    given = {"privacy": dpsel.ApproxDP(epsilon=9.0, delta=0.3), "levels": "/"}
    frame = spark.createDataFrame(alone).repartition(3)
    assert same(frame, alone, dpsel.Steered(rounds=4), **given).num_rows > 5


@pytest.mark.parametrize("bad", ["", "/no", "no//oslo", "/".join("a" * 33)])
def test_bad_paths_are_refused_without_their_text(spark, bad) -> None:
    frame = spark.createDataFrame(table([(1, "fine"), (2, bad)]))
    with pytest.raises(DataError, match=r"empty part|32 levels") as caught:
        dpsel.spark.select_partitions(frame, **arguments(dpsel.Steered(), levels="/"))
    assert "oslo" not in str(caught.value)


def test_a_value_below_a_null_is_refused_with_the_columns_alone(spark, columns) -> None:
    rows = [*zip(*(columns[name].to_pylist() for name in columns.column_names), strict=True)][:50]
    local = table([*rows, (7, "secret", None, "city 1")], names=("user", *COLUMNS))
    words = "a value in item column 'city' and a null in 'region'"
    with pytest.raises(DataError, match=words) as caught:
        dpsel.spark.select_partitions(spark.createDataFrame(local), **arguments(dpsel.Sips(), **TREE))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"levels": True}, "levels=True needs several item columns"),
        ({"levels": ""}, "separates nothing"),
        ({"levels": "/", "ngrams": (1, 2)}, "leave one out"),
        ({"levels": "/", "with_weights": True}, "a node that comes out with one below it has none"),
        ({"levels": "/", "rest": dpsel.Rest(0.1, max_rows_per_user=3)}, "would not be a number of rows"),
        ({"levels": "/", "mechanism": dpsel.Mad()}, "Spark does not run Mad"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_before_anything_is_spent(path_frame, wrong, message) -> None:
    budget = dpsel.Budget(dpsel.ApproxDP(epsilon=9.0, delta=1e-3))
    given = {"privacy": budget.on_use(dpsel.ApproxDP(epsilon=1.0, delta=1e-6)), "insecure_test_key": None}
    with pytest.raises(InvalidParameterError, match=message):
        dpsel.spark.select_partitions(path_frame, **arguments(dpsel.Sips(), **given) | wrong)
    assert budget.spent == ()


def test_rolling_up_gives_rows_their_lowest_released_node(column_frame, columns) -> None:
    found = dpsel.spark.select_partitions(column_frame, **arguments(dpsel.Steered(rounds=5), **TREE))
    expected = found.to_local().filter(columns, roll_up=True)
    rolled = found.filter(column_frame, roll_up=True)
    order = [(name, "ascending") for name in columns.column_names]
    assert rolled.toArrow().cast(expected.schema).sort_by(order).equals(expected.sort_by(order))
    assert 0 < expected.num_rows < columns.num_rows
    assert found.filter(columns, roll_up=True).equals(expected)


def test_rolling_up_puts_nulls_into_columns_that_had_none(spark) -> None:
    rows = [(user, "no", user) for user in range(400)]
    frame = spark.createDataFrame(rows, "user long not null, country string not null, city long not null")
    found = dpsel.spark.select_partitions(
        frame, **arguments(dpsel.Steered(), item=["country", "city"], levels=True)
    )
    assert found.to_local().to_pylist() == [("no", None, 1)]
    rolled = pa.table(found.filter(frame, roll_up=True).toArrow())
    assert rolled["city"].null_count == rolled.num_rows == 400
