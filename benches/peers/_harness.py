"""What every peer has in common: its arguments, its clock, its memory, its line of JSON."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Options = dict[str, tuple[str, ...]]


def run(
    job: Callable[[str, Any], int],
    prepare: Callable[[argparse.Namespace], Any],
    end: Callable[[], None] | None = None,
    **options: tuple[str, ...],
) -> None:
    """Time `job(path, prepared)`, which returns the number of items released, and print one line of JSON.

    `prepare` starts the engine and reads the arguments; its time is not the job's own. `end` waits for what
    the peer does after its answer: processor time includes it. `options` are the choices of the peer, the
    first one being the default.
    """
    args = arguments(options)
    prepared = prepare(args)
    start, cpu_start = time.perf_counter(), cpu_seconds()
    items = job(args.path, prepared)
    seconds = time.perf_counter() - start
    if end is not None:
        end()
    cpu = cpu_seconds() - cpu_start
    result = {"own_seconds": seconds, "cpu_seconds": cpu, "peak_mib": peak_mib(), "items": items}
    print(json.dumps(result), flush=True)


def arguments(options: Options) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    for name, choices in options.items():
        parser.add_argument(f"--{name}", choices=choices, default=choices[0])
    return parser.parse_args()


def cpu_seconds() -> float:
    """Processor time of this process and its living descendants, which other work hardly disturbs."""
    ticks = sum(int(field) for stat in _tree("stat") for field in stat.rsplit(")", 1)[1].split()[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


def peak_mib() -> float:
    """Peak resident memory of this process and its descendants, the sum of the peak of each, in MiB.

    Read from the kernel's high-water mark, which unlike `getrusage` does not inherit the parent's.
    """
    lines = [line for status in _tree("status") for line in status.splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def _tree(name: str) -> Iterator[str]:
    """The file of this name in /proc of this process and its descendants."""
    pids = [os.getpid()]
    while pids:
        process = Path(f"/proc/{pids.pop()}")
        try:
            pids += [int(pid) for task in process.glob("task/*/children") for pid in task.read_text().split()]
            yield (process / name).read_text()
        except OSError:  # it ended meanwhile
            continue
