"""Fixtures of the tests of the command line: a runner and input files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dpsel.cli import main

# Tests are imported without their folder on the path; the helpers beside them are wanted by name.
sys.path.insert(0, str(Path(__file__).parent))

from cli_support import COMMON, Run


@pytest.fixture
def dpsel_run(capfd):
    """Run the command line in this process."""

    def run(*arguments: object) -> Run:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Run(int(code), captured.out, captured.err)

    return run


@pytest.fixture
def start():
    """Start the command line in a process of its own; it is ended with the test."""
    children: list[subprocess.Popen[bytes]] = []

    def start(*arguments: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dpsel.cli", *map(str, arguments)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        children.append(child)
        return child

    yield start
    for child in children:
        if child.poll() is None:
            child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def rows(folder) -> Path:
    """A CSV file in which 400 users share two items and have one each of their own."""
    path = folder / "rows.csv"
    lines = [f"u{user},{item}" for user in range(400) for item in (*COMMON, f"secret{user}")]
    path.write_text("\n".join(["user,item", *lines]) + "\n", encoding="utf-8")
    return path
