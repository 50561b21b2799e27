"""Known bug: rows are counted instead of users, so a user who repeats an item is many users."""

from __future__ import annotations

import dpsel
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from strategies import keys, rows
from support import released, select, table, units_of

LOOSE = dpsel.ApproxDP(epsilon=2.0, delta=0.5)


@given(rows=rows(), key=keys, times=st.integers(2, 50))
def test_repeating_every_row_changes_nothing(case, rows, key, times) -> None:
    arguments = {
        "privacy": LOOSE,
        "max_items_per_user": 3,
        "mechanism": case.mechanism,
        "with_weights": True,
        "key": key,
    }
    once, often = (select(table(r), **arguments) for r in (rows, rows * times))
    assert released(once).equals(released(often))


def test_duplicates_far_apart_and_across_chunks(case) -> None:
    rows = [(u, i) for u in range(40) for i in range(9)]
    many = pa.concat_tables([table(rows), table(rows[::-1]), table(rows[::3]), table(rows)])
    arguments = {
        "privacy": LOOSE,
        "max_items_per_user": 4,
        "mechanism": case.mechanism,
        "with_weights": True,
        "threads": 4,
    }
    assert units_of(select(many, **arguments)) == units_of(select(table(rows), **arguments))
