"""The two commands for newcomers say what they do and how long it took."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOXFILE = """
import time
import nox

nox.options.default_venv_backend = "none"
nox.options.tags = ["commit"]


@nox.session(tags=["commit"])
def quick(session):
    pass


@nox.session(tags=["commit"])
def failing(session):
    time.sleep(1)
    session.error("no")


@nox.session(tags=["change"])
def later(session):
    pass
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """run.py, for a folder with a few sessions, in the environment of the tests."""
    spec = importlib.util.spec_from_file_location("run_of_the_repository", ROOT / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "noxfile.py").write_text(NOXFILE)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(module, "prepare", lambda _tools: None)
    return module


@pytest.mark.skipif(not importlib.util.find_spec("nox"), reason="run.py installs nox")
def test_each_session_has_its_time(program, capfd) -> None:
    assert program.main(["test"]) == 1
    said = capfd.readouterr().err
    assert re.search(r"^> seconds: tools 0, quick 0, failing [1-9]\d*$", said, re.MULTILINE)
    assert re.search(r"^> all together: \d+\.\d minutes$", said, re.MULTILINE)
    assert program.main(["test", "-t", "change"]) == 0
    assert re.search(r"^> seconds: tools 0, later 0$", capfd.readouterr().err, re.MULTILINE)


def test_the_demo_says_how_long_it_builds_and_shows_progress(program, monkeypatch, capsys) -> None:
    commands = []
    monkeypatch.setattr(program, "run", lambda *words, **_: commands.append(words) or 0)
    assert program.main(["demo"]) == 0
    assert "two to ten minutes" in capsys.readouterr().err
    assert "--quiet" not in commands[0]


def test_pip_says_nothing_about_itself(program, capfd) -> None:
    program.run(
        sys.executable, "-c", "import os; print(*(name for name in os.environ if name[:4] == 'PIP_'))"
    )
    assert {"PIP_DISABLE_PIP_VERSION_CHECK", "PIP_ROOT_USER_ACTION"} <= set(capfd.readouterr().out.split())
