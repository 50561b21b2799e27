"""Rows and columns without a table library give the release of the same pairs."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import dpsel
from dpsel.exceptions import DataError, InvalidParameterError, SchemaError

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
KEY = bytes(range(32))
#: 600 users with three items out of 40: some are released.
PAIRS = [(user, (user * user + at) % 40) for user in range(600) for at in range(3)]
USERS, ITEMS = (list(column) for column in zip(*PAIRS, strict=True))


def select(data, **options):
    arguments = {"privacy": PRIVACY, "max_items_per_user": 3, "mechanism": "sips", "insecure_test_key": KEY}
    return dpsel.select_partitions(data, **(arguments | options)).items


@pytest.fixture(scope="module")
def expected():
    items = select(PAIRS)
    assert 3 < len(items) < 40
    return items


RECORDS = [{"u": user, "i": item, "note": "secret"} for user, item in PAIRS]
NAMED = {
    "records": RECORDS,
    "records in a tuple": tuple(RECORDS),
    "lists": {"u": USERS, "i": ITEMS, "other": 7},
    "arrays": {"u": np.array(USERS), "i": np.array(ITEMS, dtype="uint8")},
    "an array of objects": {"u": np.array(USERS, dtype=object), "i": ITEMS},
    "a structured array": np.array(PAIRS, dtype=[("u", "i4"), ("i", "i8")]),
    "every second entry": {"u": np.repeat(USERS, 2)[::2], "i": np.repeat(ITEMS, 2)[::2]},
}
MATRIX = scipy.sparse.coo_matrix((np.ones(len(PAIRS)), (USERS, ITEMS)))


@pytest.mark.parametrize("name", NAMED)
def test_named_columns(expected, name):
    assert select(NAMED[name], user="u", item="i") == expected


@pytest.mark.parametrize("name", NAMED)
def test_without_pyarrow_it_is_the_same(expected, monkeypatch, name):
    monkeypatch.setattr("dpsel._ingest._plain.find_spec", lambda _: None)
    assert select(NAMED[name], user="u", item="i") == expected


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil", "dok", "bsr"])
def test_sparse_matrices(expected, form):
    assert select(MATRIX.asformat(form)) == expected
    assert select(scipy.sparse.coo_array(MATRIX).asformat(form)) == expected


def test_zeros_that_are_stored_are_no_items(expected):
    rows, columns = [*USERS, *range(600)], [*ITEMS, *[41] * 600]
    stored = [1] * len(USERS) + [0] * 600
    assert select(scipy.sparse.coo_matrix((stored, (rows, columns)))) == expected


def test_a_matrix_of_pairs(expected):
    assert select(np.array(PAIRS)) == expected


def test_several_columns_are_one_item():
    rows = [{"u": user, "a": "x", "b": 1} for user in range(300)]
    columns = {"u": np.arange(300), "a": ["x"] * 300, "b": np.ones(300, dtype=int)}
    for data in (rows, columns):
        assert select(data, user="u", item=["a", "b"]) == [("x", 1)]


def test_a_missing_field_is_null(expected):
    assert select([*RECORDS, {"u": 1}], user="u", item="i") == expected
    with pytest.raises(DataError, match="user is None at position 1800"):
        select([*RECORDS, {"i": 1}], user="u", item="i")


def test_texts_dates_and_times_of_numpy():
    days = np.array(["2026-01-31"] * 300, dtype="datetime64[D]")
    assert [str(day) for day in select({"u": np.arange(300), "i": days}, user="u", item="i")] == [
        "2026-01-31"
    ]
    words = np.array(["tea"] * 300)
    assert select({"u": np.arange(300), "i": words}, user="u", item="i") == ["tea"]


REFUSED = {
    "no such field": ([{"u": 1}], {"user": "u", "item": "i"}, "no row has a field named 'i'"),
    "unnamed": ([{"user": 1, "item": 2}], {}, "user and item must name columns"),
    "unnamed columns": ({"user": [1], "item": [2]}, {}, "user and item must name columns"),
    "other names": (
        {"secret": [1]},
        {"user": "u", "item": "i"},
        r"^none of the named columns is a key of the dict; set user= and item= to its keys",
    ),
    "no names": ({"secret": [1]}, {}, "is not a table; name its columns"),
    "one name": ({"secret": [1], "u": [2]}, {"user": "u"}, "is not a table; name its columns"),
    "users with lists": (
        {"secret": ["tea", "gin"], "u": ["tea"]},
        {"user": "u", "item": "i"},
        "^the input has no column 'i' to take items from; set item= to one of its keys$",
    ),
    "users with texts": (
        {"secret": "tea", "u": "gin"},
        {"user": "u", "item": "i"},
        "^the input has no column 'i' to take items from; set item= to one of its keys$",
    ),
    "users of two types": (
        {"secret": [1], 5: [2], "i": [1]},
        {"user": "u", "item": "i"},
        "^the input has no column 'u' to tell users apart; set user= to one of its keys$",
    ),
    "lengths": ({"u": [1], "i": [1, 2]}, {"user": "u", "item": "i"}, "different lengths"),
    "a text": ({"u": "ab", "i": [1, 2]}, {"user": "u", "item": "i"}, "column 'u' is a str"),
    "an int": ({"u": 5, "i": [1, 2]}, {"user": "u", "item": "i"}, "column 'u' is an int; give a list"),
    "dimensions": ({"u": np.ones(2), "i": np.ones((2, 2))}, {"user": "u", "item": "i"}, "one value for each"),
    "a matrix": (np.ones((3, 3), dtype=int), {}, "one row for each pair"),
    "an array": (np.ones(3, dtype=int), {}, "one row for each pair"),
    "a structured array": (np.ones(3, dtype=[("u", int)]), {"user": "u", "item": "i"}, "no field named 'i'"),
    "a sparse matrix": (MATRIX, {"item": ["a", "b"]}, "users as rows and items as columns"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table_is_refused(name):
    data, columns, text = REFUSED[name]
    with pytest.raises((SchemaError, InvalidParameterError), match=text) as caught:
        select(data, **columns)
    assert "secret" not in str(caught.value)


def test_a_dict_of_columns_lists_its_columns_as_a_table_does():
    rows, columns = {"u": [1], "itm": ["a"]}, {"user": "u", "item": "item"}
    for data in (rows, pl.DataFrame(rows)):
        with pytest.raises(SchemaError) as caught:
            select(data, **columns)
        assert str(caught.value) == (
            "the input has no column 'item' to take items from; set item= to one of its columns: 'u', 'itm'"
        )
    many = {f"c{place}": [1] for place in range(30)}
    with pytest.raises(SchemaError, match=r"no column 'u' .*: 'c0', .*'c19', and 10 more$"):
        select(many, user="u", item="c29")


def test_rows_of_two_kinds_are_refused():
    with pytest.raises(SchemaError, match="^the row at position 1 is a tuple, but the first one maps names"):
        select([{"u": 1, "i": 2}, ("secret", 2)], user="u", item="i")


@pytest.mark.parametrize("objects", [False, True])
def test_series_are_paired_by_position_only_if_their_indexes_are_equal(objects):
    numbers = np.arange(300)
    users, items = pd.Series(numbers), pd.Series(numbers % 2, dtype=object if objects else int)
    pairs = [(user, user % 2) for user in range(300)]
    release = dpsel.select_partitions(pairs, privacy=PRIVACY, max_items_per_user=3)
    for index in (None, numbers + 5):
        if index is not None:
            users, items = users.set_axis(index), items.set_axis(index)
        assert select({"u": users, "i": items}, user="u", item="i") == [0, 1]
        assert select({"u": users.array, "i": items}, user="u", item="i") == [0, 1]
    for other in (items.sort_values(), items.reset_index(drop=True), items[::-1]):
        rows = {"u": users, "i": other}
        for call in (
            lambda rows=rows: select(rows, user="u", item="i"),
            lambda rows=rows: release.filter(rows, item="i"),
        ):
            with pytest.raises(SchemaError, match="column 'i' has another pandas index than column 'u'"):
                call()


def test_mechanisms_in_words():
    def of(text, **options):
        arguments = {"privacy": PRIVACY, "max_items_per_user": 3, "mechanism": text}
        return dpsel.select_partitions(PAIRS, **(arguments | options)).report["request"]["mechanism"]

    assert of("sips(rounds=5)") == dpsel.Sips(rounds=5).to_json()
    assert of("Sips") == of("sips") == dpsel.Sips().to_json()
    plan = dpsel.plan(privacy=PRIVACY, max_items_per_user=3, mechanisms="sips")
    assert "Sips" in str(plan)
    for text, answer in {
        "spis": "did you mean sips",
        "sips(rounds=x)": "whole number",
        "sips(": "closing",
        "joint": "belongs to select_top_k",
        "sips(rounds=0)": "between 1 and 64",
    }.items():
        with pytest.raises(InvalidParameterError, match=answer):
            of(text)


def test_sizes_in_words(expected):
    for size in ("1GiB", "500 MB", "1.5g", 1 << 30):
        assert select(PAIRS, memory_limit=size) == expected
    for size in ("much", "0", "-1GB", "4 apples", ""):
        with pytest.raises(InvalidParameterError, match="such as '4GiB'"):
            select(PAIRS, memory_limit=size)
    with pytest.raises(dpsel.exceptions.MemoryLimitError):
        select(PAIRS, memory_limit="1kB")


def test_a_bar_for_true_and_nothing_for_false(expected, capfd):
    assert select(PAIRS, progress=False) == expected
    assert capfd.readouterr().err == ""
    assert select(PAIRS, progress=True) == expected
    shown = capfd.readouterr().err
    assert "reading" in shown or "working" in shown
    # Never a number of rows, users or items.
    assert "1800" not in shown
    assert "600" not in shown
    with pytest.raises(InvalidParameterError, match="progress must be"):
        select(PAIRS, progress="yes")


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_frames_have_the_calls_as_methods(expected, library):
    module = importlib.import_module(library)
    importlib.import_module(f"dpsel.{library}")
    frame = module.DataFrame({"u": USERS, "i": ITEMS})
    options = {"user": "u", "item": "i", "privacy": PRIVACY, "max_items_per_user": 3}
    release = frame.dpsel.select_partitions(**options, mechanism="sips", insecure_test_key=KEY)
    assert list(release) == expected
    assert len(frame.dpsel.keep_released(release)) == sum(item in release for item in ITEMS)
    assert len(frame.dpsel.select_top_k(k=2, **options)) == 2
    if library == "polars":
        lazy = frame.lazy().dpsel.select_partitions(**options, mechanism="sips", insecure_test_key=KEY)
        assert list(lazy) == expected


def test_addresses_in_a_list_of_texts_are_not_fetched(monkeypatch):
    """They may be data: a request would send them away. So not even polars is asked."""
    monkeypatch.setitem(sys.modules, "polars", None)
    for texts in (["https://example.com/secret.csv"], ("rows.csv", "s3://bucket/secret.parquet")):
        with pytest.raises(SchemaError, match="may be data") as caught:
            select(texts, user="u", item="i")
        assert "secret" not in str(caught.value)


def test_an_address_needs_polars_and_a_format(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(SchemaError, match=r"dpsel\[remote\]"):
        select("s3://bucket/rows.parquet", user="u", item="i")


@pytest.mark.parametrize("name", ["rows", "rows.ndjson", "rows.csv", "rows.arrow"])
def test_formats_that_would_be_copied_to_the_disk_are_refused(name):
    with pytest.raises(InvalidParameterError, match="file_format must be 'parquet'"):
        select(f"s3://bucket/{name}", user="u", item="i")
    with pytest.raises(InvalidParameterError, match="fetch such files first"):
        select("s3://bucket/rows.parquet", user="u", item="i", file_format="csv")
