"""kill -9 at random moments: whole files or none, nothing secret on the disk, and the next run succeeds."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING

import pyarrow.parquet
import pytest

from children import ITEMS, finish, start

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill -9")

SECRET = b"unselected secret"
#: How often a process is killed; the long run is `nox -s slow`.
KILLS = [pytest.param(4, id="few"), pytest.param(80, id="many", marks=pytest.mark.slow)]

WRITER = """
    release = dpsel.select_partitions(rows(), user="user", item="item", **GENEROUS)
    assert len(release) == 20_000
    print("ready", flush=True)
    while True:
        release.write("items.parquet")
        release.report.save("report.json")
"""


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check_whole(folder: Path) -> None:
    """What has its final name is complete."""
    if (folder / "items.parquet").exists():
        assert pyarrow.parquet.read_table(folder / "items.parquet").num_rows == ITEMS


@pytest.mark.long("starts a process for each kill")
@pytest.mark.parametrize("kills", KILLS)
def test_kill_while_writing(kills, tmp_path):
    moments = random.Random(kills)
    for _ in range(kills):
        with start(WRITER, tmp_path) as child:
            assert child.stdout.readline() == "ready\n"
            time.sleep(moments.uniform(0, 0.3))
            child.kill()
        check_whole(tmp_path)
    # What a killed process leaves has a name of its own and holds parts of the release only.
    left = files(tmp_path).keys() - {"items.parquet", "report.json"}
    assert all(name.startswith(".dpsel-") and name.endswith(".tmp") for name in left)
    assert len(left) <= kills
    assert not any(SECRET in content for content in files(tmp_path).values())
    finish(WRITER.replace("while True", "for _ in range(2)"), tmp_path)
    check_whole(tmp_path)
    assert files(tmp_path).keys() - left == {"items.parquet", "report.json"}


def command(folder: Path) -> list[object]:
    """A job of about a second, its limits so wide that all common items are released."""
    words = "--user user --item item --rho 1e5 --delta 1e-9 --max-items-per-user 20001"
    mechanism = "--mechanism count-gaussian -o out/items.parquet --report out/report.json"
    return [
        sys.executable,
        "-m",
        "dpsel.cli",
        "select",
        folder / "rows.parquet",
        *words.split(),
        *mechanism.split(),
    ]


@pytest.fixture
def rows(tmp_path) -> Path:
    """A folder with rows, an empty one for results and one for temporary files."""
    for name in ("out", "temporary"):
        (tmp_path / name).mkdir()
    finish(
        "import pyarrow.parquet; pyarrow.parquet.write_table(rows(), 'rows.parquet', compression='none')",
        tmp_path,
    )
    return tmp_path


@pytest.mark.parametrize("kills", KILLS)
def test_kill_the_command_line(kills, rows):
    environment = os.environ | {"TMPDIR": str(rows / "temporary")}
    run = {"cwd": rows, "env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = time.monotonic()
    subprocess.run(command(rows), check=True, **run)
    whole = time.monotonic() - started
    for path in (rows / "out").iterdir():
        path.unlink()
    moments = random.Random(kills)
    for _ in range(kills):
        child = subprocess.Popen(command(rows), **run)
        time.sleep(moments.uniform(0, whole))
        child.kill()
        child.wait()
        check_whole(rows / "out")
        for folder in ("out", "temporary"):
            assert not any(SECRET in content for content in files(rows / folder).values())
    assert list((rows / "temporary").iterdir()) == []
    subprocess.run(command(rows), check=True, **run)
    check_whole(rows / "out")
    assert (rows / "out" / "report.json").exists()


KILLED_FILTER = """
    import os, pathlib, signal
    import dpsel

    rows = [(user, "tea") for user in range(300)]
    keys = dpsel.select_partitions(
        rows, privacy=dpsel.ApproxDP(epsilon=4.0, delta=1e-4), max_items_per_user=1
    )
    os.umask(0)
    # The last step gives the file its name.
    pathlib.Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    keys.filter_file("rows.csv", "out/kept.csv")
"""


def test_an_unfinished_filter_stays_beside_its_output_and_nowhere_else(tmp_path) -> None:
    """It is a part of the output: rows in clear, where the output goes, for its owner alone."""
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "rows.csv").write_text("item,note\n" + 100_000 * f"tea,{SECRET.decode()}\n")
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary"), "HOME": str(tmp_path / "home")}
    (tmp_path / "temporary").mkdir()
    (tmp_path / "home").mkdir()
    script = [sys.executable, "-c", textwrap.dedent(KILLED_FILTER)]
    ended = subprocess.run(script, env=environment, cwd=tmp_path, check=False)
    assert ended.returncode == -signal.SIGKILL
    [folder] = out.iterdir()
    assert folder.name.startswith(".kept.")
    assert folder.stat().st_mode & 0o777 == 0o700
    left = {name for name, data in files(tmp_path).items() if SECRET in data}
    assert left == {"rows.csv", f"out/{folder.name}/kept.csv"}
