"""Data of git histories: authors are numbers, and trailers and addresses are left out."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl

GIT = shutil.which("git") or "git"
ROOT = Path(__file__).resolve().parents[2]


def commit(folder: Path, author: str, file: str, message: str) -> None:
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(message, encoding="utf-8")
    who = ["-c", "user.name=x", "-c", f"user.email={author}@example.org"]
    for command in (["add", "-A"], ["commit", "-q", "-m", message]):
        subprocess.run([GIT, "-C", str(folder), *who, *command], check=True)


def test_messages_and_paths_of_each_author(tmp_path):
    folder = tmp_path / "tool"
    folder.mkdir()
    subprocess.run([GIT, "init", "-q", str(folder)], check=True)
    commit(
        folder, "Ada", "a/näme.txt", "Mend it\n\nSee https://example.org\nReviewed-by: Bo <bo@example.org>"
    )
    commit(folder, "ada", "a/näme.txt", "Once more")
    commit(folder, "robot", "b.txt", "Merge by a machine")
    commit(folder, "eve", "b.txt", "Another")
    command = [sys.executable, "-m", "benches.histories", str(tmp_path), "some", str(folder)]
    subprocess.run(command, check=True, cwd=ROOT)
    texts = pl.read_parquet(tmp_path / "some_messages.parquet")
    assert sorted(texts["user"].unique()) == [0, 1]
    told = " ".join(texts["text"])
    assert "Mend it" in told
    assert "example" not in told
    assert "Bo" not in told
    assert "machine" not in told
    paths = pl.read_parquet(tmp_path / "some_paths.parquet")
    assert sorted(paths["path"]) == ["tool/a/näme.txt", "tool/b.txt"]
