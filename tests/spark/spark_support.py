"""Data for the tests of dpsel.spark, and the comparison with the local engine."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa

import dpsel
import dpsel.spark
from support import KEY, released, report_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

PRIVACY = dpsel.ApproxDP(epsilon=2.0, delta=1e-4)

#: Every mechanism whose users may be weighed in any order.
PARALLEL = [
    dpsel.CountLaplace(),
    dpsel.CountGaussian(),
    dpsel.WeightedLaplace(),
    dpsel.WeightedGaussian(),
    dpsel.WeightedGaussian(release="curve"),
    dpsel.Sips(),
    dpsel.Sips(rounds=4, ratio=1.0),
    dpsel.Sips(ratio=0.2, release="curve"),
    dpsel.Steered(rounds=5),
    dpsel.Steered(rounds=3, reach=4),
    dpsel.OneItem(),
]


def rows(users: int = 1500, items: int = 3000, seed: int = 1) -> list[tuple[int, int]]:
    """Users with a few to many items, frequent and rare ones, some rows twice."""
    draw = random.Random(seed)
    made = [
        (user, int(items * draw.random() ** 4))
        for user in range(users)
        for _ in range(1 + int(draw.paretovariate(0.8)) % 60)
    ]
    return made + made[::7]


def table(data: list[tuple], *, names: tuple[str, ...] = ("user", "item")) -> pa.Table:
    return pa.table([pa.array(column) for column in zip(*data, strict=True)], names=list(names))


def arguments(mechanism: object, **more: object) -> dict:
    limit = 1 if isinstance(mechanism, dpsel.OneItem) else 12
    common = {"user": "user", "item": "item", "privacy": PRIVACY, "max_items_per_user": limit}
    return common | {"mechanism": mechanism, "insecure_test_key": KEY} | more


def same(frame: object, local: pa.Table, mechanism: object, **more: object) -> pa.Table:
    """Select in both ways; the items, their order and types, and the reports are equal."""
    given = arguments(mechanism, **more)
    number = given.pop("num_partitions", None)
    here = dpsel.select_partitions(local, **given)
    there = dpsel.spark.select_partitions(frame, num_partitions=number, **given)
    assert released(there.to_local()).equals(released(here))
    assert report_of(there) == report_of(here)
    assert there.to_local().report.to_json() == here.report.to_json()
    return released(here)


def same_top_k(frame: object, local: pa.Table, **given: object) -> object:
    """Pick in both ways; items, ranks, counts and reports are equal. Returns what the local engine picked."""
    given = {"user": "user", "item": "item", "k": 6, "insecure_test_key": KEY} | given
    number = given.pop("num_partitions", None)
    here = dpsel.select_top_k(local, **given)
    there = dpsel.spark.select_top_k(frame, num_partitions=number, **given)
    found = there.to_local()
    assert found.to_table().to_arrow().equals(here.to_table().to_arrow())
    assert report_of(there) == report_of(here)
    assert found.report.to_json() == here.report.to_json()
    return here


def changing_items(mark: Path) -> Callable[[Iterable], Iterator]:
    """A task for `mapInArrow` with other items when its rows are read again."""

    def changing(batches):
        import pyarrow as pa

        for batch in batches:
            second = mark.exists()
            items = pa.array([f"{item} {second}" for item in batch["item"].to_pylist()])
            yield pa.record_batch([batch["user"], items], ["user", "item"])
        mark.touch()

    return changing


def named_rows() -> pa.Table:
    """Users and items whose names can be looked for."""
    return table([(f"person number {user}", f"name of item {item}.") for user, item in rows(300, 250)])


def job_of(local: pa.Table, mechanism: object = None) -> object:
    """The job of a release of items and users of a table with numbers of users, under the test key."""
    from dpsel import _core
    from dpsel._request import selection_request

    given = arguments(mechanism or dpsel.Sips())
    request = selection_request(
        given["privacy"], given["max_items_per_user"], given["mechanism"], counts=dpsel.Counts()
    )
    return _core.ExchangeSelection(request.json, local.schema, test_key=KEY).job


def together(made: list) -> list:
    """What a shuffle does to the batches of tasks."""
    return pa.Table.from_batches(made).sort_by("bucket").to_batches()


def all_digests(local: pa.Table) -> list[bytes]:
    """The digests of all items of a table, from the tasks themselves."""
    from dpsel.spark import _tasks

    job = job_of(local)
    encoded = list(_tasks.Encode(None, local.schema, 4, False).work(job, local.to_batches()))
    counted = list(_tasks.Count(None, 4, False, None).work(job, together(encoded)))
    total = list(_tasks.Total(None, None).work(job, together(counted)))
    packed = b"".join(value for batch in total for value in batch["packed"].to_pylist())
    return [packed[start : start + 16] for start in range(0, len(packed), 24)]
