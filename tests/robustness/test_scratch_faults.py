"""What can go wrong while rows are on the disk: an error that says so, no release, and nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import children
import dpsel
from dpsel.exceptions import FileError, ScratchWarning

pytestmark = pytest.mark.long("jobs that outgrow memory")

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at open files in /proc")
LIMIT = 64 << 20
BATCHES, ROWS = 24, 20_000
SCHEMA = pa.schema([("user", pa.int64()), ("item", pa.string())])
OPTIONS = {
    "user": "user",
    "item": "item",
    "privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
    "max_items_per_user": 20,
    "insecure_test_key": bytes(32),
    "memory_limit": LIMIT,
}
#: The default, and rounds whose items are decided one by one.
MECHANISMS = [dpsel.Sips(), dpsel.Steered(rounds=4)]


def batches(at=BATCHES, do=None):
    """Rows whose names take more than the limit; ``do`` is called before a batch."""
    for n in range(BATCHES):
        if n == at:
            do()
        draw = np.random.default_rng(n)
        own = 10**9 + n * ROWS + np.arange(ROWS)
        item = np.where(draw.random(ROWS) < 0.5, draw.zipf(1.3, ROWS) % 100_000, own)
        items = pa.array([f"{'a long name ' * 24}{number}" for number in item.tolist()])
        yield pa.record_batch([pa.array(draw.integers(0, 30_000, ROWS)), items], schema=SCHEMA)


def select(scratch, mechanism, **moment):
    reader = pa.RecordBatchReader.from_batches(SCHEMA, batches(**moment))
    return dpsel.select_partitions(reader, **OPTIONS, mechanism=mechanism, scratch=scratch)


def scratch_files(folder: Path) -> list[Path]:
    """The open files of this process that lie in a folder."""
    found = []
    for file in Path("/proc/self/fd").iterdir():
        try:
            if str(file.readlink()).startswith(str(folder)):
                found.append(file)
        except OSError:
            continue
    return found


@pytest.fixture
def scratch(tmp_path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@LINUX
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_a_folder_that_vanishes_is_an_error_that_names_it(mechanism, scratch):
    with pytest.raises(FileError, match="cannot make a scratch file in .*scratch") as caught:
        select(scratch, mechanism, at=BATCHES - 1, do=scratch.rmdir)
    assert "long name" not in str(caught.value)
    assert scratch_files(scratch) == []


@LINUX
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_damage_is_an_error_and_no_release(mechanism, scratch):
    def damage() -> None:
        damaged = 0
        for file in scratch_files(scratch):
            if size := file.stat().st_size:
                with file.open("r+b") as content:
                    content.seek(size // 2)
                    byte = content.read(1)
                    content.seek(size // 2)
                    content.write(bytes([byte[0] ^ 1]))
                damaged += 1
        assert damaged >= 2

    with pytest.raises(FileError, match="not what was written there, so nothing was released"):
        select(scratch, mechanism, at=BATCHES - 1, do=damage)
    assert list(scratch.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a few MiB, which is in memory, so that a call warns of it."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing can be mounted here, which takes root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)  # noqa: S607 - the system's own


@LINUX
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_a_disk_that_is_full_is_an_error_and_leaves_nothing(mechanism, small_disk):
    with (
        pytest.warns(ScratchWarning, match="tmpfs"),
        pytest.raises(FileError, match="No space left") as caught,
    ):
        select(small_disk, mechanism)
    assert "cannot write scratch to" in str(caught.value)
    assert list(small_disk.iterdir()) == []
    free = os.statvfs(small_disk)
    assert free.f_bfree == free.f_blocks


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_a_limit_that_is_reached_at_any_moment_is_an_error_that_says_so(mechanism, scratch):
    """Rows alone take most of it, so each larger limit is reached later, up to none at all."""
    ends = []
    for limit in (1 << 10, 12 << 20, 24 << 20, 48 << 20, 1 << 30):
        reader = pa.RecordBatchReader.from_batches(SCHEMA, batches())
        try:
            dpsel.select_partitions(
                reader, **OPTIONS, mechanism=mechanism, scratch=scratch, scratch_limit=limit
            )
        except FileError as error:
            ends.append(str(error).partition("that scratch_limit allows")[1])
        else:
            ends.append("done")
        assert list(scratch.iterdir()) == []
    assert "" not in ends
    assert ends[0] != "done"
    assert ends[-1] == "done"


def test_a_file_that_changes_between_two_reads_is_an_error(scratch, tmp_path):
    def table(word: str) -> pa.Table:
        rows = pa.Table.from_batches(batches())
        return rows.set_column(1, "item", pa.compute.binary_join_element_wise(rows["item"], word, "-"))

    path, other = tmp_path / "rows.parquet", tmp_path / "other.parquet"
    pyarrow.parquet.write_table(table("before"), path)
    pyarrow.parquet.write_table(table("after"), other)

    def change(done: int, total: int) -> None:
        if done > 0.5 * total > 0 and other.exists():
            other.replace(path)

    with pytest.raises(dpsel.exceptions.DataError, match="rows changed between the two") as caught:
        dpsel.select_partitions(
            path, **OPTIONS, mechanism=dpsel.Steered(rounds=4), scratch=scratch, progress=change
        )
    assert "long name" not in str(caught.value)
    assert list(scratch.iterdir()) == []


JOB = """
    import sys
    sys.path += {tests!r}
    from test_scratch_faults import OPTIONS, SCHEMA, batches
    kept = list(batches())
    def job():
        reader = pa.RecordBatchReader.from_batches(SCHEMA, kept)
        dpsel.select_partitions(reader, **OPTIONS, mechanism=dpsel.{mechanism!r}, scratch="scratch")
    started = time.monotonic()
    job()
    print(time.monotonic() - started, flush=True)
    for _ in range({times}):
        try:
            while True:
                job()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is not sent to a child there")
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_ctrl_c_ends_a_job_on_the_disk_within_five_seconds(mechanism, scratch, tmp_path):
    times = 4
    job = JOB.format(
        tests=[str(Path(file).parent) for file in (__file__, children.__file__)],
        mechanism=mechanism,
        times=times,
    )
    with children.start(job, tmp_path) as child:
        try:
            whole = float(child.stdout.readline())
            for n in range(times):
                time.sleep(whole * (n + 0.5) / times)
                sent = time.monotonic()
                child.send_signal(signal.SIGINT)
                assert child.stdout.readline() == "interrupted\n", child.stderr.read()
                assert time.monotonic() - sent < 5
            out, err = child.communicate(timeout=60)
        finally:
            child.kill()
    assert (out, err, child.returncode) == ("", "", 0)
    assert list(scratch.iterdir()) == []


def test_no_error_of_a_call_on_the_disk_is_a_warning(scratch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(select(scratch, dpsel.Sips())) > 5
