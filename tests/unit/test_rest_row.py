"""The row of everything else beside released keys: its numbers, its mark, and what is refused."""

from __future__ import annotations

import datetime as dt
from importlib.util import find_spec

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError, ReportError
from dpsel.release import ItemTable, _rest_row

OPTIONS = {
    "privacy": dpsel.ApproxDP(epsilon=4.0, delta=1e-6),
    "max_items_per_user": 5,
    "insecure_test_key": bytes(32),
    "counts": dpsel.Counts(share=0.3, max_counted_items=5),
    "rest": dpsel.Rest(share=0.1, max_rows_per_user=5),
}
ROWS = [(user, key) for user in range(900) for key in ("tea", f"own {user}")]


def select(rows=ROWS, **options) -> dpsel.Release:
    return dpsel.select_partitions(rows, **(OPTIONS | options))


@pytest.fixture(params=["pyarrow", "none"], autouse=True)
def library(request, monkeypatch) -> None:
    """Both ways to make a table: of Arrow arrays, and of Python values."""
    if request.param == "none":
        monkeypatch.setattr(
            _rest_row, "find_spec", lambda name: None if name == "pyarrow" else find_spec(name)
        )


def test_the_last_row_has_the_users_of_the_rest() -> None:
    release = select()
    made = release.with_rest()
    users = release.rest.users
    assert isinstance(made, ItemTable)
    assert made.columns == ["item", "users", "is_rest"]
    assert made.to_pylist() == [
        *((key, number, False) for key, number in release.items),
        ("(rest)", users.some + users.none, True),
    ]
    assert abs(made[-1][1] - 900) < 60


def test_rows_of_the_rest_are_those_outside() -> None:
    release = select(counts=dpsel.Counts(share=0.3, count="rows", max_rows_per_item=3))
    assert release.with_rest(label="other")[-1] == ("other", release.rest.rows.outside, True)


@pytest.mark.parametrize("nonnegative", [True, False])
def test_numbers_that_are_not_negative_make_no_negative_rest(nonnegative) -> None:
    rows = [(user, "tea") for user in range(900)]
    found = set()
    for seed in range(8):
        counts = dpsel.Counts(share=0.3, nonnegative=nonnegative)
        release = select(rows, insecure_test_key=bytes([seed] * 32), counts=counts)
        found.add(release.with_rest()[-1][1] < 0)
    assert (True in found) == (not nonnegative)


def test_weights_are_left_out_and_public_keys_are_marked() -> None:
    made = select(mechanism="steered", with_weights=True, public_items=["milk"]).with_rest()
    assert made.columns == ["item", "users", "public", "is_rest"]
    assert [row[2:] for row in made] == [(True, False), (False, False), (False, True)]


@pytest.mark.parametrize(
    "keys", [lambda n: n, lambda n: dt.date(2026, 1, 1) + dt.timedelta(n), lambda n: n > 0]
)
def test_keys_that_are_no_texts_have_no_label(keys) -> None:
    rows = [(user, keys(number)) for user in range(900) for number in (0, 7)]
    made = select(rows).with_rest()
    assert [row[0] for row in made] == [keys(0), keys(7), None]
    assert [row[-1] for row in made] == [False, False, True]


def test_columns_of_texts_have_the_label_and_others_nothing() -> None:
    rows = [(user, ("no", 3, "tea")) for user in range(900)]
    assert select(rows, item=["a", "b", "c"]).with_rest()[-1][:3] == ("(rest)", None, "(rest)")


@pytest.mark.parametrize(
    ("rows", "options", "last"),
    [
        (
            [(user, ("no", "oslo")) for user in range(900)],
            {"item": ["a", "b"], "levels": True},
            ("(rest)", None, None),
        ),
        ([(user, ("no/oslo")) for user in range(900)], {"levels": "/"}, ("(rest)", None)),
        (
            [(user, (4, "oslo")) for user in range(900)],
            {"item": ["a", "b"], "levels": True},
            (None, None, None),
        ),
    ],
)
def test_in_a_tree_the_row_is_like_a_node_of_the_top(rows, options, last) -> None:
    made = select(rows, rest=0.1, **options).with_rest()
    assert made[-1][: len(last)] == last
    assert made.columns[-1] == "is_rest"


def test_a_released_key_is_not_taken_for_the_rest() -> None:
    rows = [(user, key) for user in range(900) for key in ("(rest)", "tea")]
    release = select(rows)
    with pytest.raises(InvalidParameterError, match="a released key is the label.*label="):
        release.with_rest()
    made = release.with_rest(label="everything else")
    assert [row[0] for row in made if row[-1]] == ["everything else"]
    pairs = select([(user, (key, key)) for user, key in rows], item=["a", "b"])
    with pytest.raises(InvalidParameterError, match="a released key is the label"):
        pairs.with_rest()
    mixed = select([(user, ("(rest)", "tea")) for user in range(900)], item=["a", "b"])
    assert mixed.with_rest()[-1][:2] == ("(rest)", "(rest)")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"counts": None}, "has no numbers of users or rows"),
        ({"rest": None}, "no numbers of the rest.*rest="),
        (
            {"counts": dpsel.Counts(share=0.3, count="rows", max_rows_per_item=3), "rest": 0.1},
            "max_rows_per_user",
        ),
        ({"item": "is_rest"}, "named is_rest.*rename"),
    ],
)
def test_what_has_no_number_of_the_rest_is_refused(options, words) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        select(**options).with_rest()


@pytest.mark.parametrize("label", ["", 3, None, "\ud800"])
def test_labels_that_are_no_texts_are_refused(label) -> None:
    with pytest.raises(InvalidParameterError, match="label must be"):
        select().with_rest(label=label)


def test_tables_of_every_library_come_of_it() -> None:
    made = select().with_rest()
    assert isinstance(made.to_arrow(), pa.Table)
    assert isinstance(made.to_polars(), pl.DataFrame)
    frame = made.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["is_rest"]) == [False, True]


def test_a_file_with_the_row_is_not_read_as_a_release(tmp_path) -> None:
    """Nobody takes the row for a key."""
    release = select()
    release.with_rest().write(tmp_path / "keys.csv")
    release.report.save(tmp_path / "keys.json")
    assert (tmp_path / "keys.csv").read_text().splitlines()[0] == "item,users,is_rest"
    with pytest.raises(ReportError, match="has the column is_rest, of a row that is no key"):
        dpsel.Release.load(tmp_path / "keys.csv")
    assert "(rest)" not in release
    assert list(release) == ["tea"]


def test_an_empty_list_has_the_rest_alone() -> None:
    made = select([(user, f"own {user}") for user in range(300)]).with_rest()
    assert [row[0] for row in made] == ["(rest)"]
