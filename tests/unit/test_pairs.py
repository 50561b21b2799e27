"""Iterables of pairs: every type, every shape, and refusals that name positions and never values."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import itertools
import re
import sqlite3
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpsel
from dpsel.exceptions import DataError, SchemaError

KEY = bytes(range(32))
LOOSE = dpsel.ApproxDP(epsilon=3.0, delta=0.4)
UTC = dt.UTC


def select(rows, **arguments):
    settings = {"privacy": LOOSE, "max_items_per_user": 10, "mechanism": dpsel.CountGaussian()}
    return dpsel.select_partitions(rows, insecure_test_key=KEY, **(settings | arguments))


@pytest.mark.parametrize(
    "values",
    [
        [-(2**63), 0, 2**63 - 1],
        ["", "a", "z" * 5000, "ä\0"],
        [b"", b"z", b"\xff\x00"],
        [False, True],
        [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)],
        [dt.datetime(1, 1, 1, microsecond=1), dt.datetime(1970, 1, 1), dt.datetime(9999, 12, 31, 23, 59)],  # noqa: DTZ001
        [dt.datetime(1969, 1, 1, tzinfo=UTC), dt.datetime(2020, 1, 1, microsecond=7, tzinfo=UTC)],
    ],
    ids=["int", "str", "bytes", "bool", "date", "naive", "aware"],
)
def test_items_come_back_as_they_were(values):
    assert select([(user, value) for user in range(200) for value in values]).items == values
    assert select([(user, values) for user in range(200)]).items == values


def test_time_zones_mean_the_same_instant():
    east = dt.timezone(dt.timedelta(hours=5))
    here = dt.datetime(2024, 1, 1, 5, tzinfo=east)
    there = dt.datetime(2024, 1, 1, 0, tzinfo=UTC)
    rows = [(user, here if user % 2 else there) for user in range(300)]
    assert select(rows).items == [there]


@pytest.mark.parametrize("group", [list, set, frozenset])
def test_groups_equal_pairs(group):
    flat = [(user, f"item {item}") for user in range(90) for item in range(user % 9)]
    grouped = [(user, group(f"item {i}" for i in range(user % 9))) for user in range(90)]
    expected = select(flat, with_weights=True).items
    assert expected
    assert select(grouped, with_weights=True).items == expected
    assert select((row for row in grouped), with_weights=True).items == expected
    assert select(dict(grouped).items(), with_weights=True).items == expected


def test_lists_and_rows_of_other_shapes_are_pairs():
    rows = [(user, "a") for user in range(200)]
    expected = select(rows, with_weights=True).items
    assert select([list(row) for row in rows], with_weights=True).items == expected
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    connection.execute("create table t (user integer, item text)")
    connection.executemany("insert into t values (?, ?)", rows)
    # A cursor belongs to the thread that made it: the rows are pulled on the calling thread.
    assert select(connection.execute("select * from t"), with_weights=True).items == expected
    connection.close()


def test_numpy_scalars_are_their_values():
    rows = [(user, f"item {user % 2}") for user in range(400)]
    expected = select(rows, with_weights=True).items
    for kind in (np.int8, np.uint16, np.int64, np.uint64):
        users = [kind(user % 100) for user in range(400)]
        plain = select([(u % 100, f"item {u % 2}") for u in range(400)], with_weights=True).items
        found = select(zip(users, map(np.str_, [i for _, i in rows]), strict=True), with_weights=True).items
        assert found == plain
    assert select(np.array(rows, dtype=object), with_weights=True).items == expected
    assert select([(1, np.bool_(True))] * 2).items in ([], [True])


class Drink(enum.StrEnum):
    TEA = "tea"


class Number(enum.IntEnum):
    ONE = 1


class Plain(enum.Enum):
    TEA = "tea"


NOON = dt.datetime(2024, 1, 1, 12)  # noqa: DTZ001
VIENNA = pd.Timestamp("2024-01-01 13:00", tz="Europe/Vienna")

#: Values of other libraries and classes, and the value of Python's own that each of them is.
EXACT = [
    (np.int8(-5), -5),
    (np.uint64(2**63 - 1), 2**63 - 1),
    (np.bool_(True), True),
    (np.str_("tea"), "tea"),
    (np.bytes_(b"x"), b"x"),
    (Drink.TEA, "tea"),
    (Number.ONE, 1),
    (np.datetime64("2024-01-01"), dt.date(2024, 1, 1)),
    (np.datetime64("2024-01-01T12"), NOON),
    (np.datetime64("2024-01-01T12:00"), NOON),
    (np.datetime64("2024-01-01T12:00:00"), NOON),
    (np.datetime64("2024-01-01T12", "ms"), NOON),
    (np.datetime64("2024-01-01T12", "us"), NOON),
    (np.datetime64("2024-01-01T12", "ns"), NOON),
    (np.datetime64(2, "25s"), dt.datetime(1970, 1, 1, 0, 0, 50)),  # noqa: DTZ001
    (np.datetime64(-3_000_000, "ps"), dt.datetime(1969, 12, 31, 23, 59, 59, 999_997)),  # noqa: DTZ001
    (pd.Timestamp("2024-01-01 12:00"), NOON),
    (pd.Timestamp("2024-01-01 12:00").as_unit("ns"), NOON),
    (pd.Timestamp("9999-12-31"), dt.datetime(9999, 12, 31)),  # noqa: DTZ001
    (VIENNA, NOON.replace(tzinfo=UTC)),
    (VIENNA.as_unit("s"), NOON.replace(tzinfo=UTC)),
]


@pytest.mark.parametrize(("value", "own"), EXACT, ids=[repr(value) for value, _ in EXACT])
def test_values_of_other_libraries_are_exactly_those_of_python(value, own):
    """One key, as an item, a part of one and a user; and what comes back is Python's own value."""
    for settings in ({}, {"item": ["a", "b"]}):
        wrap = (lambda item: (item, 1)) if settings else (lambda item: item)
        mixed = select([(u, wrap(own if u % 2 else value)) for u in range(60)], with_weights=True, **settings)
        plain = select([(u, wrap(own)) for u in range(60)], with_weights=True, **settings)
        assert mixed.items == plain.items != []
        assert type(mixed.items[0][0]) is type(own)
    users = [(own if row % 2 else value, f"item {row % 9}") for row in range(90)]
    assert (
        select(users, with_weights=True).items
        == select([(own, i) for _, i in users], with_weights=True).items
    )


class NoOffset(dt.tzinfo):
    """Says nothing about any time; Python would take it for the time zone of this machine."""

    def __repr__(self) -> str:
        return "NoOffset()"

    def utcoffset(self, _when):
        return None


INEXACT = [
    (pd.Timestamp("2024-01-01 00:00:00.000000001"), "a time with nanoseconds"),
    (pd.Timestamp("2024-01-01 00:00:00.000000001", tz="UTC"), "a time with nanoseconds"),
    (np.datetime64("2024-01-01T00:00:00.000000001"), "a time with nanoseconds"),
    (np.datetime64(1, "as"), "a time with nanoseconds"),
    (pd.Timestamp(np.datetime64("20000-01-01", "s")), "a datetime without a time zone outside"),
    (np.datetime64("20000-01-01", "s"), "a datetime without a time zone outside"),
    (np.datetime64("-0001-01-01", "D"), "a date outside"),
    (np.datetime64("2024-01"), "a datetime64"),
    (np.datetime64("2024"), "a datetime64"),
    (np.datetime64("2024-01-01", "W"), "a datetime64"),
    (dt.datetime(2024, 1, 1, tzinfo=NoOffset()), "a datetime"),
    (np.timedelta64(5, "s"), "a timedelta64"),
    (pd.Timedelta("5s"), "a Timedelta"),
    (pd.Period("2024"), "a Period"),
    (pd.Interval(0, 1), "an Interval"),
    (decimal.Decimal(5), "a Decimal"),
    (uuid.UUID(int=5), "a UUID"),
    (Plain.TEA, "a Plain"),
    (np.array(5), "a ndarray"),
    (np.array([5]), "a ndarray"),
    (pa.scalar(5), "an Int64Scalar"),
    (np.void(b"x"), "a void"),
    (np.uint64(2**63), "an int outside"),
    (np.float32(5), "a float32"),
    (float("nan"), "a float"),
    (5j, "a complex"),
    (bytearray(b"x"), "a bytearray"),
]


@pytest.mark.parametrize(("value", "what"), INEXACT, ids=[repr(value) for value, _ in INEXACT])
def test_what_is_no_exact_key_is_refused_and_not_guessed(value, what):
    for rows, name in (([("u", "a"), (value, "a")], "user"), ([(0, "a"), (1, value)], "item")):
        message = re.escape(f"column '{name}' holds {what}") + ".* at position 1"
        with pytest.raises(SchemaError, match=message) as caught:
            select(rows)
        assert caught.value.__context__ is None


MISSING = [pd.NaT, pd.NA, np.datetime64("NaT"), np.datetime64("NaT", "ns")]


@pytest.mark.parametrize("missing", MISSING, ids=repr)
def test_what_is_missing_is_no_item_and_no_user(missing):
    rows = [(user, "a") for user in range(200)]
    expected = select(rows, with_weights=True).items
    assert select([(0, missing), *rows, (1, [missing, "a"])], with_weights=True).items == expected
    assert select([(1, (missing, "a")), (2, ("a", missing))], item=["a", "b"]).items == []
    name = type(missing).__name__
    with pytest.raises(DataError, match=f"the user is {name} at position 1; every row needs a user"):
        select([(pd.Timestamp(0), "a"), (missing, "a")])


def test_items_that_differ_by_nanoseconds_are_never_one():
    """They were: three items became one, with the users of all."""
    stamps = [pd.Timestamp("2024-01-01") + pd.Timedelta(n, "ns") for n in (1, 2, 3)]
    with pytest.raises(SchemaError, match="datetime64"):
        select([(user, stamp) for user in range(200) for stamp in stamps])
    table = pd.DataFrame([(user, stamp) for user in range(200) for stamp in stamps], columns=["user", "item"])
    assert list(select(table, user="user", item="item").items["item"]) == stamps


def test_chunk_borders_do_not_matter():
    """More rows than a chunk, in one group, in many, and in pairs."""
    items = [item % 500 for item in range(200_000)]
    users = range(100)
    flat = [(user, item) for user in users for item in items[user * 2000 : (user + 1) * 2000]]
    privacy = dpsel.ApproxDP(epsilon=20, delta=0.4)
    arguments = {"max_items_per_user": 500, "with_weights": True, "privacy": privacy}
    expected = select(flat, **arguments).items
    assert expected
    groups = [(user, items[user * 2000 : (user + 1) * 2000]) for user in users]
    assert select(groups, **arguments).items == expected
    long_groups = [(user, items) for user in users if user < 3]
    many_rows = [(user, item) for user, values in long_groups for item in values]
    assert select(long_groups, **arguments).items == select(many_rows, **arguments).items


def test_no_rows():
    assert select([]).items == []
    assert select(iter([])).items == []
    assert select([(1, []), (2, None)]).items == []


def test_none_items_are_dropped():
    rows = [(user, "a") for user in range(200)]
    expected = select(rows, with_weights=True).items
    assert select([(0, None), *rows, (1, [None, "a", None])], with_weights=True).items == expected


def test_composite_items_are_tuples():
    rows = [(user, (city, user % 2)) for user in range(400) for city in ("Oslo", "Bergen")]
    expected = [("Bergen", 0), ("Bergen", 1), ("Oslo", 0), ("Oslo", 1)]
    assert select(rows, item=["city", "parity"]).items == expected
    grouped = [(user, [("Oslo", user % 2), ("Bergen", user % 2)]) for user in range(400)]
    assert select(grouped, item=["city", "parity"]).items == expected
    weighted = select(rows, item=["city", "parity"], with_weights=True).items
    assert [row[:2] for row in weighted] == expected
    assert all(isinstance(row[2], float) for row in weighted)


SECRET = "a secret value"


@pytest.mark.parametrize(
    ("rows", "arguments", "error", "message"),
    [
        ([(1, "a"), (2, 2.5)], {}, SchemaError, "column 'item' holds a float at position 1; equal-looking"),
        ([(0.5, "a")], {}, SchemaError, "column 'user' holds a float at position 0; equal-looking"),
        ([(1, "a"), (2, 7)], {}, SchemaError, "column 'item' holds an int at position 1, but a str before"),
        ([(1, True), (2, 7)], {}, SchemaError, "column 'item' holds an int at position 1, but a bool before"),
        ([("x", 1), (2, 7)], {}, SchemaError, "column 'user' holds an int at position 1, but a str before"),
        ([(1, "a"), (None, "b")], {}, DataError, "the user is None at position 1; every row needs a user"),
        ([(1, ["a", "b"]), (None, [])], {}, None, ""),
        ([(1, ["a", 5])], {}, SchemaError, "column 'item' holds an int at position 0, but a str before"),
        ([(1, ("a", "b"))], {}, SchemaError, "item at position 0 is a tuple, but one item column is named"),
        ([(1, {"a": 2})], {}, SchemaError, "column 'item' holds a dict at position 0"),
        (
            [(1, 2**63)],
            {},
            SchemaError,
            "column 'item' holds an int outside the supported range at position 0",
        ),
        ([(1, "\ud800")], {}, SchemaError, "text that is not valid Unicode at position 0; replace lone"),
        ([(1, "a", 3)], {}, SchemaError, "element at position 0 is not a pair; yield"),
        ([(1, "a"), (1,)], {}, SchemaError, "element at position 1 is not a pair"),
        ([(1, "a"), "xy"], {}, SchemaError, "element at position 1 is not a pair"),
        ([(1, "a"), 7], {}, SchemaError, "element at position 1 is not a pair"),
        ([(1, "a")], {"item": ["a", "b"]}, SchemaError, "item at position 0 is not a tuple of 2 parts"),
        ([(1, (1, 2, 3))], {"item": ["a", "b"]}, SchemaError, "item at position 0 is not a tuple of 2 parts"),
        ([(1, dt.date(2020, 1, 1)), (1, dt.datetime(2020, 1, 1))], {}, SchemaError, "datetime without"),  # noqa: DTZ001
        ([(1, dt.time(1))], {}, SchemaError, "column 'item' holds a time at position 0; use int, str"),
    ],
)
def test_refusals(rows, arguments, error, message):
    if error is None:
        select(rows, **arguments)
        return
    with pytest.raises(error, match=re.escape(message)) as caught:
        select(rows, **arguments)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_refusals_hold_no_value():
    for rows in ([(1, SECRET), (2, 7)], [(SECRET, 1), (None, 2)], [(1, (SECRET, SECRET))], [(SECRET,)]):
        with pytest.raises(dpsel.DpselError) as caught:
            select(rows)
        assert SECRET not in str(caught.value)


def test_an_exception_of_the_producer_ends_the_job_and_keeps_its_words():
    class OwnError(Exception):
        pass

    def rows(good):
        yield from ((user, "a") for user in range(good))
        raise OwnError("mine")

    for good in (0, 10, 70_000, 700_000):
        with pytest.raises(
            dpsel.exceptions.DataError, match=f"it raised OwnError at position {good}; "
        ) as caught:
            select(rows(good))
        assert "mine" not in str(caught.value)


def test_an_endless_producer_ends_with_an_early_error():
    """A job that fails does not wait for the producer to end."""
    endless = ((i, "some text that takes room" + str(i)) for i in itertools.count())
    with pytest.raises(dpsel.exceptions.MemoryLimitError):
        select(endless, memory_limit=20_000_000)


@pytest.mark.parametrize("data", [None, 7, 1.5, b"bytes", object()])
def test_what_cannot_be_read(data):
    with pytest.raises(SchemaError, match="cannot be read; pass a DataFrame, an Arrow table"):
        select(data)


def test_a_dict_is_refused_with_the_fix():
    with pytest.raises(SchemaError, match=r"^a dict is not a table; .* pass data.items\(\)"):
        select({"ada": ["tea"]})
