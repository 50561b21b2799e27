"""A system that starts few threads: the same release on those that run, or an error of ours."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError

CODE = """
import resource, sys, dpsel, polars as pl
frame = pl.DataFrame({"user": list(range(200_000)), "item": ["tea"] * 200_000})
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + (int(sys.argv[1]) << 20),) * 2)
try:
    release = dpsel.select_partitions(
        frame, user="user", item="item", max_items_per_user=1,
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        threads=1000, mechanism="weighted_gaussian", memory_limit="4GiB", scratch=None,
    )
    print(release.items["item"].to_list())
except MemoryError as error:
    print(type(error).__name__)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_release_goes_on_with_the_threads_that_the_system_starts():
    for room in (300, 1000):
        command = [sys.executable, "-c", CODE, str(room)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert (done.stdout, done.returncode) == ("['tea']\n", 0), done.stderr


def test_threads_beyond_any_machine_are_refused():
    with pytest.raises(InvalidParameterError, match="threads must be at most 1024, got 100000; leave it out"):
        dpsel.select_partitions(
            [(1, "tea")],
            privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            max_items_per_user=1,
            threads=100_000,
        )
