"""Signals, threads and forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import dpsel
from weak import WEAK

pytestmark = WEAK

KEY = bytes(range(32))
PRIVACY = dpsel.ApproxDP(epsilon=3.0, delta=0.05)
WEIGHTS = {
    "privacy": PRIVACY,
    "max_items_per_user": 10,
    "with_weights": True,
    "mechanism": dpsel.CountGaussian(),
}
ROWS = [(user, item) for user in range(100) for item in range(10)]

INTERRUPTED = """
import itertools, sys, time
import dpsel
def rows():
    print("started", flush=True)
    for n in itertools.count():
        time.sleep(0.001 if n > {fast} else 0)
        yield n, n % 10
try:
    dpsel.select_partitions(rows(), privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=3)
except KeyboardInterrupt:
    print("interrupted", flush=True)
# The next call works: nothing was left in a bad state.
again = dpsel.select_partitions(
    [(n, 1) for n in range(500)], privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=3
)
print(again.items)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a child alone")
@pytest.mark.parametrize("fast", [0, 200_000])
def test_ctrl_c_in_a_slow_producer(fast):
    """Before the first chunk, and after the job has started."""
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(fast=fast)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout.readline() == "started\n"
        time.sleep(1.5)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert time.monotonic() - sent < 10
    assert out == "interrupted\n[1]\n", err
    assert child.returncode == 0


def test_an_exception_of_the_progress_function_stops_the_job():
    class OwnError(Exception):
        pass

    def fail(done, total):
        raise OwnError(done, total)

    with pytest.raises(OwnError):
        dpsel.select_partitions(ROWS, progress=fail, **WEIGHTS)


def test_progress_rises_and_knows_the_total_of_files(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in ROWS * 50))
    calls = []
    dpsel.select_partitions(
        path, user="user", item="item", progress=lambda done, total: calls.append((done, total)), **WEIGHTS
    )
    assert calls == sorted(calls)
    assert calls[-1][1] > 0
    assert calls[-1][0] <= calls[-1][1]


def test_python_threads_can_select_at_the_same_time():
    expected = dpsel.select_partitions(ROWS, insecure_test_key=KEY, **WEIGHTS).items
    found = []

    def run():
        found.append(dpsel.select_partitions(iter(ROWS), insecure_test_key=KEY, **WEIGHTS).items)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == [expected] * 8


def test_a_producer_may_select_itself():
    def rows():
        inner = dpsel.select_partitions(ROWS, insecure_test_key=KEY, **WEIGHTS).items
        assert inner
        yield from ROWS

    outer = dpsel.select_partitions(rows(), insecure_test_key=KEY, **WEIGHTS).items
    assert outer == dpsel.select_partitions(ROWS, insecure_test_key=KEY, **WEIGHTS).items


def test_two_releases_differ():
    first, second = (dpsel.select_partitions(ROWS, **WEIGHTS) for _ in range(2))
    assert first.items != second.items
    assert first.report["key"] != second.report["key"]


FORKS = """
import os, warnings
warnings.simplefilter("ignore")
import dpsel
rows = [(user, item) for user in range(100) for item in range(10)]
def draw():
    release = dpsel.select_partitions(
        rows, privacy=dpsel.ApproxDP(epsilon=3.0, delta=0.05), max_items_per_user=10, with_weights=True,
        mechanism=dpsel.CountGaussian(), threads={threads},
    )
    return repr(release.items)
draw()
for _ in range(3):
    if os.fork() == 0:
        os.write(1, draw().encode() + b"\\n")
        os._exit(0)
    os.wait()
print(draw(), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("threads", ["1", "2"])
def test_forked_children_draw_other_noise_than_each_other(threads):
    """And a job before the fork leaves nothing behind that a child would wait for."""
    script = FORKS.format(threads=threads)
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert len(set(lines)) == 4


FREED = """
import atexit, os, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
# It runs after the handlers of what is imported later.
atexit.register(lambda: print(of_jobs(), flush=True))
import numpy as np
import dpsel
users = np.repeat(np.arange(200_000), 30)
rows = {"user": users, "item": np.random.default_rng(1).integers(0, 6_000_000, len(users))}

def work(**settings):
    return len(dpsel.select_partitions(
        rows, user="user", item="item", privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        max_items_per_user=10, mechanism="sips", threads=2, **settings,
    ))

def fail(done, total):
    if done == total:
        raise ValueError("at the end")

def of_jobs():
    time.sleep(0.001)  # The system takes a moment to forget a thread.
    found = 0
    for name in Path("/proc/self/task").glob("*/comm"):
        try:
            found += name.read_text() == "dpsel\\n"
        except OSError:  # It has ended meanwhile.
            pass
    return found

for ending in ("answer", "error", "answer"):
    try:
        work(**({"progress": fail} if ending == "error" else {}))
    except ValueError:
        assert ending == "error"
    if os.fork() == 0:
        work()
        os._exit(0)
    print(of_jobs(), flush=True)
    assert os.wait()[1] == 0
work()
"""


@pytest.mark.long("many jobs, each with a process after it")
@pytest.mark.skipif(sys.platform != "linux", reason="threads are read from /proc")
def test_no_thread_of_a_job_is_there_when_the_process_forks_or_ends():
    """A job frees its memory after it has answered. Children can work."""
    done = subprocess.run(
        [sys.executable, "-c", FREED], check=True, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["0", "0", "0", "0"]
    assert done.stderr == ""
