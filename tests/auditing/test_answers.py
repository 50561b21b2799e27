"""Answers of any library are read: sets, lists, pairs, dictionaries, columns and tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpsel.auditing import items_and_numbers
from dpsel.auditing._answers import UNKNOWN, Answer, read_answers


@pytest.mark.parametrize(
    "answer",
    [
        [2, 0],
        ["2", "0"],
        [b"2", b"0"],
        [np.int64(2), np.uint8(0)],
        [np.str_("2"), "0"],
        np.array([2, 0]),
        np.array(["2", "0"]),
        [2.0, 0.0],
        [(2,), (0,)],
        pl.Series([2, 0]),
        pd.Series([2, 0]),
        pa.chunked_array([[2], [0]]),
        pl.DataFrame({"item": ["2", "0"]}),
        pd.DataFrame({"item": [2, 0]}),
        iter((2, 0)),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_items_of_any_type_are_recognised_in_their_order(answer) -> None:
    assert items_and_numbers(answer, 3) == ([2, 0], {})


@pytest.mark.parametrize(
    "answer",
    [
        {2: 7, 0: 1.5},
        [(2, 7), (0, 1.5)],
        [["2", np.float64(7)], ["0", 1.5]],
        np.array([[2, 7], [0, 1.5]]),
        pd.DataFrame({"item": [2, 0], "count": [7.0, 1.5]}),
        pl.DataFrame({"item": ["2", "0"], "count": [7.0, 1.5]}),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_pairs_have_numbers(answer) -> None:
    assert items_and_numbers(answer, 3) == ([2, 0], {2: 7.0, 0: 1.5})


def test_a_set_has_no_order() -> None:
    assert items_and_numbers({"2", "0", "1"}, 3)[0] == [0, 1, 2]
    assert items_and_numbers([2, 0, 1], 3, ordered=False)[0] == [0, 1, 2]


@pytest.mark.parametrize("item", [3, -1, "3", "02", "two", None, ("a", "b", "c"), 0.5, np.int64(9)])
def test_items_of_no_table_are_unknown_and_kept_apart(item) -> None:
    (answer,) = read_answers([item, 1], 3, 1, is_ordered=True)
    assert answer == Answer((UNKNOWN, 1), (), (repr(item),))


def test_copies_are_told_apart() -> None:
    answers = read_answers([4, 0, 3], 2, 3, is_ordered=True)
    assert answers == [Answer((0,)), Answer((1,)), Answer((0,))]
