#!/usr/bin/env python3
"""The two commands for newcomers; both make `.venv` and build the package into it when that is missing.

    python3 run.py demo              runs the main job on the corpus that ships with the package
    python3 run.py test              runs the checks and tests before a commit
    python3 run.py test -t change    runs what CI runs after these

Further words after `test` go to nox: `python3 run.py test -s pytest -- -k cli`.
Needs Python 3.11 or newer, pip's usual access to a package index, and Rust (https://rustup.rs).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
OLDEST_PYTHON = (3, 11)
BUILD_TOOLS = ("maturin>=1.14,<2",)
TEST_TOOLS = (*BUILD_TOOLS, "nox>=2025.10.16", "--group", "test", "--group", "lint", "--group", "typing")
#: For the demo, our crates are not optimised: its corpus is small. Others are built as for the tests.
QUICK_BUILD = {"CARGO_PROFILE_DEV_OPT_LEVEL": "0", "CARGO_INCREMENTAL": "0", "PIP_QUIET": "1"}
DEMO = (
    "select python/dpsel/data/quotations.csv --user line --item text --ngrams 1,2 "
    "--epsilon 4 --delta 1e-5 --max-items-per-user 20"
)


def main(arguments: list[str]) -> int:
    """Run the command named by the first argument."""
    match arguments:
        case ["demo"]:
            return demo()
        case ["test", *rest]:
            return test(rest)
        case _:
            sys.stderr.write(__doc__ or "")
            return 2


def demo() -> int:
    """Build the package and run `dpsel select` on the shipped corpus."""
    prepare(BUILD_TOOLS)
    say("building dpsel and the crates it uses: two to ten minutes, seconds when they are built already")
    start = time.monotonic()
    run(PYTHON, "-m", "maturin", "develop", stdout=sys.stderr, **QUICK_BUILD)
    say(f"built in {time.monotonic() - start:.0f} seconds")
    say(f"dpsel {DEMO}")
    return run(PYTHON, "-m", "dpsel.cli", *DEMO.split(), check=False)


def test(rest: list[str]) -> int:
    """Install the tools, run the checks of noxfile.py, and say how long each took."""
    start = time.monotonic()
    prepare(TEST_TOOLS)
    times = {"tools": time.monotonic() - start}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        code = run(PYTHON, "-m", "nox", "--non-interactive", "--report", report, *rest, check=False)
        if report.exists():
            sessions = json.loads(report.read_text(encoding="utf-8"))["sessions"]
            times |= {each["name"]: each["duration"] for each in sessions}
    say("seconds: " + ", ".join(f"{name} {seconds:.0f}" for name, seconds in times.items()))
    say(f"all together: {(time.monotonic() - start) / 60:.1f} minutes")
    return code


def prepare(tools: tuple[str, ...]) -> None:
    """Make the virtual environment and install tools into it; groups are those of pyproject.toml."""
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(f"Python {'.'.join(map(str, OLDEST_PYTHON))} or newer is needed, this is {sys.version}")
    if shutil.which("cargo") is None:
        sys.exit("Rust is needed to build the package: see https://rustup.rs")
    if not PYTHON.exists():
        say(f"making {VENV}")
        venv.create(VENV, with_pip=True)
    say("installing the tools")
    if "--group" in tools:
        run(PYTHON, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1", stdout=sys.stderr)
    run(PYTHON, "-m", "pip", "install", "--quiet", *tools, stdout=sys.stderr)


def run(*command: object, check: bool = True, stdout: TextIO | None = None, **variables: str) -> int:
    """Run a command in the repository with the virtual environment active."""
    environment = (
        os.environ
        | variables
        | {
            "VIRTUAL_ENV": str(VENV),
            "PATH": os.pathsep.join((str(BIN), os.environ.get("PATH", ""))),
            # Advice about pip itself, between what matters.
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
        }
    )
    words = [str(word) for word in command]
    result = subprocess.run(  # noqa: S603 - our own words
        words, cwd=ROOT, env=environment, check=False, stdout=stdout
    )
    if check and result.returncode:
        sys.exit(result.returncode)
    return result.returncode


def say(text: str) -> None:
    """Tell the user what happens, on standard error."""
    sys.stderr.write(f"> {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
