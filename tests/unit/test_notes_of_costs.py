"""Whatever ends a call behind its payment says that the cost stays spent; before it, nothing does."""

from __future__ import annotations

import itertools
import signal
import threading

import pytest

import dpsel
from dpsel.exceptions import STAYS_SPENT, DataError, DpselError, MemoryLimitError

ONE = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
TOTAL = dpsel.ApproxDP(epsilon=100.0, delta=1e-3)
PAIRS = [(user, "tea") for user in range(300)]


@pytest.fixture(params=["budget", "ledger"])
def budget(request, tmp_path):
    return dpsel.Budget(TOTAL) if request.param == "budget" else dpsel.Ledger(tmp_path / "spent", TOTAL)


def interrupted():
    yield from PAIRS
    raise KeyboardInterrupt


def select(data, privacy, **more):
    dpsel.select_partitions(data, privacy=privacy, max_items_per_user=1, **more)


def top_k(data, privacy, **more):
    dpsel.select_top_k(data, privacy=privacy, k=1, **more)


def stop(*_):
    raise KeyboardInterrupt


def signalled():
    """Rows without an end, and the signal of Ctrl-C while they are read."""
    for user in itertools.count():
        if user == 300:
            threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
        yield user % 300, "tea"


ENDS = {
    "a null user": (DataError, lambda call, paid: call([*PAIRS, (None, "tea")], paid)),
    "an interrupt of the source": (KeyboardInterrupt, lambda call, paid: call(interrupted(), paid)),
    "an interrupt of the progress": (
        KeyboardInterrupt,
        lambda call, paid: call(PAIRS * 99, paid, progress=stop),
    ),
    "a limit of memory": (
        MemoryLimitError,
        lambda call, paid: call(iter([(n, str(n)) for n in range(99_999)]), paid, memory_limit="1kiB"),
    ),
    "a signal": (KeyboardInterrupt, lambda call, paid: call(signalled(), paid)),
}


@pytest.mark.parametrize("call", [select, top_k])
@pytest.mark.parametrize("end", ENDS)
def test_an_end_behind_the_payment_says_that_the_cost_stays_spent(end, call, budget) -> None:
    kind, run = ENDS[end]
    with pytest.raises(kind) as caught:
        run(call, budget.on_use(ONE))
    assert len(budget.spent) == 1
    assert STAYS_SPENT in caught.value.__notes__


def failing_counts():
    yield 5
    raise KeyboardInterrupt


def test_counts_that_fail_say_so_if_they_are_paid(budget) -> None:
    with pytest.raises((KeyboardInterrupt, DpselError)) as caught:
        dpsel.top_k_from_counts(failing_counts(), k=1, privacy=budget.on_use(dpsel.PureDP(epsilon=1.0)))
    assert (STAYS_SPENT in getattr(caught.value, "__notes__", [])) == (len(budget.spent) == 1)


@pytest.mark.parametrize("call", [select, top_k])
def test_an_end_before_the_payment_says_nothing(call, budget) -> None:
    with pytest.raises(DpselError) as caught:
        call({"user": [1], "item": ["tea"]}, budget.on_use(ONE), user="user", item="drink")
    assert not getattr(caught.value, "__notes__", [])
    assert len(budget.spent) == 0


@pytest.mark.parametrize("call", [select, top_k])
def test_an_end_of_a_call_that_nobody_pays_says_nothing(call) -> None:
    with pytest.raises(DataError) as caught:
        call([*PAIRS, (None, "tea")], ONE)
    assert not getattr(caught.value, "__notes__", [])
