"""Many threads at once, and processes by fork and by spawn; `test_processes.py` has the single cases."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import sys
import sysconfig
import warnings

import pytest

import dpsel
from mechanisms import CURVES, MECHANISMS
from support import KEY, items_of, select, table
from weak import WEAK

pytestmark = WEAK

ROWS = [(user, item) for user in range(60) for item in range(12) if (user * item) % 7 < 5]
PRIVACY = dpsel.ApproxDP(epsilon=3.0, delta=0.05)


def call(number: int):
    """One of many kinds of calls; the same number gives the same release."""
    case = [*MECHANISMS, *CURVES][number % len([*MECHANISMS, *CURVES])]
    bound = 1 if case.name == "one_item" else 8
    data = table(ROWS) if number % 2 else [(user, item) for user, item in ROWS]
    return items_of(
        select(
            data, privacy=PRIVACY, max_items_per_user=bound, mechanism=case.mechanism, threads=1 + number % 3
        )
    )


def test_thirty_two_threads_at_once_agree_with_one() -> None:
    numbers = list(range(2 * len([*MECHANISMS, *CURVES])))
    expected = [call(number) for number in numbers]
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        for _ in range(3):
            assert list(pool.map(call, numbers)) == expected


def commitment(_: int) -> str:
    """The name of the fresh key of a release in this process."""
    release = dpsel.select_partitions(ROWS, privacy=PRIVACY, max_items_per_user=8)
    return release.report["key"]["commitment"]


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_no_two_processes_of_a_pool_draw_the_same_key(method) -> None:
    context = multiprocessing.get_context(method)
    commitment(0)
    with warnings.catch_warnings():
        # Newer Pythons warn of forks beside threads; that this works is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        with context.Pool(4) as pool:
            found = pool.map(commitment, range(24), chunksize=1)
    assert len({*found, commitment(0)}) == 25


def fork_in_a_thread_storm() -> str:
    """Fork while other threads are inside calls, which hold whatever locks there are."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        busy = [pool.submit(call, number) for number in range(16)]
        context = multiprocessing.get_context("fork")
        with context.Pool(2) as children:
            found = children.map(commitment, range(8), chunksize=1)
        for each in busy:
            each.result(timeout=60)
    return f"{len(set(found))}"


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
def test_a_fork_amid_running_calls_does_not_hang() -> None:
    """What is remembered stands behind locks; a child does not wait for one that was held."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            assert pool.submit(fork_in_a_thread_storm).result(timeout=60) == "8"


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has an interpreter lock"
)
def test_a_free_threaded_python_keeps_its_lock_off() -> None:
    """The module declares that it needs no lock, so importing it does not switch one on."""
    assert dpsel._core
    assert not sys._is_gil_enabled()


def test_two_keys_differ_and_a_test_key_is_repeated() -> None:
    assert commitment(0) != commitment(0)
    assert items_of(select(ROWS, privacy=PRIVACY, max_items_per_user=8, key=KEY)) == items_of(
        select(ROWS, privacy=PRIVACY, max_items_per_user=8, key=KEY)
    )
