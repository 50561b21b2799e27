"""Pairs of Java: nothing is lost, doubled or mistaken for something else between tasks."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest
from pyspark import RDD

from dpsel import _core
from dpsel.exceptions import InternalError
from dpsel.spark import _pairs

pytestmark = pytest.mark.spark


@dataclass
class Marking:
    """Gives each value on with a mark, and one value to the driver."""

    mark: bytes

    def __call__(self, values):
        taken = list(values)
        yield from ((number, value + self.mark) for number, value in enumerate(taken))
        yield -1, bytes([len(taken)])


@pytest.fixture
def values(spark):
    """Twenty values in five tasks, some of them empty."""
    rows = [(7, bytes([number]) * (number % 5)) for number in range(20)]
    frame = spark.createDataFrame(rows, "partition int, packed binary").repartition(5)
    return _pairs.values(frame)


def expected(mark: bytes) -> list[bytes]:
    return sorted(bytes([number]) * (number % 5) + mark for number in range(20))


def test_values_of_users_and_for_the_driver_go_their_ways(spark, values) -> None:
    with _pairs.persisted(_pairs.made(values, Marking(b"x"), spark)) as made:
        assert len(_pairs.sent(made, range(5))) == len(_pairs.sent(made, range(9))) == 5
        assert [len(_pairs.sent(made, tasks)) for tasks in (range(2), range(2, 5), range(4, 7))] == [2, 3, 1]
        assert sorted(_pairs.of_users(made).collect()) == expected(b"x")
        again = _pairs.made(_pairs.of_users(made), Marking(b"y"), spark)
        assert sorted(_pairs.of_users(again).collect()) == expected(b"xy")


def test_what_a_task_made_of_users_stays_together(spark, values) -> None:
    """So a task that runs again, and puts users into other values, neither loses nor doubles one."""
    made = _pairs.made(values, Marking(b"x"), spark)
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
    frame = spark.createDataFrame([(0, b"ab"), (0, b"c" * 70_000)], "partition int, packed binary")
    made = _pairs.made(_pairs.values(frame.coalesce(1)), Sending(), spark)
    expected = _core.ExchangePacked([pa.record_batch([pa.array([b"ab", b"c" * 70_000])], ["packed"])])
    assert len(_pairs.sent(made, range(5))) == len(expected) == 70_002
    assert _pairs.of_users(made).collect() == []


@pytest.mark.parametrize("lost", [1, 2, 7])
def test_values_that_do_not_arrive_are_an_error(spark, values, monkeypatch, lost) -> None:
    """PySpark takes a stream that breaks off for one that has ended."""
    made = _pairs.made(values, Marking(b"x"), spark)
    plain = RDD.collect
    monkeypatch.setattr(RDD, "collect", lambda self: plain(self)[:-lost])
    with pytest.raises(InternalError, match="did not arrive") as caught:
        _pairs.sent(made, range(5))
    trace = caught.tb.tb_next
    shown = repr(trace.tb_frame.f_locals)
    assert "_Sent" in shown
    assert "b'" not in shown


class Sending:
    """Gives all to the driver."""

    def __call__(self, values):
        return ((-1, value) for value in values)
