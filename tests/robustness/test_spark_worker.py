"""What the processes of executors do for their speed, without Spark."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
from dpsel.spark._worker import keep_modules

gc.freeze()
before = gc.get_freeze_count()
made = [[] for _ in range(5000)]
keep_modules()
frozen = gc.get_freeze_count()
assert frozen >= before + 5000, (before, frozen)
more = [[] for _ in range(5000)]
keep_modules()
assert gc.get_freeze_count() < frozen + 1000

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


ROUNDS = """
import sys
from importlib.util import find_spec
from types import SimpleNamespace

from dpsel.spark._tasks import OfValues, WeighBlocks

class Giving(WeighBlocks):
    def start(self, job):
        return SimpleNamespace(push=lambda batch: [batch], finish=lambda: [])

assert find_spec("pandas")
sealed = SimpleNamespace(open=lambda: None)
made = list(OfValues(Giving(sealed, 1, b""))([b"ab", b"", bytes(70_000)]))
assert "pandas" not in sys.modules
assert [bucket for bucket, _ in made] == [0, 0, 0]
assert [value.to_pybytes() for _, value in made] == [b"ab", b"", bytes(70_000)]
"""


def test_tasks_of_rounds_load_no_pandas() -> None:
    """Each worker would load it once, and search it for garbage after every task."""
    subprocess.run([sys.executable, "-c", ROUNDS], check=True, timeout=60)
