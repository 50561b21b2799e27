"""Pairs of Java: nothing is lost, doubled or mistaken for something else between tasks."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

from dpsel import _core
from dpsel.spark import _pairs

pytestmark = pytest.mark.spark


@dataclass
class Marking:
    """Gives each value on with a mark of its task, and one value to the driver. It can leave values out."""

    mark: bytes
    most: int = 1000

    def __call__(self, values):
        taken = list(values)
        yield from ((number, value + self.mark) for number, value in enumerate(taken[: self.most]))
        yield -1, bytes([len(taken)])


@pytest.fixture
def values(spark):
    """Twenty values in five tasks, some of them empty."""
    rows = [(7, bytes([number]) * (number % 5)) for number in range(20)]
    frame = spark.createDataFrame(rows, "partition int, packed binary").repartition(5)
    return _pairs.values(frame)


def expected(mark: bytes) -> list[bytes]:
    return sorted(bytes([number]) * (number % 5) + mark for number in range(20))


def test_values_of_users_and_for_the_driver_go_their_ways(values) -> None:
    with _pairs.kept(_pairs.made(values, Marking(b"x"))) as made:
        assert len(_pairs.collected(made)) == 5
        assert sorted(_pairs.of_users(made).collect()) == expected(b"x")
        again = _pairs.made(_pairs.of_users(made), Marking(b"y"))
        assert sorted(_pairs.of_users(again).collect()) == expected(b"xy")


def test_what_a_task_made_of_users_stays_together(values) -> None:
    """So a task that runs again, and puts users into other values, neither loses nor doubles one."""
    made = _pairs.made(values, Marking(b"x"))
    before = _pairs.of_users(made).glom().collect()
    after = _pairs.shuffled(made, 5).glom().collect()
    assert sorted(map(sorted, after)) == sorted(map(sorted, before))
    assert sum(map(len, after)) == 20
    for tasks in (1, 3):
        fewer = _pairs.shuffled(made, tasks).glom().collect()
        assert len(fewer) == tasks
        for together in before:
            assert sum(set(together) <= set(task) for task in fewer) == 1


@pytest.mark.parametrize("tasks", [1, 2, 3, 300, 5000])
def test_each_task_gets_what_one_task_made(spark, tasks) -> None:
    partitioner = spark.sparkContext._jvm.org.apache.spark.HashPartitioner(tasks)
    for number in {0, 1, 255, 256, 299, tasks - 1}:
        numbers = range(max(0, number - 20), min(tasks, number + 20))
        chosen = {partitioner.getPartition(_pairs._USERS + one) for one in numbers}
        assert len(chosen) == len(numbers)


def test_what_comes_to_the_driver_is_what_tables_bring(spark) -> None:
    frame = spark.createDataFrame([(0, b"ab"), (0, b""), (0, b"c" * 70_000)], "partition int, packed binary")
    made = _pairs.made(_pairs.values(frame.coalesce(1)), Sending())
    expected = _core.ExchangePacked([pa.record_batch([pa.array([b"ab", b"", b"c" * 70_000])], ["packed"])])
    assert len(_pairs.collected(made)) == len(expected) == 70_002
    assert _pairs.of_users(made).collect() == []


class Sending:
    """Gives all to the driver."""

    def __call__(self, values):
        return ((-1, value) for value in values)
