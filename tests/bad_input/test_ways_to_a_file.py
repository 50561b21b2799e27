"""Ways to one file: dots, links, patterns and the standard input pass the same checks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpsel
from dpsel.exceptions import FileError

PRIVACY = dpsel.ApproxDP(epsilon=4.0, delta=1e-4)


def select(data, **arguments):
    return dpsel.select_partitions(
        data, user="user", item="item", privacy=PRIVACY, max_items_per_user=5, **arguments
    ).to_pylist()


def write(path: Path, item: str = "tea") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"user": range(300), "item": [item] * 300}), path)
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with good files, marks of tools and a table whose rows are not its files."""
    write(tmp_path / "good" / "sub" / "a.parquet")
    write(tmp_path / "good" / "sub" / "-", "dash")
    write(tmp_path / "marks" / "_temporary" / "a.parquet", "hidden")
    write(tmp_path / "marks" / ".hidden.parquet", "hidden")
    write(tmp_path / "delta" / "a.parquet", "deleted")
    (tmp_path / "delta" / "_delta_log").mkdir()
    (tmp_path / "good" / "sub" / "-").unlink()
    monkeypatch.chdir(tmp_path / "good")
    return tmp_path


@pytest.mark.parametrize("dots", ["", "./", "././", "./../good/", ".//"])
@pytest.mark.parametrize(
    "rest", [".", "sub", "**", "*", "sub/*.parquet", "sub/./a.parquet", "*/*", "**/*.parquet"]
)
@pytest.mark.usefixtures("folder")
def test_dots_do_not_matter(dots, rest):
    assert select(dots + rest) == ["tea"]
    assert select([dots + rest]) == ["tea"]
    assert select(Path(dots + rest)) == ["tea"]
    assert select(["sub/a.parquet", dots + rest]) == ["tea"]


@pytest.mark.parametrize("dots", ["", "./", "././", "./../marks/", f"{'./' * 5}"])
@pytest.mark.parametrize("pattern", ["*", "*/*", "*/*.parquet", "*.parquet", "**/*.parquet", "?*/a.parquet"])
def test_dots_hide_no_mark(folder, monkeypatch, dots, pattern):
    monkeypatch.chdir(folder / "marks")
    with pytest.raises(FileError):
        select(dots + pattern)
    with pytest.raises(FileError, match="there is no file in this folder"):
        select(dots + ".")


def test_a_file_called_as_the_standard_input_is_a_file(folder):
    write(folder / "dash" / "-")
    os.chdir(folder / "dash")
    for way in ("./-", ".", "*", "./*", "**", "[-]", str(folder / "dash")):
        assert select(way, file_format="parquet") == ["tea"]


@pytest.mark.parametrize("pattern", ["[^a].parquet", "sub/[^b].parquet", "*[[:alpha:]]", "./[^a]*"])
def test_classes_that_shells_read_otherwise_are_refused(folder, pattern):
    write(folder / "good" / "[^a].parquet")
    (folder / "good" / "[^a].parquet").unlink()
    with pytest.raises(FileError, match=r"write \[!a\]"):
        select(pattern)


def test_a_link_is_looked_at_on_every_hop(folder):
    """rows -> table/link -> the file: only the middle is in a table."""
    write(folder / "far" / "a.parquet")
    (folder / "delta" / "b.parquet").symlink_to(folder / "far" / "a.parquet")
    (folder / "first.parquet").symlink_to(folder / "delta" / "b.parquet")
    (folder / "delta" / "part").symlink_to(folder / "far")
    (folder / "parts").symlink_to("delta/part")
    for way in ("first.parquet", "parts", "parts/a.parquet", "delta/part/a.parquet", "delta/b.parquet"):
        with pytest.raises(FileError, match="a Delta table"):
            select(folder / way)
    assert select(folder / "far") == ["tea"]


def test_two_dots_leave_a_table(folder):
    assert select(f"{folder}/delta/../good/sub/a.parquet") == ["tea"]
    assert select(f"{folder}/delta/_delta_log/../../good") == ["tea"]
    with pytest.raises(FileError, match="a Delta table"):
        select(f"{folder}/good/../delta/a.parquet")


def test_a_circle_of_links_is_an_error_of_ours(folder):
    (folder / "a.parquet").symlink_to("b.parquet")
    (folder / "b.parquet").symlink_to("a.parquet")
    with pytest.raises(FileError):
        select(folder / "a.parquet")


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="needs /dev/stdin")
@pytest.mark.parametrize("path", ["-", "/dev/stdin", "/dev/fd/0"])
def test_a_file_as_the_standard_input_is_checked(folder, path):
    command = [sys.executable, "-m", "dpsel.cli", "select", path, "--format", "parquet", "--user", "user"]
    command += ["--item", "item", "--epsilon", "4", "--delta", "1e-4", "--max-items-per-user", "1", "-q"]
    for name, code in (("delta/a.parquet", False), ("good/sub/a.parquet", True)):
        with (folder / name).open("rb") as rows:
            done = subprocess.run(command, stdin=rows, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is code, done.stderr
        assert code or ("a Delta table" in done.stderr and not done.stdout)


@pytest.mark.parametrize("path", ["a\0b.csv", "a\0/*.csv", "file:///a%00.csv"])
def test_a_nul_is_named(path):
    for data in (path, [path]):
        with pytest.raises(FileError, match="it holds a NUL character"):
            select(data)
