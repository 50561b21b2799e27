"""What is read of a table of released items is what is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from dpsel.item_table import ItemTable


def table(largest: int, width: int) -> ItemTable:
    """Return the items 0, 1, 2 and so on, alone or beside a text, which many users have."""
    rows = [(user, *(item, f"{item}")[:width]) for item in range(largest) for user in range(100 + item)]
    columns = {"user": [row[0] for row in rows]} | {
        f"item{place}": [row[place + 1] for row in rows] for place in range(width)
    }
    release = dpsel.select_partitions(
        columns,
        user="user",
        item=list(columns)[1:],
        privacy=dpsel.ApproxDP(epsilon=8.0, delta=1e-4),
        max_items_per_user=20,
        counts=dpsel.Counts(share=0.3),
    )
    return release.to_table()


@pytest.fixture(scope="module", params=[1, 2])
def items(request) -> ItemTable:
    return table(20, request.param)


@given(
    start=st.integers(-30, 30), stop=st.none() | st.integers(-30, 30), step=st.integers(-4, 4).filter(bool)
)
def test_places_and_slices_are_those_of_the_list(items, start, stop, step) -> None:
    every = items.to_pylist()
    assert items[start:stop:step] == every[start:stop:step]
    if -len(every) <= start < len(every):
        assert items[start] == every[start]
    else:
        with pytest.raises(IndexError):
            items[start]


def test_a_column_is_read_by_its_name(items) -> None:
    assert list(zip(*map(items.column, items.columns), strict=True)) == items.to_pylist()
    with pytest.raises(ValueError, match="'absent'"):
        items.column("absent")
    with pytest.raises(ValueError, match="not quoted"):
        items.column("ann@x.org")


def test_only_what_is_shown_is_read(items) -> None:
    """The numbers of all items are read to find the largest, and whole rows of ten items only."""
    asked = []

    class Watched:
        def __getattr__(self, name):
            return getattr(core, name)

        def to_columns(self, name=None, places=None):
            asked.append((name, None if places is None else len(places)))
            return core.to_columns(name, places)

    core = items.core
    watched = ItemTable(Watched())
    text = str(watched)
    largest = sorted(items.column("users"), reverse=True)[:10]
    assert [int(line.split()[-1].replace(",", "")) for line in text.splitlines()[3:13]] == largest
    assert watched.head(3) == items.to_pylist()[:3]
    assert asked == [("users", None), (None, 10), (None, 3)]


def test_places_beyond_the_release_are_no_panic(items) -> None:
    with pytest.raises(dpsel.exceptions.InternalError, match="beyond the release"):
        items.core.to_columns(None, [1_000_000])
