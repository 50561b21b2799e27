"""The laws hold for every mechanism: none may be left out, and a skip is a failure."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from mechanisms import EVERY

FOLDER = Path(__file__).resolve().parent

SKIPPING = """
import pytest

def test_a_law(case):
    pytest.skip("its weights are hard to see")

def test_of_no_mechanism():
    pytest.skip("this has no mechanism")
"""


def test_a_skip_of_a_mechanism_is_a_failure(tmp_path) -> None:
    shutil.copy(FOLDER / "conftest.py", tmp_path)
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(FOLDER.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{len(EVERY)} failed, 1 skipped" in done.stdout, done.stdout + done.stderr


def test_no_law_asks_to_be_skipped() -> None:
    """Only what another system or missing data sets make impossible; see the fixtures."""
    for path in FOLDER.glob("test_*.py"):
        if path != Path(__file__).resolve():
            found = re.findall(r"pytest\.skip\(|importorskip|mark\.skip\b|mark\.xfail", path.read_text())
            assert not found, path


def test_the_laws_run_for_every_mechanism() -> None:
    """The files of laws 1 to 6 ask for `case`, which is every mechanism."""
    for law in range(1, 7):
        (path,) = FOLDER.glob(f"test_law{law}_*.py")
        assert re.search(r"def test_\w+\([^)]*\bcase\b", path.read_text()), path
