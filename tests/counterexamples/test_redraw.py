"""Known attack: a result that is evaluated again draws again; several draws are averaged or united."""

from __future__ import annotations

import copy
import pickle

import pyarrow as pa

import dpsel
from support import items_of, released, select, table
from weak import WEAK

pytestmark = WEAK

ROWS = [(u, i) for u in range(120) for i in range(12) if u >= 10 * i]


def release(case):
    return select(
        table(ROWS),
        privacy=dpsel.ApproxDP(epsilon=2.0, delta=0.1),
        max_items_per_user=12,
        mechanism=case.mechanism,
        with_weights=True,
        key=None,
    )


def test_every_look_at_a_result_is_the_same(case) -> None:
    result = release(case)
    first = released(result)
    assert first.num_rows
    for _ in range(5):
        assert pa.table(result).equals(first)
        assert pa.table(result.items).equals(first)
    for copied in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert released(copied).equals(first)
        assert copied.report.to_json() == result.report.to_json()
    text = repr(result)
    assert repr(result) == text


def test_the_result_is_detached_from_the_data(case) -> None:
    """Eager and final: a source that changes afterwards changes nothing."""
    data = {"user": [u for u, _ in ROWS], "item": [i for _, i in ROWS]}
    import pandas as pd

    frame = pd.DataFrame(data)
    result = select(
        frame, privacy=dpsel.ApproxDP(epsilon=2.0, delta=0.1), max_items_per_user=12, mechanism=case.mechanism
    )
    before = items_of(result)
    frame["item"] = -1
    assert items_of(result) == before


def test_a_generator_is_read_once(case) -> None:
    reads = 0

    def pairs():
        nonlocal reads
        reads += 1
        yield from ROWS

    select(
        pairs(),
        privacy=dpsel.ApproxDP(epsilon=2.0, delta=0.1),
        max_items_per_user=5,
        mechanism=case.mechanism,
    )
    assert reads == 1
