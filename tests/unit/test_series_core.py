"""One release of a series and sealed files, as the classes above them call the core."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from dpsel import _core
from dpsel.exceptions import DataError, InvalidParameterError, MemoryLimitError, SchemaError
from reference import prf, series_state

SECRET, NOISE = bytes(range(32)), bytes(range(1, 33))
COLUMNS = json.dumps({"user": "user", "items": ["item"]})
PAIRS = [(user, item) for user in range(60) for item in range(8) if (user * 7 + item * 3) % (item + 2) == 0]


def plan(releases: int = 3) -> str:
    return _core.series_plan(
        epsilon=8.0, delta=0.05, rho=None, releases=releases, max_items_per_user=4, waits=True
    )


def release(source, state=None, *, columns=COLUMNS, forget=(), secret=SECRET, text=None, **settings):
    text = plan() if text is None else text
    return _core.series_release(text, secret, state, NOISE, source, columns, list(forget), **settings)


def pairs(rows):
    return _core.Source.pairs(rows)


def table(rows, kind=None):
    columns = {"user": [user for user, _ in rows], "item": pa.array([item for _, item in rows], kind)}
    return _core.Source.stream(pa.table(columns), [], None)


def items_of(made) -> list:
    return made.items.to_columns()[0]


def test_items_come_as_a_release_with_the_plan_beside_them() -> None:
    made = release(pairs(PAIRS))
    assert items_of(made) == sorted(items_of(made))
    assert len(made.items) > 2
    assert made.items.column_names == ["item"]
    assert made.items.report.text == plan()
    assert pa.table(made.items).column_names == ["item"]


def test_a_type_that_is_declared_comes_back_and_a_wider_one_stays() -> None:
    first = release(table(PAIRS, pa.int16()))
    assert pa.table(first.items).schema.field("item").type == pa.int16()
    wide = release(table(PAIRS, pa.int64()), first.state)
    assert pa.table(wide.items).schema.field("item").type == pa.int64()
    narrow = release(table(PAIRS, pa.int16()), wide.state)
    assert pa.table(narrow.items).schema.field("item").type == pa.int64()
    assert items_of(release(pairs(PAIRS))) == items_of(first)


def test_a_table_without_rows_makes_a_release_at_any_time() -> None:
    first = release(pairs([]))
    assert items_of(first) == []
    second = release(table(PAIRS, pa.int32()), first.state)
    # Arrivals wait for the block that begins with the third release.
    third = release(pairs([]), second.state)
    assert items_of(second) == []
    assert len(items_of(third)) > 2


def test_a_kind_of_column_that_changes_is_refused() -> None:
    state = release(pairs(PAIRS)).state
    for rows in ([(user, str(item)) for user, item in PAIRS], [(str(user), item) for user, item in PAIRS]):
        with pytest.raises(SchemaError, match="in the releases before; give the tables of all releases"):
            release(pairs(rows), state)
    with pytest.raises(InvalidParameterError, match="the columns are not those of the releases before"):
        release(pairs(PAIRS), state, columns=json.dumps({"user": "u", "items": ["item"]}))


def test_users_are_forgotten_by_their_digests() -> None:
    gone = _core.series_user_digests(SECRET, pairs([(3, 0), (99, 0), (3, 1)]), COLUMNS)
    digests = sorted(prf.user_digest(SECRET, user) for user in (3, 99))
    assert gone == [digest.to_bytes(16, "little") for digest in digests]
    made = release(pairs(PAIRS), forget=gone)
    state = series_state.read(made.state, SECRET)
    assert state.forgotten == digests
    without = release(pairs([(user, item) for user, item in PAIRS if user != 3]))
    assert state.accounts == series_state.read(without.state, SECRET).accounts
    # Also later.
    again = series_state.read(release(pairs(PAIRS), made.state).state, SECRET)
    assert digests[0] not in again.accounts
    assert again.forgotten == digests


def test_users_of_several_columns_and_items_of_several_columns() -> None:
    columns = json.dumps({"user": ["a", "b"], "items": ["x", "y"]})
    data = {"a": [user for user, _ in PAIRS], "b": ["b"] * len(PAIRS)}
    data |= {"x": [item for _, item in PAIRS], "y": ["a long text of an item"] * len(PAIRS)}
    source = lambda: _core.Source.stream(pa.table(data), [], None)  # noqa: E731
    first = release(source(), columns=columns)
    second = release(source(), first.state, columns=columns)
    found = [each.items.to_columns() for each in (first, second)]
    assert len(found[0][0]) > 2
    assert set(found[0][1] + found[1][1]) == {"a long text of an item"}


def test_another_secret_plan_or_state_is_refused() -> None:
    state = release(pairs(PAIRS)).state
    words = "the state of the series: it is not what the last release wrote under this secret; give the state"
    for change in (
        {"secret": bytes(32)},
        {"text": plan(4)},
        {"state": state[:-1]},
        {"state": b""},
        {"state": state[:40] + bytes([state[40] ^ 1]) + state[41:]},
    ):
        with pytest.raises(DataError, match=words):
            release(pairs(PAIRS), **{"state": state, **change})


def test_keys_of_another_length_are_refused() -> None:
    words = "key must be exactly 32 bytes, got 3 bytes; give the key as it was made"
    for call in (
        lambda: release(pairs(PAIRS), secret=b"abc"),
        lambda: _core.seal(b"abc", b"", b""),
        lambda: _core.unseal(b"abc", b"", b""),
        lambda: _core.tag(b"abc", b""),
    ):
        with pytest.raises(InvalidParameterError, match=words):
            call()


def test_settings_are_checked_and_kept_to() -> None:
    for settings, words in (
        ({"threads": 0}, "threads must be"),
        ({"memory_limit": -1}, "memory_limit must be"),
    ):
        with pytest.raises(InvalidParameterError, match=words):
            release(pairs(PAIRS), **settings)
    with pytest.raises(MemoryLimitError):
        release(pairs(PAIRS), memory_limit=1000)


def test_only_what_was_sealed_is_unsealed() -> None:
    sealed = _core.seal(SECRET, b"state 3", b"content")
    assert _core.unseal(SECRET, b"state 3", sealed) == b"content"
    assert _core.seal(SECRET, b"state 3", b"content") != sealed
    assert len(_core.seal(SECRET, b"", b"")) == len(sealed)
    assert b"content" not in sealed
    for key, label, given in (
        (NOISE, b"state 3", sealed),
        (SECRET, b"state 4", sealed),
        (SECRET, b"state 3", sealed[:-1]),
        (SECRET, b"state 3", sealed + b"\0"),
        (SECRET, b"state 3", b""),
        (SECRET, b"state 3", sealed[:50] + bytes([sealed[50] ^ 1]) + sealed[51:]),
    ):
        with pytest.raises(
            DataError, match="a sealed file: it is not what was sealed under this key and for"
        ):
            _core.unseal(key, label, given)
    assert issubclass(DataError, ValueError)


def test_tags_are_keyed() -> None:
    tags = {_core.tag(key, data) for key in (SECRET, NOISE) for data in (b"", b"a", b"b")}
    assert len(tags) == 6
    assert {len(tag) for tag in tags} == {32}
