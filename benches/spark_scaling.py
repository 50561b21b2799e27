"""Sips on Spark: dpsel.spark against DP-SIPS in plain PySpark, in turns; Steered and the local engine beside.

    python -m benches.spark_scaling --users 10000 100000 500000

Each run is a process of its own with a session of `local[threads]`, which has run a first job, with Python
workers, before the clock starts. Each engine has the settings that are best for it (`SETTINGS`). Processor
seconds are those of the whole tree of processes, the JVM and Python workers included, while the job runs:
the figure for a busy machine. Shuffled bytes are what map tasks wrote, from the event log, compressed as
Spark does by default; sent ones are the results of tasks, which come to the driver.

`tree` is Steered on items that are paths of three levels, made of the integers; `nodes` is the same on lists
of the nodes that these paths have, where no node limits another one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches import data, tables
from benches.parameters import DELTA, MAX_ITEMS_PER_USER, RATIO, RHO, ROUNDS

#: Partitions of shuffles for each thread, and what else helps. Plain PySpark takes longer with 2, with
#: adaptive plans, joins by broadcast and aggregates that fall back to sorting.
SETTINGS = {
    "dpsel.spark": (
        2,
        {
            "spark.sql.execution.arrow.maxRecordsPerBatch": 100_000,
            # With this limit, and no other, Spark does not measure a batch after each of its rows.
            "spark.sql.execution.arrow.maxBytesPerBatch": 2**31 - 1,
        },
    ),
    "plain PySpark": (
        8,
        {
            "spark.sql.autoBroadcastJoinThreshold": -1,
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": 1_000_000,
        },
    ),
}
ENGINES = (*SETTINGS, "steered", "local", "tree", "nodes")
#: Of the integer in a row, the nodes from the top down.
NODES = [f"concat_ws('/', {', '.join(('item % 40', 'item % 1600', 'item')[:level])})" for level in (1, 2, 3)]


def main() -> None:
    args = arguments()
    if args.child:
        print("RESULT" + json.dumps(child(*args.child, args.threads)))
        return
    lines = []
    for users in args.users:
        path = data.ensure(data.Dataset(users, "int", args.order), args.data)
        for _ in range(args.repeats):
            for engine in args.engines:
                found = run(engine, path, args.threads)
                moved = [f"{found[name] / 2**20:.0f}" for name in ("shuffled", "sent")]
                seconds = [f"{found[name]:.1f}" for name in ("seconds", "processor")]
                lines.append([f"{users:,}", engine, *seconds, *moved, f"{found['items']:,}"])
                print(*lines[-1], found["stages"], flush=True)
    heads = ("users", "engine", "s", "processor s", "MiB shuffled", "MiB sent", "items")
    print("\n" + tables.markdown(heads, lines))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, nargs="+", default=[10_000, 100_000, 500_000])
    parser.add_argument("--order", choices=data.ORDERS, default="grouped")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES[:4]))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=data.default_folder())
    parser.add_argument("--child", nargs=3, metavar=("ENGINE", "PATH", "EVENTS"), help=argparse.SUPPRESS)
    return parser.parse_args()


def run(engine: str, path: Path, threads: int) -> dict:
    """One run in a process of its own, with what its event log says about stages."""
    with tempfile.TemporaryDirectory() as events:
        command = [sys.executable, "-m", "benches.spark_scaling", "--threads", str(threads)]
        command += ["--child", engine, str(path), events]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.rsplit("RESULT", 1)[1])
        return found | stages(Path(events))


def child(engine: str, path: str, events: str, threads: int) -> dict:
    of_dpsel = SETTINGS["dpsel.spark"]
    spark = None if engine == "local" else session(threads, events, *SETTINGS.get(engine, of_dpsel))
    start, before = time.perf_counter(), processor_seconds()
    items = JOBS[engine](path, spark)
    seconds, processor = time.perf_counter() - start, processor_seconds() - before
    if spark is not None:
        spark.stop()
    return {"seconds": seconds, "processor": processor, "items": items}


def processor_seconds() -> float:
    """What this process and all below it have used, with those that ended and were waited for."""
    used, below = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            # It ended meanwhile.
            continue
        process = int(path.parent.name)
        used[process] = sum(map(int, fields[11:15]))
        below.setdefault(int(fields[1]), []).append(process)
    tree = [os.getpid()]
    for process in tree:
        tree.extend(below.get(process, []))
    return sum(used[process] for process in tree) / os.sysconf("SC_CLK_TCK")


def session(threads: int, events: str, partitions: int, settings: dict[str, object]):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master(f"local[{threads}]")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", partitions * threads)
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.rolling.enabled", "false")
        .config("spark.eventLog.dir", Path(events).as_uri())
        .config("spark.log.level", "ERROR")
    )
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.range(1).mapInArrow(lambda batches: batches, "id long").count()
    return spark


def settings() -> dict:
    import dpsel

    privacy = dpsel.ZCDP(rho=RHO, delta=DELTA)
    mechanism = dpsel.Sips(rounds=ROUNDS, ratio=RATIO)
    limit = MAX_ITEMS_PER_USER
    return {
        "user": "user",
        "item": "item",
        "privacy": privacy,
        "max_items_per_user": limit,
        "mechanism": mechanism,
    }


def with_dpsel(path: str, spark) -> int:
    import dpsel.spark

    return len(dpsel.spark.select_partitions(spark.read.parquet(path), **settings()))


def with_steered(path: str, spark) -> int:
    import dpsel.spark

    given = settings() | {"mechanism": dpsel.Steered()}
    return len(dpsel.spark.select_partitions(spark.read.parquet(path), **given))


def with_tree(path: str, spark) -> int:
    import dpsel.spark

    given = settings() | {"mechanism": dpsel.Steered(), "levels": "/"}
    paths = spark.read.parquet(path).selectExpr("user", f"{NODES[-1]} as item")
    return len(dpsel.spark.select_partitions(paths, **given))


def with_nodes(path: str, spark) -> int:
    import dpsel.spark

    given = settings() | {"mechanism": dpsel.Steered()}
    lists = spark.read.parquet(path).selectExpr("user", f"array({', '.join(NODES)}) as item")
    return len(dpsel.spark.select_partitions(lists, **given))


def with_pyspark(path: str, spark) -> int:
    from benches.peers import spark_sips

    return spark_sips.job(path, (spark, spark_sips.ArrayForm))


def with_one_machine(path: str, spark) -> int:  # noqa: ARG001 - the engines have one form
    import dpsel

    return len(dpsel.select_partitions(path, **settings()))


JOBS = {
    "dpsel.spark": with_dpsel,
    "plain PySpark": with_pyspark,
    "steered": with_steered,
    "local": with_one_machine,
    "tree": with_tree,
    "nodes": with_nodes,
}


def stages(events: Path) -> dict:
    """Bytes that map tasks wrote and that tasks sent, and seconds and bytes of each stage that took long."""
    shuffled, sent, found = 0, 0, []
    for path in events.glob("local-*"):
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event.get("Event") != "SparkListenerStageCompleted":
                continue
            info = event["Stage Info"]
            counters = {c["Name"]: c["Value"] for c in info["Accumulables"]}
            wrote = int(counters.get("internal.metrics.shuffle.write.bytesWritten", 0))
            seconds = (info["Completion Time"] - info["Submission Time"]) / 1000
            shuffled += wrote
            sent += int(counters.get("internal.metrics.resultSize", 0))
            if seconds > 1:
                found.append(f"{seconds:.1f} s/{wrote / 2**20:.0f} MiB")
    return {"shuffled": shuffled, "sent": sent, "stages": found}


if __name__ == "__main__":
    main()
