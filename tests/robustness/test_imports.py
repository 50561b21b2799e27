"""Any thread may import the package, and may end then: as under dbt, a web server or a scheduler."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: The import is in a thread; what follows is in others, in the main one, or in children of a fork.
FIRST = """
import multiprocessing, os, threading
from concurrent.futures import ThreadPoolExecutor

def release(number=0):
    import dpsel
    rows = [(user, item) for user in range(40) for item in range(6)]
    options = {"privacy": dpsel.ApproxDP(epsilon=9.0, delta=0.05), "max_items_per_user": 6}
    return len(dpsel.select_partitions(rows, threads=1 + number % 3, mechanism=dpsel.Sips(), **options))

def in_a_thread(job):
    thread = threading.Thread(target=job)
    thread.start()
    thread.join()
"""
CASES = {
    "one thread imports, and others release": """
in_a_thread(lambda: __import__("dpsel"))
for _ in range(20):
    in_a_thread(release)
""",
    "a pool of threads imports and ends": """
for _ in range(3):
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(release, range(16)))
""",
    "a thread imports, and the main thread releases": """
in_a_thread(release)
in_a_thread(lambda: None)
assert release() and release(1)
""",
    "a thread imports, another one forks": """
in_a_thread(release)
def forks():
    with multiprocessing.get_context("fork").Pool(2) as children:
        assert all(children.map(release, range(8)))
in_a_thread(forks)
assert release()
""",
    "the program ends while a thread still releases": """
in_a_thread(release)
threading.Thread(target=lambda: [release() for _ in range(10**6)], daemon=True).start()
assert release()
""",
}


@pytest.mark.parametrize("case", CASES)
def test_any_thread_may_be_the_first(case) -> None:
    if "fork" in case and sys.platform != "linux":
        pytest.skip("forks beside threads are for Linux")
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FIRST + CASES[case]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
