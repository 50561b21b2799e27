"""Tracebacks with local variables, as notebooks and error trackers make them.

The caller's own data stands in the caller's variables, and in ours that refer to the same object; whoever
shows local variables shows those. What is promised is that nothing comes on top: no decoded value, no
intermediate result.
"""

from __future__ import annotations

import logging
import traceback

import pyarrow as pa
import pytest

import dpsel
from support import KEY

SECRET = "unselected secret value"
PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)


class Discreet:
    """A table that does not show its rows."""

    def __init__(self, data: pa.Table) -> None:
        self._data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self._data.__arrow_c_stream__(requested_schema)


def bad_rows() -> pa.Table:
    """A null user at the end, after a thousand good ones."""
    return pa.table({"user": [*range(1000), None], "item": [f"{SECRET} {n}" for n in range(1001)]})


CALLS = {
    "select": lambda data: dpsel.select_partitions(
        data, user="user", item="item", privacy=PRIVACY, max_items_per_user=2, insecure_test_key=KEY
    ),
    "top-k": lambda data: dpsel.select_top_k(
        data, user="user", item="item", privacy=PRIVACY, k=2, insecure_test_key=KEY
    ),
}


def shown(error: BaseException) -> str:
    """The traceback with all local variables, those of causes too."""
    return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())


@pytest.mark.parametrize("call", CALLS)
def test_local_variables_add_nothing_to_what_the_caller_shows(call, caplog):
    with caplog.at_level(logging.DEBUG), pytest.raises(dpsel.exceptions.DataError) as caught:
        CALLS[call](Discreet(bad_rows()))
    text = shown(caught.value)
    assert "select_" in text
    assert "insecure_test_key = " in text, "local variables are captured"
    assert SECRET not in text
    assert caplog.text == ""


@pytest.mark.parametrize("call", CALLS)
def test_a_producer_that_fails_is_reported_without_its_words(call):
    def rows():
        yield from ((n, f"{SECRET} {n}") for n in range(1000))
        raise LookupError(f"no entry for {SECRET}")

    with pytest.raises(dpsel.exceptions.DataError) as caught:
        CALLS[call](rows())
    text = shown(caught.value)
    assert "it raised LookupError at position 1000" in text
    assert SECRET not in text


def test_no_variable_of_a_filter_holds_rows(tmp_path):
    """Each failure comes after rows of the secret, in the batch that fails and in one before it."""
    pl = pytest.importorskip("polars")
    rows = [(user, "tea") for user in range(300)]
    keys = dpsel.select_partitions(
        rows, privacy=dpsel.ApproxDP(epsilon=4.0, delta=1e-4), max_items_per_user=1
    )
    batch = pa.record_batch({"item": [f"{SECRET} {n}" for n in range(100)]})

    def batches():
        yield from (batch, batch)
        raise LookupError(SECRET)

    def ends():
        yield from (batch, batch)
        raise KeyboardInterrupt

    def reader(made):
        return pa.RecordBatchReader.from_batches(batch.schema, made)

    table = Discreet(pa.table({"item": pa.array([[SECRET], [SECRET]])}))
    text = "item,n\n" + f"tea,{SECRET}\n{SECRET},1\n" * 40_000
    files = {
        "uneven.csv": f"{text}{SECRET}\n",
        "open.csv": f'{text}"{SECRET}\n',
        "bytes.csv": text.encode() + b"\xff,1\n",
        "last.ndjson": f'{{"item": "{SECRET}"}}\n' * 40_000 + f'{{"item": "{SECRET}}}\n',
        "mixed.ndjson": f'{{"item": "{SECRET}"}}\n' * 40_000 + '{"item": 1}\n',
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pa.ipc.new_stream(str(tmp_path / "cut.arrows"), batch.schema) as writer:
        for _ in range(3):
            writer.write_batch(batch)
    whole = (tmp_path / "cut.arrows").read_bytes()
    (tmp_path / "cut.arrows").write_bytes(whole[: len(whole) * 2 // 3])
    lazy = pl.LazyFrame({"item": [SECRET], "n": [1]}).with_columns(pl.col("n").cast(pl.Int8))
    calls = [
        lambda: keys.filter(reader(batches())).read_all(),
        lambda: keys.filter(reader(ends())).read_all(),
        lambda: keys.filter(table),
        lambda: keys.filter(iter([(1, "tea"), (2, SECRET), 3])),
        lambda: keys.filter(lazy.with_columns(pl.lit(1).alias("item").cast(pl.Float64))).collect(),
        *(
            lambda name=name, other=other: keys.filter_file(
                tmp_path / name, tmp_path / f"out.{name}", other=other
            )
            for name in (*files, "cut.arrows")
            for other in (None, "label")
        ),
    ]
    for call in calls:
        with pytest.raises(BaseException) as caught:  # noqa: PT011 - each is checked below
            call()
        assert isinstance(caught.value, dpsel.exceptions.DpselError | KeyboardInterrupt)
        frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        ours = [frame for frame in frames.stack if "dpsel/" in frame.filename]
        assert ours
        assert SECRET not in "".join(f"{frame.name} {frame.locals}" for frame in ours)
        assert SECRET not in str(caught.value)
