"""The command line: nothing but the release in what it writes, prints or leaves, at the loudest settings."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from leak_forms import PUBLIC, ROWS, SECRET

COLUMNS = ("--user", "user", "--item", "item")
PRIVACY = ("--epsilon", "3", "--delta", "1e-6", "--max-items-per-user", "3")
JOBS = {
    "select": ("select", "rows.csv", *COLUMNS, *PRIVACY),
    "top-k": ("top-k", "rows.csv", *COLUMNS, *PRIVACY, "--k", "2"),
}
#: What libraries look at to decide how much to say.
LOUD = {
    "RUST_LOG": "trace",
    "RUST_BACKTRACE": "full",
    "PYTHONDEVMODE": "1",
    "PYTHONLOGGING": "DEBUG",
    "DPSEL_DEBUG": "1",
}


@pytest.fixture
def folder(tmp_path):
    """A folder with the rows, and one for temporary files."""
    (tmp_path / "temporary").mkdir()
    lines = [f"{user},{item}" for user, item in ROWS]
    (tmp_path / "rows.csv").write_text("\n".join(["user,item", *lines]) + "\n")
    return tmp_path


def run(folder, *arguments, check):
    environment = os.environ | LOUD | {"TMPDIR": str(folder / "temporary"), "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "dpsel.cli", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=60,
        check=check,
    )


def left(folder) -> dict[str, bytes]:
    """All files but the input."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "rows.csv"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("job", JOBS)
def test_nothing_unselected_leaves_the_command(job, folder):
    for extension in (".parquet", ".csv"):
        name = f"items{extension}"
        done = run(folder, *JOBS[job], "-o", name, "--report", "report.json", check=True)
        files = left(folder)
        assert files.keys() == {name, "report.json"}
        words = b"".join([*files.values(), done.stdout, done.stderr])
        assert SECRET.encode() not in words
        (folder / name).unlink()
    printed = run(folder, *JOBS[job], check=True)
    assert PUBLIC[0].encode() in printed.stdout
    assert SECRET.encode() not in printed.stdout + printed.stderr


@pytest.mark.parametrize("job", JOBS)
def test_a_failure_quotes_nothing_even_with_a_traceback(job, folder):
    with (folder / "rows.csv").open("a") as rows:
        rows.write(f'"{SECRET}\n')
    done = run(folder, *JOBS[job], "-o", "items.csv", check=False)
    assert done.returncode == 3
    assert b"Traceback" in done.stderr
    assert SECRET.encode() not in done.stdout + done.stderr
    assert left(folder) == {}
