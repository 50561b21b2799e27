"""One user with very many items, and many users with one: bounded memory, and time that grows linearly."""

from __future__ import annotations

import json
import sys
import time

import pytest

import dpsel
from children import finish
from mechanisms import MECHANISMS
from support import select, table

MEASURED = """
    import json
    held = {held}
    ours = np.arange(held)
    rng = np.random.default_rng(1)
    others = pa.table({{"user": np.repeat(np.arange(1, 1001), 5), "item": np.tile(np.arange(5), 1000)}})
    heavy = pa.table({{"user": np.zeros(held, np.int64), "item": rng.permutation(ours)}})
    data = pa.concat_tables([others, heavy])
    before = begin()
    started = time.monotonic()
    release = dpsel.select_partitions(
        data, user="user", item="item", privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        max_items_per_user=100, mechanism=dpsel.{mechanism},
    )
    seconds = time.monotonic() - started
    after = resident("VmHWM")
    print(json.dumps([seconds, after - before, sorted(release.items["item"].to_pylist())]))
"""


def measured(held: int, mechanism: str, folder) -> tuple[float, float, list[int]]:
    return json.loads(finish(MEASURED.format(held=held, mechanism=mechanism), folder, timeout=600))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory has other units elsewhere")
@pytest.mark.parametrize("mechanism", ["Sips()", "PolicyGaussian()", "Steered()", "WeightedLaplace()"])
def test_ten_million_items_of_one_user(mechanism, tmp_path) -> None:
    small, _, _ = measured(2_500_000, mechanism, tmp_path)
    large, memory, items = measured(10_000_000, mechanism, tmp_path)
    assert items[:5] == [0, 1, 2, 3, 4]
    assert len(items) < 20
    # Four times the items: four times the time, and as much again for a machine that is busy.
    assert large < 8 * small + 1, (small, large)
    # The table of items takes some 40 bytes for each, the user's own list 8, and both double as they grow.
    assert memory < 200 * 10_000_000, memory


@pytest.mark.parametrize("case", MECHANISMS, ids=str)
def test_a_user_of_a_hundred_thousand_items(case) -> None:
    """Every mechanism, quickly: the user's items beyond the limit cost one look each."""
    rows = [(user, item) for user in range(300) for item in range(3)] + [(7, item) for item in range(100_000)]
    started = time.monotonic()
    release = select(
        table(rows),
        privacy=dpsel.ApproxDP(epsilon=3.0, delta=1e-6),
        max_items_per_user=5,
        mechanism=case.mechanism,
    )
    # Policies stop short of releasing an item for certain.
    assert len({0, 1, 2} & set(release.items["item"].to_pylist())) >= 2
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("case", MECHANISMS, ids=str)
def test_a_hundred_and_forty_thousand_users_of_one_item_each(case) -> None:
    """More users than numbers of 16 bits tell apart, most of whom share their item with one other user."""
    popular = [(user, user % 3) for user in range(6_000)]
    pairs = [(user, 10 + user // 2) for user in range(6_000, 140_000)]
    started = time.monotonic()
    release = select(
        table(popular + pairs),
        privacy=dpsel.ApproxDP(epsilon=3.0, delta=1e-6),
        max_items_per_user=1,
        mechanism=case.mechanism,
    )
    assert len({0, 1, 2} & set(release.items["item"].to_pylist())) >= 2
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("limit", [1 << 20, 16 << 20])
def test_a_memory_limit_ends_the_job_and_not_the_process(limit) -> None:
    data = table([(7, item) for item in range(1_000_000)])
    with pytest.raises(dpsel.exceptions.MemoryLimitError, match="memory_limit"):
        select(data, privacy=dpsel.ZCDP(rho=1.0, delta=1e-6), max_items_per_user=5, memory_limit=limit)
