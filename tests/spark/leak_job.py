"""Releases on a Spark that logs, stores and shows all it can. Prints one JSON object.

    python tests/spark/leak_job.py FOLDER classic|connect plain|encrypted PORT

Left in the folder: `driver.log` (Python, level DEBUG), `jvm.log` (the same of Java), `events`, `pages`
(user interface and REST), and `disks`: what was ever below spark.local.dir. There is hardly any memory for
blocks, so Spark writes each to disk, and it compresses nothing. Run by test_spark_secrets.py as a process of
its own, because a process has either kind of session.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import threading
import urllib.request
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from spark_support import arguments, named_rows  # noqa: E402

import dpsel  # noqa: E402
import dpsel.spark  # noqa: E402
from dpsel.exceptions import UnencryptedSparkWarning  # noqa: E402
from dpsel.spark import _dataflow, _driver, _sharing, _values  # noqa: E402
from support import KEY  # noqa: E402

LOG4J = """
rootLogger.level = debug
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {folder}/jvm.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c: %m%n%ex
"""


def session(folder: Path, kind: str, port: str, *, encrypted: bool):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    (folder / "events").mkdir()
    (folder / "log4j2.properties").write_text(LOG4J.format(folder=folder))
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.configurationFile={folder}/log4j2.properties"
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": java,
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "true",
        "spark.ui.port": port,
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.local.dir": str(folder / "local"),
        "spark.io.encryption.enabled": str(encrypted).lower(),
        # Seven kilobytes for blocks; what Spark sorts stays outside of the heap.
        "spark.memory.fraction": "0.00001",
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": "512m",
        "spark.broadcast.compress": "false",
        "spark.shuffle.compress": "false",
        "spark.shuffle.spill.compress": "false",
        "spark.rdd.compress": "false",
        "spark.sql.shuffle.partitions": "3",
    }
    if kind == "connect":
        settings[_sharing.SETTING] = _sharing.RESERVED
    builder = SparkSession.builder
    builder = builder.remote("local[2]") if kind == "connect" else builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@contextmanager
def keeping(folder: Path):
    """Keep whatever is written below `local`, by a second name."""
    kept, ended = folder / "disks", threading.Event()
    kept.mkdir()

    def look() -> None:
        for path in (folder / "local").rglob("*"):
            # A file may go while it is looked at, and may have been kept before.
            with suppress(OSError):
                if path.is_file():
                    os.link(path, kept / f"{path.stat().st_ino} {path.name}")

    def keep() -> None:
        while not ended.wait(0.02):
            look()

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        yield
        look()
    finally:
        ended.set()
        thread.join()


def pages(port: str) -> bytes:
    """What the user interface and REST show."""

    def page(path: str) -> bytes:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
                return answer.read()
        except OSError as error:
            return repr(error).encode()

    found = {}
    application = json.loads(page("/api/v1/applications"))[0]["id"]
    rest = ["jobs", "environment", "storage/rdd", "allexecutors", "stages?details=true"]
    rest.append("sql?details=true&planDescription=true&length=1000")
    new = ["/jobs/", "/stages/", "/storage/", "/environment/", "/executors/", "/SQL/", "/connect/"]
    new += [f"/api/v1/applications/{application}/{what}" for what in rest]
    # Each kind of page once or a few times; they are all alike.
    for path in new:
        found[path] = page(path)
        for kind in (
            r"/SQL/execution/\?id=\d+",
            r"/jobs/job/?\?id=\d+",
            r"/stages/stage/?\?id=\d+&amp;attempt=0",
        ):
            for link in re.findall(kind.encode(), found[path])[:8]:
                name = link.decode().replace("&amp;", "&")
                if name not in found:
                    found[name] = page(name)
        for link in re.findall(rb'"(/connect/session[^"]+)"', found[path]):
            found[link.decode()] = page(link.decode().replace("&amp;", "&"))
    return b"\n".join(path.encode() + b"\n" + text for path, text in found.items())


def releases(spark, frame) -> dict:
    """Every kind of task is run."""
    found = dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips()))
    steered = dpsel.spark.select_partitions(frame, **arguments(dpsel.Steered(rounds=2), counts=0.2))
    _driver.DRIVER_SUMS, _values.FUNCTION_BYTES = 1, 0
    again = dpsel.spark.select_partitions(frame, **arguments(dpsel.Steered(rounds=2), counts=0.2))
    assert again.to_local().to_pylist() == steered.to_local().to_pylist()
    given = {"user": "user", "item": "item", "k": 5, "privacy": dpsel.ApproxDP(epsilon=2.0, delta=1e-4)}
    top = dpsel.spark.select_top_k(frame, insecure_test_key=KEY, **given)
    released = {*found.to_local().to_pylist(), *steered.to_local()}
    released |= set(top.to_local().to_pylist())
    if getattr(spark, "_sc", None) is not None:
        _dataflow.BROADCAST_ITEMS, _dataflow.FILTER_BITS = 0, 1
        joined = dpsel.spark.select_partitions(frame, **arguments(dpsel.Sips()))
        assert joined.to_local().to_pylist() == found.to_local().to_pylist()
    return {"released": sorted(released), "after": spark.conf.get(_sharing.SETTING, None)}


def main() -> None:
    folder, kind, encryption, port = Path(sys.argv[1]), *sys.argv[2:]
    logging.basicConfig(filename=folder / "driver.log", level=logging.DEBUG)
    (folder / "table").mkdir()
    import pyarrow.parquet as pq

    # Several files instead of a shuffle, which would write the rows to disk.
    local = named_rows()
    for part in range(4):
        pq.write_table(local.take(list(range(part, len(local), 4))), folder / "table" / f"{part}.parquet")
    shares = []
    enter = _sharing._Shares.enter

    def entering(own, *given):
        used = enter(own, *given)
        shares.append(used.share.text())
        return used

    _sharing._Shares.enter = entering
    spark = session(folder, kind, port, encrypted=encryption == "encrypted")
    with warnings.catch_warnings(record=True) as caught, keeping(folder):
        warnings.simplefilter("always")
        results = releases(spark, spark.read.parquet(str(folder / "table")))
        (folder / "pages").write_bytes(pages(port))
    results["shares"] = shares
    results["warned"] = [str(w.message) for w in caught if issubclass(w.category, UnencryptedSparkWarning)]
    spark.stop()
    print("RESULTS" + json.dumps(results))


if __name__ == "__main__":
    main()
