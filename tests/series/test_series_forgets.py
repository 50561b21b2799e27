"""`forget`: every user that a table can have, whatever type its column and the value have that names it."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpsel
from dpsel import _core_calls
from dpsel._request import columns_of
from dpsel.cli import main
from dpsel.exceptions import SchemaError
from dpsel.series import _mechanism
from dpsel.series._keys import Key
from series_support import KEY
from strategies import KEY_TYPES

USERS = 12
#: So generous that `USERS` users make a number, or an item of a list, that none of them make.
PRIVACY = dpsel.ApproxDP(epsilon=19.0, delta=1e-3)
SECRET = Key(bytes(32))


def table(kind, user: list[str]) -> pa.Table:
    """One row of each user, whose columns all have the type."""
    values = [kind.value(at) for at in range(USERS)]
    columns = {name: pa.array(values[at:] + values[:at], kind.arrow) for at, name in enumerate(user)}
    return pa.table(columns | {"item": ["tea"] * USERS})


def names_of(rows: pa.Table, user: list[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(rows.column(name).to_pylist() for name in user), strict=True))


def as_text(value: Any) -> Any:
    """What the value is called in CSV; bytes that are no text have no name."""
    return value if isinstance(value, bytes) else str(value)


def series_of(kind: Any, folder: Any, user: list[str], key: Any = KEY) -> Any:
    more = {"max_releases_per_item": 1} if kind is dpsel.CountSeries else {}
    return kind.create(
        folder,
        key=key,
        privacy=PRIVACY,
        releases=2,
        max_items_per_user=1,
        user=user if len(user) > 1 else user[0],
        item="item",
        **more,
    )


def given(series: Any, rows: Any) -> int:
    """How much the users of a table give."""
    if isinstance(series, dpsel.Series):
        return len(series.release(rows, "one"))
    ((_, users),) = series.release(rows, "one", items=["tea"]).to_pylist()
    return 0 if abs(users) < USERS // 2 else users


@pytest.mark.parametrize("kind", [dpsel.Series, dpsel.CountSeries])
@pytest.mark.parametrize("user", [["u"], ["u", "v"]], ids=["one column", "two columns"])
@pytest.mark.parametrize("key_type", KEY_TYPES, ids=str)
def test_a_user_of_any_type_gives_nothing_afterwards(tmp_path, key_type, user, kind) -> None:
    rows = table(key_type, user)
    assert given(series_of(kind, tmp_path / "kept", user), rows)
    series = series_of(kind, tmp_path / "series", user)
    for at, name in enumerate(names_of(rows, user)):
        called = tuple(map(as_text, name)) if at % 2 else name
        series.forget(called if len(user) > 1 else called[0])
    assert given(series, rows) == 0


@pytest.mark.parametrize("user", [["u"], ["u", "v"]], ids=["one column", "two columns"])
@pytest.mark.parametrize("key_type", KEY_TYPES, ids=str)
def test_a_user_of_any_type_is_forgotten_from_the_shell(tmp_path, key_type, user) -> None:
    rows, key = table(key_type, user), tmp_path / "key"
    series = series_of(dpsel.CountSeries, tmp_path / "numbers", user, key)
    is_binary = pa.types.is_binary(key_type.arrow) or pa.types.is_large_binary(key_type.arrow)
    written = pd.DataFrame(
        [[part.hex() if is_binary else str(part) for part in name] for name in names_of(rows, user)],
        columns=user,
    )
    # An empty text in quotes is a text.
    written.to_csv(tmp_path / "users.csv", index=False, quoting=1)
    binary = [each for name in user for each in ("--binary", name)] if is_binary else []
    arguments = ["forget", tmp_path / "numbers", tmp_path / "users.csv", "--key", key, *binary]
    assert main(["count-series", *map(str, arguments)]) == 0
    assert given(series, rows) == 0


def digests(users: pa.Array) -> list[bytes]:
    """The digests that users have in a table."""
    rows = pa.table({"user": users, "item": ["tea"] * len(users)})
    asked = json.dumps(columns_of("user", "item").to_json())
    return _core_calls.series_user_digests(SECRET.raw, _core_calls.Source.stream(rows, [], None), asked)


def forgotten(*named: Any) -> set[bytes]:
    header = SimpleNamespace(user=["user"], item=["item"])
    return set(_mechanism._digests([_mechanism.request_of(header, SECRET, each) for each in named]))


DAY_OF_32_BITS = pa.array([5_000_000, -1_000_000, 2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32())
LAST = dt.datetime.max.replace(tzinfo=dt.UTC)
ONE = uuid.UUID(int=2**127 + 5)


@pytest.mark.parametrize(
    ("users", "named"),
    [
        (pa.array([2**63, 2**64 - 1], pa.uint64()), (2**63, 2**64 - 1)),
        (pa.array([2**63, 2**64 - 1], pa.uint64()), ("9223372036854775808", np.uint64(2**64 - 1))),
        (pa.array([str(2**63)]), (2**63,)),
        (pa.array([-(2**63), 2**63 - 1]), (str(-(2**63)), str(2**63 - 1))),
        (pa.array([Decimal(7)], pa.decimal128(38, 0)), (Decimal(7),)),
        (pa.array([Decimal(7)], pa.decimal128(38, 0)), ("7",)),
        (pa.array([7]), (Decimal("7.00"),)),
        (
            DAY_OF_32_BITS,
            tuple(np.datetime64(day, "D") for day in (5_000_000, -1_000_000, 2**31 - 1, -(2**31))),
        ),
        (DAY_OF_32_BITS, ("+15659-07-15", "-0768-02-04", "5881580-07-11", "-5877641-06-23")),
        (pa.array([10**15], pa.date64()), (np.datetime64(10**15 // 86_400_000, "D"),)),
        (pa.array([5], pa.timestamp("ns")), (np.datetime64(5, "ns"),)),
        (pa.array([5], pa.timestamp("ns")), ("1970-01-01T00:00:00.000000005",)),
        (pa.array([-5], pa.timestamp("ns", "UTC")), (pd.Timestamp(-5, tz="Europe/Oslo"),)),
        (pa.array([-5], pa.timestamp("ns", "UTC")), ("1969-12-31 23:59:59.999999995+00:00",)),
        (pa.array([2**60], pa.timestamp("s")), (np.datetime64(2**60, "s"),)),
        (pa.array([400_000_000_000], pa.timestamp("s")), ("14645-06-30T15:06:40",)),
        (pa.array([LAST], pa.timestamp("us", "UTC")), (LAST, str(LAST))),
        (pa.array([ONE.bytes], pa.binary(16)), (ONE,)),
        (pa.array([ONE.bytes], pa.binary(16)), (str(ONE),)),
        (pa.array([str(ONE)]), (ONE,)),
        (pa.array([True, False]), (np.bool_(True), "FALSE")),
        (pa.array(["true"]), (np.bool_(True),)),
    ],
)
def test_what_a_user_is_called_and_what_it_is(users, named) -> None:
    assert set(digests(users)) <= forgotten(*named)


@pytest.mark.parametrize(
    ("named", "others"),
    [
        ("1970-01-01T00:00:00.000000005", pa.array([0], pa.timestamp("ns"))),
        ("1970-01-01T00:00:00.0000000051", pa.array([0, 5], pa.timestamp("ns"))),
        ("1970-01-01T03.000000005", pa.array([0, 5], pa.timestamp("ns"))),
        ("1970-01-01.5", pa.array([0], pa.date32())),
        (str(2**64), pa.array([0, 2**63, 2**64 - 1], pa.uint64())),
        ("+1970-01-01", pa.array(["1970-01-01"])),
        ("07", pa.array([7])),
    ],
)
def test_nobody_else_is_forgotten(named, others) -> None:
    assert not set(digests(others)) & forgotten(named)


@pytest.mark.parametrize(
    "missing", [None, pd.NaT, pd.NA, np.datetime64("NaT")], ids=["None", "NaT", "NA", "NaT of NumPy"]
)
def test_a_missing_value_is_no_user(missing) -> None:
    with pytest.raises(
        SchemaError, match="user is a missing value, which no row has as its user; give a value"
    ):
        forgotten(missing)


@pytest.mark.parametrize(
    "named",
    [
        2**64,
        -(2**63) - 1,
        1.5,
        Decimal("1.5"),
        Decimal("sNaN"),
        np.datetime64("2026-01"),
        np.timedelta64(3, "s"),
        dt.time(1),
        "\ud800",
        [1],
        (1,),
        pa.scalar(1),
    ],
    ids=repr,
)
def test_what_can_be_no_user_is_refused(named) -> None:
    with pytest.raises(SchemaError, match="column 'user' holds"):
        forgotten(named)


def test_bytes_from_the_shell_are_hexadecimal_digits(tmp_path, capfd) -> None:
    key = tmp_path / "key"
    series_of(dpsel.Series, tmp_path / "lists", ["u"], key)
    (tmp_path / "users.csv").write_text("u\nff00\nabc\n")
    arguments = ["series", "forget", str(tmp_path / "lists"), str(tmp_path / "users.csv"), "--key", str(key)]
    for more, said in (
        (["--binary", "v"], "--binary: 'v' is no column of USERS"),
        (["--binary", "u"], "a field is no hexadecimal digits, two for each byte; nobody was forgotten"),
    ):
        assert main([*arguments, *more]) == 2
        assert said in (told := capfd.readouterr().err)
        assert "abc" not in told
    assert not list((tmp_path / "lists").glob("forget-*"))
    assert main(arguments) == 0
    assert "whether any table has them is not looked up" in capfd.readouterr().err
    assert len(list((tmp_path / "lists").glob("forget-*"))) == 2
