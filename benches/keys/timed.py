"""Calls a job twice in one process, and times the second call: imports and first uses are over then."""

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path


def report(job, package, **more):
    """Run `PROGRAM WARM-UP CSV EPSILON DELTA LIMIT`: the job on the first file, and timed on the second."""
    warm_up, path = sys.argv[1:3]
    parameters = (float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
    job(warm_up, *parameters)
    start, processor = time.perf_counter(), processor_seconds()
    keys = job(path, *parameters)
    found = {
        "keys": len(keys),
        "seconds": time.perf_counter() - start,
        "processor": processor_seconds() - processor,
        "version": version(package),
        **more,
    }
    print(json.dumps(found))


def processor_seconds():
    """What this process and its descendants have used, on Linux: workers and the JVM of Spark too."""
    parents, used = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has just ended
            continue
        parents[int(folder.name)] = int(fields[1])
        # Own time is known more exactly; that of children which have ended is not.
        own = int(folder.name) == os.getpid()
        used[int(folder.name)] = sum(map(int, fields[13 if own else 11 : 15]))
    others = sum(used[each] for each in used if is_ours(each, parents))
    return time.process_time() + others / os.sysconf("SC_CLK_TCK")


def is_ours(process, parents):
    """Whether a process is this one or comes from it."""
    while process > 1 and process != os.getpid():
        process = parents.get(process, 0)
    return process == os.getpid()
