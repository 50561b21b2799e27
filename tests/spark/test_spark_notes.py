"""On Spark too, whatever ends a call behind its payment says that the cost stays spent."""

from __future__ import annotations

import signal
import threading

import pytest
from spark_support import arguments

import dpsel
import dpsel.spark
from dpsel.exceptions import STAYS_SPENT, DataError

pytestmark = pytest.mark.spark
PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
TOTAL = dpsel.ApproxDP(epsilon=9.0, delta=1e-3)


def select(frame, paid):
    given = arguments(dpsel.Sips(), privacy=paid, insecure_test_key=None)
    return dpsel.spark.select_partitions(frame, **given)


def top_k(frame, paid):
    return dpsel.spark.select_top_k(frame, user="user", item="item", k=1, privacy=paid)


@pytest.mark.parametrize("call", [select, top_k])
def test_a_row_that_is_refused_says_so(spark, call) -> None:
    frame = spark.range(300).selectExpr("nullif(id, 7) as user", "'tea' as item")
    budget = dpsel.Budget(TOTAL)
    with pytest.raises(DataError) as caught:
        call(frame, budget.on_use(PRIVACY))
    assert len(budget.spent) == 1
    assert STAYS_SPENT in caught.value.__notes__


@pytest.mark.parametrize("call", [select, top_k])
def test_a_failure_of_a_job_says_so(spark, call) -> None:
    frame = spark.range(300).selectExpr("id as user", "if(id = 7, raise_error('a row'), 'tea') as item")
    budget = dpsel.Budget(TOTAL)
    with pytest.raises(dpsel.DpselError) as caught:
        call(frame, budget.on_use(PRIVACY))
    assert len(budget.spent) == 1
    assert STAYS_SPENT in caught.value.__notes__


def test_an_interrupt_says_so(spark) -> None:
    frame = spark.range(20_000_000).selectExpr("id % 300 as user", "cast(id as string) as item")
    budget = dpsel.Budget(TOTAL)
    paid, timer = budget.on_use(PRIVACY), threading.Timer(2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        select(frame, paid)
    timer.join()
    assert len(budget.spent) == 1
    assert STAYS_SPENT in caught.value.__notes__


def test_what_is_refused_before_says_nothing(spark) -> None:
    frame = spark.range(300).selectExpr("id as user", "'tea' as item")
    budget = dpsel.Budget(TOTAL)
    with pytest.raises(dpsel.DpselError) as caught:
        select(frame.drop("item"), budget.on_use(PRIVACY))
    assert budget.spent == ()
    assert not getattr(caught.value, "__notes__", [])
