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
