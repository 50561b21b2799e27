"""Ctrl-C at random moments of reading, computing, writing: a quick end, nothing left, the next call works."""

from __future__ import annotations

import random
import signal
import sys
import time

import pyarrow.parquet
import pytest

from children import ITEMS, start

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is not sent to a child there")

#: Seconds within which an interrupted call has to come back.
PATIENCE = 5
SCRIPT = """
    import warnings
    warnings.simplefilter("ignore", dpsel.WeakGuaranteeWarning)
    data = rows()
    def job():
        release = dpsel.select_partitions(data, user="user", item="item", **GENEROUS)
        for name in ("items.parquet", "items.csv.gz"):
            release.write(name)
    started = time.monotonic()
    job()
    print(time.monotonic() - started, flush=True)
    interrupted = 0
    while True:
        try:
            job()
        except KeyboardInterrupt:
            interrupted += 1
            print("interrupted", flush=True)
        if interrupted == {times}:
            break
    job()
    print("done", flush=True)
"""


@pytest.mark.long("starts a process for each moment")
@pytest.mark.parametrize("times", [5, pytest.param(60, marks=pytest.mark.slow)])
def test_ctrl_c_at_any_moment(times, tmp_path):
    moments = random.Random(times)
    with start(SCRIPT.replace("{times}", str(times)), tmp_path) as child:
        try:
            whole = float(child.stdout.readline())
            for _ in range(times):
                time.sleep(moments.uniform(0.05, 1.5 * whole))
                sent = time.monotonic()
                child.send_signal(signal.SIGINT)
                assert child.stdout.readline() == "interrupted\n", child.stderr.read()
                assert time.monotonic() - sent < PATIENCE
            out, err = child.communicate(timeout=60)
        finally:
            child.kill()
    assert (out, err, child.returncode) == ("done\n", "", 0)
    # A file written aside goes when its writing is over, whatever came in between.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.csv.gz", "items.parquet"]
    assert pyarrow.parquet.read_table(tmp_path / "items.parquet").num_rows == ITEMS
