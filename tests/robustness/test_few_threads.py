"""A system that starts few threads: the same release on those that run, or an error of ours."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError

# Root may start any number of threads, so it becomes a user whose only threads are those of this process.
CODE = """
import os, resource, sys, dpsel, polars as pl
frame = pl.DataFrame({"user": list(range(200_000)), "item": ["tea"] * 200_000})

def released(threads):
    return dpsel.select_partitions(
        frame, user="user", item="item", max_items_per_user=1,
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        threads=threads, mechanism="weighted_gaussian", memory_limit="4GiB", scratch=None,
    ).items["item"].to_list()

released(threads=1)  # so that all modules are loaded
if os.getuid() == 0:
    os.setuid(65_533)
further = int(sys.argv[1])
running = len(os.listdir("/proc/self/task")) if further else 0
resource.setrlimit(resource.RLIMIT_NPROC, (running + further,) * 2)
try:
    print(released(threads=1000))
except MemoryError as error:
    print(error)
"""


def with_further_threads(count: int) -> subprocess.CompletedProcess[str]:
    """A release in a process that may start `count` further threads."""
    command = [sys.executable, "-c", CODE, str(count)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.skipif(os.getuid() != 0, reason="others' threads count against this user's limit")
@pytest.mark.parametrize("further", [1, 2, 4])
def test_a_release_goes_on_with_the_threads_that_the_system_starts(further):
    done = with_further_threads(further)
    assert (done.stdout, done.returncode) == ("['tea']\n", 0), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of threads")
def test_a_system_that_starts_no_thread_gives_an_error_of_ours():
    done = with_further_threads(0)
    assert (done.stdout.split(":")[0], done.returncode) == ("the operating system starts no thread", 0), (
        done.stderr
    )


def test_threads_beyond_any_machine_are_refused():
    with pytest.raises(InvalidParameterError, match="threads must be at most 1024, got 100000; leave it out"):
        dpsel.select_partitions(
            [(1, "tea")],
            privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            max_items_per_user=1,
            threads=100_000,
        )
