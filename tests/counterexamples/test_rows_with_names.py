"""Rows whose fields have names: read by these names, and never a user in place of an item."""

from __future__ import annotations

import dataclasses
import sqlite3
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import dpsel
from dpsel.exceptions import SchemaError

ARGUMENTS = {
    "privacy": dpsel.ApproxDP(epsilon=4.0, delta=1e-4),
    "max_items_per_user": 5,
}


class Swapped(NamedTuple):
    """The item first: by position the users would come out."""

    item: str
    user: int


class Wide(NamedTuple):
    number: int
    item: str
    count: int
    user: int


@dataclasses.dataclass
class Record:
    item: str
    user: int

    def __len__(self) -> int:
        return 2

    def __getitem__(self, at: int) -> object:
        return (self.item, self.user)[at]


ROWS = [("tea", user) for user in range(300)]


def of_database():
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    connection.execute("create table rows (item text, user integer)")
    connection.executemany("insert into rows values (?, ?)", ROWS)
    return connection.execute("select * from rows").fetchall()


FORMS = {
    "namedtuple": [Swapped(*row) for row in ROWS],
    "wide": [Wide(0, item, 1, user) for item, user in ROWS],
    "dataclass": [Record(*row) for row in ROWS],
    "sqlite3": of_database(),
    "itertuples": list(pd.DataFrame(ROWS, columns=["item", "user"]).itertuples()),
    "itertuples without index": list(pd.DataFrame(ROWS, columns=["item", "user"]).itertuples(index=False)),
    "series": [row for _, row in pd.DataFrame(ROWS, columns=["item", "user"]).iterrows()],
    "records": list(np.array(ROWS, dtype=[("item", "U3"), ("user", "i8")])),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("names", [{}, {"user": "user", "item": "item"}, {"user": "user"}])
def test_rows_are_read_by_their_names(form, one_by_one, names):
    def data():
        return iter(FORMS[form]) if one_by_one else FORMS[form]

    assert list(dpsel.select_partitions(data(), **names, **ARGUMENTS)) == ["tea"]
    assert list(dpsel.select_top_k(data(), **names, k=1, **ARGUMENTS)) == ["tea"]


@pytest.mark.parametrize("form", FORMS)
def test_names_that_are_not_there_are_refused(form):
    with pytest.raises(SchemaError, match="names of fields, and none is that of a column") as caught:
        dpsel.select_partitions(FORMS[form], user="user", item="drink", **ARGUMENTS)
    assert "tea" not in str(caught.value)


def test_names_may_be_any_two():
    assert list(dpsel.select_partitions(FORMS["wide"], user="user", item="count", **ARGUMENTS)) == [1]
    found = dpsel.select_partitions(
        FORMS["wide"], user=["number", "user"], item=["item", "count"], **ARGUMENTS
    )
    assert list(found) == [("tea", 1)]


def test_a_later_row_with_names_is_read_by_them():
    rows = [(user, "milk") for user in range(300)] + [Swapped(*row) for row in ROWS]
    assert sorted(dpsel.select_partitions(rows, **ARGUMENTS)) == ["milk", "tea"]


@pytest.mark.parametrize("form", ["namedtuple", "sqlite3"])
def test_tokens_and_filters_refuse_rows_with_names(form):
    with pytest.raises(SchemaError, match="plain tuples"):
        dpsel.select_partitions(FORMS[form], tokenizer=str.split, **ARGUMENTS)
    release = dpsel.select_partitions([(user, "tea") for user in range(300)], **ARGUMENTS)
    with pytest.raises(SchemaError, match="plain tuples"):
        release.filter(FORMS[form])
