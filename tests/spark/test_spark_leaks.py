"""The release key stays in functions; what Spark logs and writes holds digests until items are released."""

from __future__ import annotations

import base64

import pytest
from spark_support import arguments, rows, table

import dpsel
import dpsel.spark
from dpsel.spark import _dataflow
from support import KEY

pytestmark = pytest.mark.spark


def spellings(secret: bytes) -> list[bytes]:
    """A secret as it is, in hexadecimal, and in base 64 at each of the three places where it may start."""
    coded = [base64.b64encode(b"\0" * lead + secret)[4 * (lead > 0) :][:36] for lead in range(3)]
    return [secret, secret.hex().encode(), repr(secret).encode(), *coded]


@pytest.mark.parametrize("most", [_dataflow.BROADCAST_ITEMS, 0], ids=["listed", "joined"])
def test_neither_key_nor_names_are_in_the_event_log(spark, events, monkeypatch, most) -> None:
    monkeypatch.setattr(_dataflow, "BROADCAST_ITEMS", most)
    data = [(user, f"name of item {item}") for user, item in rows(300, 40)]
    found = dpsel.spark.select_partitions(spark.createDataFrame(table(data)), **arguments(dpsel.Sips()))
    assert len(found) > 0
    logged = b"".join(path.read_bytes() for path in events.rglob("*") if path.is_file())
    assert b"MapInArrow" in logged
    assert b"SparkListenerSQLExecutionStart" in logged
    assert not [spelling for spelling in spellings(KEY) if spelling in logged]
    assert b"name of item" not in logged


def test_functions_show_no_key() -> None:
    import pyarrow as pa

    from dpsel import _core
    from dpsel._request import request_json
    from dpsel.spark import _tasks

    given = arguments(dpsel.Sips())
    request = request_json(given["privacy"], given["max_items_per_user"], given["mechanism"])
    schema = pa.schema([("user", pa.int64()), ("item", pa.int64())])
    plan = _core.ClusterSelection(request, schema, test_key=KEY).plan
    for shown in (
        plan,
        _tasks.Encode(plan, ("user", "item"), 3, True),
        _tasks.Settle(plan, 3, b"abc"),
        _tasks.Weigh(plan, 3, 0, b"abc"),
        _tasks.Sift(plan, 3, b"abc"),
        _tasks.Name(plan, ("item",), b"abc"),
    ):
        text = f"{shown!r} {shown}".encode()
        assert not [spelling for spelling in spellings(KEY) if spelling in text]


def test_what_stages_pass_on_holds_no_names() -> None:
    """What Spark shuffles, spills and keeps is what tasks return."""
    import itertools
    import pickle

    import pyarrow as pa

    from dpsel import _core
    from dpsel._request import request_json
    from dpsel.spark import _tasks

    given = arguments(dpsel.Sips())
    request = request_json(given["privacy"], given["max_items_per_user"], given["mechanism"])
    local = table([(f"person {user}", f"name {item}") for user, item in rows(300, 40)])
    plan = pickle.loads(pickle.dumps(_core.ClusterSelection(request, local.schema, test_key=KEY).plan))

    def together(made: list) -> list:
        return pa.Table.from_batches(made).sort_by("route").to_batches()

    everything = together(list(_tasks.Encode(plan, tuple(local.column_names), 4, True)(local.to_batches())))
    marks, encoded = (
        [batch.filter(pa.compute.less(batch["route"], 0)) for batch in everything],
        [batch.filter(pa.compute.greater_equal(batch["route"], 0)) for batch in everything],
    )
    crowds = list(_tasks.Crowds(plan, plan.few)(marks))
    settled = list(_tasks.Settle(plan, plan.few, crowds[0]["packed"][0].as_py())(encoded))
    weighed = list(_tasks.Weigh(plan, 4, 0, b"")(settled))
    decided = list(_tasks.Decide(plan, 0)(together(weighed)))
    released = b"".join(packed for batch in decided for packed in batch["packed"].to_pylist())
    sieve = plan.known(released, 1)
    assert b"name " not in sieve
    sifted = list(_tasks.Sift(plan, 4, sieve)(encoded))
    scattered = list(map(pa.record_batch, plan.scatter(4, released)))
    mistaken = list(_tasks.Mistaken(plan)(together(sifted + scattered)))
    stages = [everything, crowds, settled, weighed, decided, sifted, scattered, mistaken]
    assert all(stages)
    for batch in itertools.chain(*stages):
        for packed in batch["packed"].to_pylist():
            assert b"name " not in packed
            assert b"person " not in packed
            assert not [spelling for spelling in spellings(KEY) if spelling in packed]
