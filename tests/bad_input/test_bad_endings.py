"""Output files, a full disk and interruption, through the command line."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyarrow.parquet
import pytest

from support import table


def command(*arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "dpsel.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def job(source: Path, *more: object) -> list[object]:
    return [
        "select",
        source,
        "--user",
        "user",
        "--item",
        "item",
        "--epsilon",
        "3",
        "--delta",
        "1e-6",
        "--max-items-per-user",
        "5",
        *more,
    ]


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "in" / "rows.parquet"
    path.parent.mkdir()
    rows = [(u, f"item {i}") for u in range(800) for i in range(6)]
    pyarrow.parquet.write_table(table(rows), path)
    return path


def test_command_line_errors_are_one_line_without_traceback(tmp_path, source) -> None:
    for arguments in (
        job(tmp_path / "absent.parquet"),
        job(source, "--max-items-per-user", "0"),
        job(source)[:-2],
        ["select", source, "--user", "nobody", *job(source)[4:]],
    ):
        done = command(*arguments)
        assert done.returncode not in (0, 101, -6, -11)
        assert done.stdout == ""
        assert done.stderr
        assert "Traceback" not in done.stderr
        assert "panicked" not in done.stderr


def test_output_is_written_whole_or_not_at_all(tmp_path, source) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    out, report = folder / "items.parquet", folder / "report.json"
    done = command(*job(source, "-o", out, "--report", report))
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["items.parquet", "report.json"]
    assert pyarrow.parquet.read_table(out)["item"].to_pylist() == [f"item {i}" for i in range(6)]


def test_a_failed_run_leaves_the_old_output_alone(tmp_path, source) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    out = folder / "items.parquet"
    out.write_text("as it was")
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(source.read_bytes()[:-100])
    done = command(*job(cut, "-o", out))
    assert done.returncode != 0
    assert [p.name for p in folder.iterdir()] == ["items.parquet"]
    assert out.read_text() == "as it was"


def test_output_folder_that_is_not_there(tmp_path, source) -> None:
    done = command(*job(source, "-o", tmp_path / "absent" / "items.parquet"))
    assert done.returncode != 0
    assert "absent" in done.stderr
    assert not (tmp_path / "absent").exists()


@pytest.fixture
def full_disk(tmp_path):
    """A file system of 16 KiB, if this user may mount one."""
    folder = tmp_path / "full"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if (
        not mount
        or not umount
        or subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("mounting a small tmpfs is not allowed here; /dev/full is tested instead")
    yield folder
    subprocess.run([umount, folder], check=True)


def _many_items(path: Path) -> None:
    rows = [(u, f"a rather long item with number {i}") for u in range(400) for i in range(3000)]
    pyarrow.parquet.write_table(table(rows), path)


def test_full_disk_leaves_nothing_behind(full_disk, tmp_path) -> None:
    source = tmp_path / "many.parquet"
    _many_items(source)
    arguments = job(source, "-o", full_disk / "items.csv")
    arguments[arguments.index("5")] = "3000"
    arguments[arguments.index("3")] = "20"
    done = command(*arguments)
    assert done.returncode != 0
    assert "items.csv" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(full_disk.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_full_standard_output(source) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dpsel.cli", *map(str, job(source))],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode not in (0, -6, -11)
    assert "Traceback" not in done.stderr
    assert done.stderr


ENDLESS = """
    import sys, dpsel
    def pairs():
        n = 0
        while True:
            n += 1
            if n == 1000:
                print("running", flush=True)
            yield (n, n)
    try:
        dpsel.select_partitions(
            pairs(), privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            max_items_per_user=3, mechanism=dpsel.Sips(),
        )
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(77)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is not sent to a child there")
def test_ctrl_c_stops_a_running_job(tmp_path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ENDLESS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    try:
        assert child.stdout.readline() == "running\n"
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 77, err
    assert out == "interrupted\n"
    assert "panicked" not in err
    assert time.monotonic() - start < 10
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is not sent to a child there")
def test_ctrl_c_on_the_command_line_leaves_no_output(tmp_path) -> None:
    fifo, out = tmp_path / "rows.csv", tmp_path / "out" / "items.csv"
    out.parent.mkdir()
    os.mkfifo(fifo)
    child = subprocess.Popen(
        [sys.executable, "-m", "dpsel.cli", *map(str, job(fifo, "-o", out))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        # For reading as well, so that opening does not wait for a child that has ended already.
        pipe = os.open(fifo, os.O_RDWR)
        os.write(pipe, b"user,item\n" + b"a,b\n" * 1000)
        time.sleep(1.5)
        child.send_signal(signal.SIGINT)
        time.sleep(0.5)
        os.close(pipe)
        _, err = child.communicate(timeout=30)
    finally:
        child.kill()
        child.wait()
    assert child.returncode != 0
    assert "panicked" not in err
    assert list(out.parent.iterdir()) == []
