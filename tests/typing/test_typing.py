"""The types of the public face: what must be accepted, and what must be refused.

`nox -s types` has mypy on all of it, and the stub of the core beside the module.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="mypy is in the dependency group 'typing'")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def run(*arguments):
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.long("starts a type checker")
def test_accepted_by_pyright():
    pytest.importorskip("basedpyright", reason="basedpyright is in the dependency group 'typing'")
    done = run("basedpyright", "--pythonpath", sys.executable)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rejected():
    path = HERE / "rejected.py"
    statements = [node for node in ast.parse(path.read_text()).body if not isinstance(node, ast.Import)][1:]
    done = run("mypy", "--strict", str(path))
    found = {int(number) for number in re.findall(r"rejected\.py:(\d+): error", done.stdout)}
    spans = [range(node.lineno, (node.end_lineno or node.lineno) + 1) for node in statements]
    assert [span for span in spans if not found & set(span)] == [], done.stdout
    assert len(spans) == done.stdout.count(": error: ")
