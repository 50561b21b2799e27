"""How many sums the driver of Spark takes together, and what errors say. This needs no Spark."""

from __future__ import annotations

import traceback

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel import _core
from dpsel.exceptions import MemoryLimitError
from dpsel.spark import _driver
from dpsel.spark._errors import own_errors


def counts_of(users: list[int]) -> _core.ExchangePacked:
    """The packed user counts of items, of which the n-th is held by so many users."""
    packed = b"".join(item.to_bytes(4, "little") + bytes([number]) for item, number in enumerate(users))
    return _core.ExchangePacked([pa.record_batch([pa.array([packed])], ["packed"])])


def groups(users: list[int], tasks: int, limit: str, sums: int = 8_000_000) -> list[range]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_driver, "settings", lambda _session: lambda _name: limit)
        patch.setattr(_driver, "DRIVER_SUMS", sums)
        return _driver.groups(None, counts_of(users), tasks, ", or do less")


@given(
    st.lists(st.integers(2, 100), max_size=20), st.integers(1, 70), st.integers(1, 400), st.integers(1, 400)
)
def test_each_task_sends_once_and_no_group_more_than_the_driver_takes(users, tasks, sums, limit) -> None:
    if len(users) > limit:
        with pytest.raises(MemoryLimitError):
            groups(users, tasks, str(26 * limit), sums)
        return
    divided = groups(users, tasks, str(26 * limit), sums)
    assert [task for group in divided for task in group] == list(range(tasks))
    for group in divided:
        sent = sum(min(number, len(group)) for number in users)
        assert sent <= min(sums, limit) or len(group) == 1


def test_few_sums_come_together() -> None:
    assert groups([100] * 20, 64, "1g") == [range(64)]
    assert groups([], 64, "") == [range(64)]


@pytest.mark.parametrize(("of_nodes", "most"), [(False, 10), (True, 7)])
def test_nodes_of_a_tree_come_with_those_above_them(monkeypatch, of_nodes, most) -> None:
    monkeypatch.setattr(_driver, "settings", lambda _session: lambda _name: "260")
    for users in ([2] * most, [2] * (most + 1)):
        ask = lambda users=users: _driver.groups(None, counts_of(users), 1, "", of_nodes=of_nodes)  # noqa: E731
        if len(users) == most:
            assert ask() == [range(1)]
        else:
            with pytest.raises(MemoryLimitError):
                ask()


@pytest.mark.parametrize(
    ("limit", "most"),
    [("260", 10), ("260b", 10), ("1k", 39), (" 1KB", 39), ("0", 200), ("", 200), ("1t", 200)],
)
def test_limits_are_read_as_spark_reads_them(limit, most) -> None:
    """Nothing is no limit, and without a setting it is a gibibyte."""
    assert len(groups([2] * min(most, 120), 3, limit)) <= 3
    if most < 200:
        with pytest.raises(MemoryLimitError):
            groups([2] * (most + 1), 3, limit)


def test_the_refusal_names_what_helps_and_no_count() -> None:
    with pytest.raises(MemoryLimitError) as caught:
        groups([7] * 100, 3, "26")
    assert str(caught.value) == (
        "the sums of a round may exceed spark.driver.maxResultSize, as there are too many items of several "
        "users; start Spark with --conf spark.driver.maxResultSize=1g and a driver of twice as much memory, "
        "or do less"
    )


def test_an_interrupt_has_no_frames_of_what_tasks_sent() -> None:
    @own_errors
    def run() -> None:
        sent = "exact counts"
        raise KeyboardInterrupt(sent)

    with pytest.raises(KeyboardInterrupt) as found:
        run()
    assert (found.value.args, found.value.__context__) == ((), None)
    assert [frame.name for frame in traceback.extract_tb(found.tb)][1:] == ["guarded"]


def test_too_many_bytes_for_the_driver_name_the_setting() -> None:
    """Spark says so in the text of an exception."""

    @own_errors
    def run() -> None:
        raise RuntimeError(
            "Total size of serialized results of 2 tasks is bigger than spark.driver.maxResultSize (1 KiB)"
        )

    with pytest.raises(
        MemoryLimitError, match=r"exceeds spark\.driver\.maxResultSize; start Spark with a larger one"
    ) as found:
        run()
    assert found.value.__context__ is None
