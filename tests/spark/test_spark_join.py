"""Releases that are joined instead of broadcast: the same, with filters that mistake many items."""

from __future__ import annotations

import pytest
import test_spark_top_k
from spark_support import arguments, rows, same, table

import dpsel
import dpsel.spark
from dpsel.exceptions import DataError
from dpsel.spark import _dataflow
from support import released

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def local():
    return table(rows())


@pytest.fixture(scope="module")
def frame(spark, local):
    return spark.createDataFrame(local).repartition(3).persist()


@pytest.fixture
def joins(monkeypatch):
    """Join everything, with a filter of one bit for each item; what was asked for, and whether it was joined."""
    asked: list[tuple[int, bool]] = []

    def known(flow, contributions, decided):
        told = plain(flow, contributions, decided)
        mistaken = len(told) - len(flow._plan.known(decided, _dataflow.FILTER_BITS))
        joined = bool(decided) and told[0] == 1
        asked.append((len(decided) // 24, joined))
        # Many others pass a filter of one bit.
        assert not joined or mistaken >= 16
        return told

    plain = _dataflow.Dataflow.known
    monkeypatch.setattr(_dataflow, "BROADCAST_ITEMS", 0)
    monkeypatch.setattr(_dataflow, "FILTER_BITS", 1)
    monkeypatch.setattr(_dataflow.Dataflow, "known", known)
    return asked


@pytest.mark.parametrize(
    ("mechanism", "routes", "more"),
    [
        pytest.param(dpsel.Sips(), 64, {"with_weights": True}, id="noise"),
        pytest.param(dpsel.Sips(ratio=0.2, release="curve"), 1, {}, id="curve"),
        pytest.param(dpsel.Steered(rounds=4), 7, {}, id="steered"),
    ],
)
def test_every_round_is_joined(frame, local, joins, mechanism, routes, more) -> None:
    found = same(frame, local, mechanism, routes=routes, **more)
    rounds = 3 if isinstance(mechanism, dpsel.Sips) else 1
    assert [joined for _, joined in joins] == [False] * (rounds > 1) + [True] * rounds
    assert joins[-1][0] == found.num_rows


def test_a_round_that_is_broadcast_before_one_that_is_joined(frame, local, joins, monkeypatch) -> None:
    monkeypatch.setattr(_dataflow, "BROADCAST_ITEMS", 60)
    same(frame, local, dpsel.Sips())
    assert [joined for _, joined in joins] == [False, False, True, True]
    assert joins[1][0] > 0
