"""What the processes of executors do for their speed, without Spark."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
from dpsel.spark._worker import keep_modules

keep_modules()
frozen = gc.get_freeze_count()
assert frozen > 1000, frozen
keep_modules()
assert gc.get_freeze_count() == frozen

class Node:
    pass

for _ in range(10):
    node = Node()
    node.itself = node
del node
assert gc.collect() >= 10
"""


def test_modules_are_kept_and_later_garbage_is_found() -> None:
    """In a process of its own, since nothing thaws there."""
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
