"""Releases that are joined instead of broadcast: the same, with filters with many false positives."""

from __future__ import annotations

import pytest
from spark_support import arguments, changing_items, rows, same, same_top_k, table

import dpsel
import dpsel.spark
from dpsel.exceptions import DataError
from dpsel.spark import _dataflow

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def local():
    return table([(user, f"item {item}") for user, item in rows()])


@pytest.fixture(scope="module")
def frame(spark, local):
    return spark.createDataFrame(local).repartition(3).persist()


@pytest.fixture
def joins(monkeypatch):
    """Join everything, with a filter of one bit for each item.

    Returns what was asked for: the number of items, and of false positives (`None` where items are listed).
    """
    asked: list[tuple[int, int | None]] = []

    def released_set(flow, contributions, decided):
        told = plain(flow, contributions, decided)
        bloom = flow._job.released_set(decided, _dataflow.FILTER_BITS)
        # A list is a byte longer than the decisions.
        joined = bool(decided) and len(told) != 1 + len(decided)
        asked.append((len(decided) // 24, (len(told) - len(bloom)) // 16 if joined else None))
        return told

    plain = _dataflow.Dataflow.released_set
    monkeypatch.setattr(_dataflow, "BROADCAST_ITEMS", 0)
    monkeypatch.setattr(_dataflow, "FILTER_BITS", 1)
    monkeypatch.setattr(_dataflow.Dataflow, "released_set", released_set)
    return asked


@pytest.fixture
def forgotten(monkeypatch):
    """Filters of one bit for each item, whose false positives are forgotten."""
    monkeypatch.setattr(
        _dataflow.Dataflow,
        "released_set",
        lambda flow, _contributions, decided: flow._job.released_set(decided, 1),
    )


@pytest.mark.parametrize(
    ("mechanism", "number", "more"),
    [
        pytest.param(dpsel.Sips(), 64, {"with_weights": True}, id="noise"),
        pytest.param(dpsel.Sips(ratio=0.2, release="curve"), 1, {}, id="curve"),
        pytest.param(dpsel.Steered(rounds=4), 7, {}, id="steered"),
    ],
)
def test_every_round_is_joined(frame, local, joins, mechanism, number, more) -> None:
    found = same(frame, local, mechanism, num_partitions=number, **more)
    rounds = 3 if isinstance(mechanism, dpsel.Sips) else 1
    assert len(joins) == rounds
    assert all(passed > 500 for _, passed in joins)
    assert joins[-1][0] == found.num_rows


@pytest.mark.parametrize("kind", ["texts", "integers"])
def test_numbers_of_joined_items(spark, frame, local, joins, kind) -> None:
    """One join serves numbers and names. Integers need no names, and are joined for their numbers."""
    if kind == "integers":
        local = table(rows())
        frame = spark.createDataFrame(local)
    found = same(frame, local, dpsel.WeightedGaussian(), counts=dpsel.Counts(max_counted_items=2))
    ((items, passed),) = joins
    assert items == found.num_rows
    assert passed > 100


@pytest.mark.usefixtures("forgotten")
def test_items_that_were_not_released_are_not_counted(spark) -> None:
    """There is no release: users would count less."""
    frame = spark.createDataFrame(table(rows(600, 300)))
    with pytest.raises(DataError, match="rows changed between the two; write the table out first"):
        dpsel.spark.select_partitions(frame, **arguments(dpsel.WeightedGaussian(), counts=0.2))


def test_a_round_that_is_broadcast_before_one_that_is_joined(frame, local, joins, monkeypatch) -> None:
    monkeypatch.setattr(_dataflow, "BROADCAST_ITEMS", 7)
    same(frame, local, dpsel.Sips())
    assert [passed is None for _, passed in joins] == [True, False, False]
    assert joins[0][0] > 0


def test_names_of_several_columns(spark, joins) -> None:
    data = [(user, item % 7, None if item == 3 else f"city {item % 9}") for user, item in rows(400, 60)]
    local = table(data, names=("user", "number", "city"))
    frame = spark.createDataFrame(local).repartition(4)
    found = same(frame, local, dpsel.WeightedGaussian(), item=["city", "number"], max_items_per_user=40)
    assert joins[0][0] == found.num_rows
    assert joins[0][1] > 0


def test_names_of_elements_of_lists(spark, joins) -> None:
    local = table([(user, [f"{item}", f"{item + 1}", None]) for user, item in rows(400, 300)])
    found = same(spark.createDataFrame(local).repartition(4), local, dpsel.WeightedGaussian())
    assert joins[0][0] == found.num_rows
    assert joins[0][1] > 0


def test_top_k_of_joined_items(spark, joins) -> None:
    """Items that were discovered, and items of a public list."""
    local = table([(user, f"item {item}") for user, item in rows(600, 300)])
    frame = spark.createDataFrame(local).repartition(3)
    delta = dpsel.ApproxDP(epsilon=2.0, delta=1e-4)
    assert len(same_top_k(frame, local, privacy=delta, max_items_per_user=9)) > 0
    assert [passed is None for _, passed in joins] == [False, False, False]
    domain = [f"item {number}" for number in range(0, 340, 2)]
    same_top_k(frame, local, privacy=dpsel.PureDP(epsilon=3.0), domain=domain)
    ((listed, passed),) = joins[3:]
    assert listed == 170
    assert passed > 10


@pytest.mark.usefixtures("forgotten")
def test_items_that_were_not_discovered_are_not_drawn(spark) -> None:
    """Nothing is drawn at all, and no count is shown."""
    frame = spark.createDataFrame(table(rows(600, 300)))
    given = {"user": "user", "item": "item", "k": 6, "max_items_per_user": 9}
    error = "other items were counted than discovered, so rows of the table"
    with pytest.raises(DataError, match=error) as caught:
        dpsel.spark.select_top_k(frame, privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-4), **given)
    (variables,) = [entry.frame.f_locals for entry in caught.traceback if entry.name == "_counted"]
    assert len(variables["counts"]) > len(variables["found"]) > 0
    assert not [name for name, value in variables.items() if isinstance(value, bytes)]


def test_nothing_released(spark, joins) -> None:
    local = table([(user, f"{user}") for user in range(100)])
    assert same(spark.createDataFrame(local), local, dpsel.Sips()).num_rows == 0
    assert joins == [(0, None)] * 3


def test_a_table_that_changes_between_reads(spark, joins, tmp_path) -> None:
    """New items may pass the filter."""
    data = [(user, item) for user in range(500) for item in range(3)]
    frame = spark.createDataFrame(table(data)).coalesce(1)
    frame = frame.mapInArrow(changing_items(tmp_path / "read"), "user long, item string")
    with pytest.raises(DataError, match="rows changed between the two; write the table out first"):
        dpsel.spark.select_partitions(frame, **arguments(dpsel.WeightedGaussian()))
    assert [items for items, _ in joins] == [3]
