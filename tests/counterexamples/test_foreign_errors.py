"""Known leak: a reader's error quotes the value that it cannot convert, and was passed on with it."""

from __future__ import annotations

import asyncio
import gc
import traceback
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import dpsel
from support import select, table

SECRET = "zxqv-unmistakable-secret"
GIVEN = {"max_items_per_user": 4, "privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-9)}
TYPED = {"user": pa.int64(), "item": pa.int64()}
ROWS = f"user,item\n1,5\n2,{SECRET}\n"


def failing(first, error: BaseException):
    """Something that yields once, and then raises what quotes the secret, chained to another that does."""
    yield first
    raise error from KeyError(SECRET)


class Indexed:
    """A number by Python's protocol, whose conversion fails."""

    def __index__(self) -> int:
        raise LookupError(SECRET)


class Items(list):
    """The items of a user, which cannot be read."""

    def __iter__(self):
        return failing(2, ValueError(SECRET))


class Opened:
    """Somebody's own table, which fails when it is opened."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise KeyError(SECRET)


class OpenedAsOurs:
    """Somebody's own table, which raises a class of ours with words of its own."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise dpsel.exceptions.SchemaError(SECRET) from KeyError(SECRET)


class Asked:
    """Somebody's own table, which fails when it is asked what it is."""

    def __getattr__(self, name: str):
        raise RuntimeError(SECRET)


class Wrapped:
    """Somebody's own table around a reader."""

    def __init__(self, reader) -> None:
        self.reader = reader

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


def batches(error: BaseException) -> pa.RecordBatchReader:
    batch = pa.RecordBatch.from_pydict({"user": [1] * 7, "item": [2] * 7}, schema=pa.schema(TYPED))
    return pa.RecordBatchReader.from_batches(batch.schema, failing(batch, error))


def csv(folder) -> str:
    path = folder / "rows.csv"
    path.write_text(ROWS)
    return str(path)


SOURCES = {
    "pyarrow dataset": lambda folder: pa.dataset.dataset(csv(folder), format="csv", schema=pa.schema(TYPED)),
    "pyarrow scanner": lambda folder: pa.dataset.dataset(
        csv(folder), format="csv", schema=pa.schema(TYPED)
    ).scanner(),
    "pyarrow reader": lambda _: batches(ValueError(SECRET)),
    "arrow stream": lambda _: Wrapped(batches(ValueError(SECRET))),
    "arrow stream, opened": lambda _: Opened(),
    "arrow stream, opened, an error of ours": lambda _: OpenedAsOurs(),
    "arrow stream, asked": lambda _: Asked(),
    "polars lazy": lambda folder: pl.scan_csv(csv(folder), schema={"user": pl.Int64, "item": pl.Int64}),
    "polars cast": lambda folder: pl.scan_csv(csv(folder)).with_columns(pl.col("item").cast(pl.Int64)),
    "duckdb": lambda folder: duckdb.sql(
        f"select user, cast(item as int) as item from read_csv('{csv(folder)}')"  # noqa: S608
    ),
    "pandas": lambda _: pd.DataFrame({"user": [1, 2], "item": [5, SECRET]}),
    "pairs": lambda _: failing((1, 2), ValueError(SECRET)),
    "pairs, an error of ours": lambda _: failing((1, 2), dpsel.exceptions.DataError(SECRET)),
    "items of a user": lambda _: [(1, [3]), (2, [4, Indexed()])],
    "user": lambda _: [(1, 2), (Indexed(), 2)],
}


def chain(error: BaseException | None) -> list[BaseException]:
    """The exception and all that it is chained to, shown or not."""
    seen: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and one not in seen:
            seen.append(one)
            waiting += [one.__cause__, one.__context__]
    return seen


@pytest.mark.parametrize("name", SOURCES)
def test_an_error_of_a_source_keeps_its_words(name, tmp_path) -> None:
    source = SOURCES[name](tmp_path)
    with pytest.raises(dpsel.DpselError) as caught:
        select(source, **GIVEN)
    shown = [text for error in chain(caught.value) for text in (str(error), repr(error.args))]
    assert not any(SECRET in text for text in [*shown, "".join(traceback.format_exception(caught.value))])
    assert [*map(type, chain(caught.value))] == [type(caught.value)], "it is chained to nothing"


def test_class_and_position_stay() -> None:
    def message(source) -> str:
        with pytest.raises(dpsel.exceptions.DataError) as caught:
            select(source, **GIVEN)
        return str(caught.value)

    end = "; its message may quote a value and is left out, so read the source without dpsel to see it"
    start = "the source of the data failed: it"
    assert message(failing((1, 2), ValueError(SECRET))) == f"{start} raised ValueError at position 1{end}"
    assert message([(1, [2]), (2, Items())]) == f"{start} raised ValueError at position 1{end}"
    assert message(Opened()) == f"{start} raised KeyError when it was opened{end}"
    assert message(Asked()) == f"{start} raised RuntimeError when it was opened{end}"
    assert message(batches(ValueError(SECRET))) == (
        f"{start}s Arrow stream broke off with an error after 7 rows{end}"
    )
    # A class may be made of anything.
    odd = type(SECRET, (ValueError,), {})
    assert message(failing((1, 2), odd())) == f"{start} raised an exception at position 1{end}"


class Within:
    """Somebody's own table, or iterable, of one of ours."""

    def __init__(self, data) -> None:
        self.data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return dpsel.select_partitions(self.data, **COLUMNS, **GIVEN).items

    def __iter__(self):
        yield 1, 2
        dpsel.select_partitions(self.data, **COLUMNS, **GIVEN)


COLUMNS = {"user": "user", "item": "item"}


@pytest.mark.parametrize("kind", ["pandas", "numpy", "records", "pyarrow"])
@pytest.mark.parametrize("way", ["itself", "stream", "pairs"])
def test_our_own_errors_keep_their_words_on_their_way_through_foreign_code(way, kind) -> None:
    users = [1, 2]
    data, words = {
        "pandas": (
            pd.DataFrame({"user": users, "item": pd.Series([1, SECRET], dtype=object)}),
            "column 'item'",
        ),
        "numpy": (
            {"user": np.array(users), "item": np.array([1, 2**40], "M8[D]")},
            "column 'item' has dates",
        ),
        "records": ([{"user": 1, "item": 1}, SECRET], "the row at position 1 is a str"),
        "pyarrow": (pa.table({"user": [1, None], "item": users}), "user column 'user' is null in row 2"),
    }[kind]
    given = {"itself": data, "stream": Within(data), "pairs": iter(Within(data))}[way]
    with pytest.raises(dpsel.DpselError, match=words) as caught:
        dpsel.select_partitions(given, **COLUMNS, **GIVEN)
    assert SECRET not in str(caught.value)
    assert chain(caught.value) == [caught.value]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_is_no_error_of_the_source(error) -> None:
    with pytest.raises(error) as caught:
        select(failing((1, 2), error(SECRET) if error is KeyboardInterrupt else error(3)), **GIVEN)
    assert SECRET not in str(caught.value)
    assert chain(caught.value) == [caught.value]


class Panic(BaseException):
    """As the panics of libraries in Rust: no `Exception`, and its text quotes data."""


class Panicking:
    """Somebody's own table, which panics when it is asked what it is."""

    def __getattr__(self, name: str):
        raise Panic(SECRET)


@pytest.mark.parametrize(
    "error",
    [Panic(SECRET), pl.exceptions.PanicException(SECRET), BaseExceptionGroup(SECRET, [KeyboardInterrupt()])],
    ids=lambda error: type(error).__name__,
)
def test_what_is_no_exception_is_replaced_too(error) -> None:
    for source in (failing((1, 2), error), failing((1, {2, 3}), error)):
        with pytest.raises(dpsel.exceptions.DataError, match=type(error).__name__) as caught:
            select(source, **GIVEN)
        assert SECRET not in "".join(traceback.format_exception(caught.value))
        assert chain(caught.value) == [caught.value]


def test_a_panic_of_a_table_that_is_opened_is_replaced_too() -> None:
    with pytest.raises(dpsel.exceptions.DataError, match="it raised Panic when it was opened") as caught:
        select(Panicking(), **GIVEN)
    assert chain(caught.value) == [caught.value]


@pytest.mark.parametrize(("code", "kept"), [(None, None), (3, 3), (SECRET, 1), ([SECRET], 1)])
@pytest.mark.parametrize("opens", [False, True])
def test_an_exit_keeps_its_number_only(code, kept, opens) -> None:
    class Exits:
        def __getattr__(self, name: str):
            raise SystemExit(code)

    with pytest.raises(SystemExit) as caught:
        select(Exits() if opens else failing((1, 2), SystemExit(code)), **GIVEN)
    assert caught.value.code == kept
    assert chain(caught.value) == [caught.value]


@pytest.mark.parametrize("opens", [False, True])
def test_a_cancelled_task_stays_cancelled(opens) -> None:
    class Cancelled:
        def __getattr__(self, name: str):
            raise asyncio.CancelledError(SECRET)

    source = Cancelled() if opens else failing((1, 2), asyncio.CancelledError(SECRET))
    with pytest.raises(asyncio.CancelledError) as caught:
        select(source, **GIVEN)
    assert caught.value.args == ()
    assert chain(caught.value) == [caught.value]


def test_a_generator_that_fails_while_it_is_closed_says_nothing(capfd) -> None:
    def rows():
        try:
            yield from ((n, n) for n in range(10))
            yield None, 1
            yield from ((n, n) for n in range(10))
        finally:
            raise ValueError(SECRET)

    class Rows:
        def __iter__(self):
            return rows()

    with pytest.raises(dpsel.exceptions.DataError, match="the user is None at position 10"):
        select(Rows(), **GIVEN)
    gc.collect()
    assert SECRET not in capfd.readouterr().err


def test_an_iterator_of_the_caller_that_is_no_generator_stays_open(tmp_path) -> None:
    with Path(csv(tmp_path)).open() as lines:
        pairs = map(str.split, lines)
        with pytest.raises(dpsel.exceptions.SchemaError, match="position 0"):
            select(pairs, **GIVEN)
        assert lines.readline()


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1])
def test_a_number_that_no_type_holds_is_an_error_of_ours(number) -> None:
    """Not an `OverflowError` of the library that was to convert it."""
    for source in (
        pd.DataFrame({"user": [1, 2], "item": pd.Series([number, -1], dtype=object)}),
        [(1, number), (2, -1)],
    ):
        with pytest.raises(dpsel.exceptions.SchemaError) as caught:
            select(source, **GIVEN)
        assert str(number) not in str(caught.value)
        assert chain(caught.value) == [caught.value]


@pytest.mark.parametrize("given", [1, 5.5, "bar"], ids=repr)
def test_progress_that_cannot_be_called_is_refused_before_anything_is_read(given) -> None:
    def rows():
        raise AssertionError("the data was read")
        yield

    rule = "progress must be True or a function of .done, total."
    expected = f"{rule}, got {type(given).__name__}; pass a function"
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match=expected):
        select(rows(), progress=given, **GIVEN)
    top_k = {"k": 1, "privacy": dpsel.PureDP(epsilon=1.0), "domain": [1]}
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match=expected):
        dpsel.select_top_k(rows(), progress=given, **top_k)


def test_an_exception_of_the_progress_function_is_the_callers_own() -> None:
    """It sees no data, only numbers of bytes or rows."""

    def stop(*_: int) -> None:
        raise LookupError("own")

    with pytest.raises(LookupError, match="own"):
        select(table([(1, 2)]), progress=stop, **GIVEN)
