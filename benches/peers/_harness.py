"""What every peer has in common: its arguments, its clock, its memory, its line of JSON."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def run(job: Callable[[str, Any], int], prepare: Callable[[argparse.Namespace], Any], **options: tuple[str, ...]) -> None:
    """Time `job(path, prepared)`, which returns the number of items in its result, and print one line of JSON.

    `prepare` starts the engine and reads the arguments; its time is not the job's own. `options` are the
    choices of the peer, the first one being the default.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    for name, choices in options.items():
        parser.add_argument(f"--{name}", choices=choices, default=choices[0])
    args = parser.parse_args()
    prepared = prepare(args)
    start = time.perf_counter()
    items = job(args.path, prepared)
    seconds = time.perf_counter() - start
    print(json.dumps({"own_seconds": seconds, "peak_mib": peak_mib(), "items": items}), flush=True)


def peak_mib() -> float:
    """Peak resident memory of this process and its descendants, the sum of the peak of each, in MiB.

    Read from the kernel's high-water mark, which unlike `getrusage` does not inherit the parent's.
    """
    pids, total = [os.getpid()], 0
    while pids:
        pid = pids.pop()
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            tasks = list(Path(f"/proc/{pid}/task").glob("*/children"))
            pids += [int(child) for task in tasks for child in task.read_text().split()]
        except OSError:  # it ended meanwhile
            continue
        total += next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)
    return total / 1024
