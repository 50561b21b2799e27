"""Runs the recipes of `docs/guide/auditing-your-library.md` with the libraries that are installed.

    python tests/audited/run.py           # all of them
    python tests/audited/run.py pipeline  # those with this in their names

Each recipe is a module, whose first line names its file, and the command after it. The text after the command
says **stands** or **refuted**, and the exit code has to agree. A recipe has four minutes. The page also says
how the import of one library fails, which has to be so.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "auditing-your-library.md"
RECIPE = re.compile(
    r"```python\n# (?P<file>\w+\.py)\n(?P<code>.*?)```\s+"
    r"(?P<command>(?: {4}[^\n]*\n)+)(?P<text>.*?)(?=\n## |\Z)",
    re.DOTALL,
)
#: Exit codes of `dpsel audit`.
CODES = {"stands": 0, "refuted": 4}
LIBRARIES = ("opendp", "polars", "pipeline-dp", "python-dp", "diffprivlib", "scikit-learn")
#: Seconds for a recipe that asks for 60: a machine that is busy may start slowly.
LONGEST = 240
#: A command that fails, and the last line that it shows.
FAILURE = re.compile(
    r'^    python -c "(?P<code>import \w+)"\n\n\s*```text\n(?P<error>[^\n]+)\n```', re.MULTILINE
)


def recipes() -> list[tuple[str, str, list[str], str]]:
    """File, code, command and verdict of every recipe."""
    found = []
    for match in RECIPE.finditer(PAGE.read_text(encoding="utf-8")):
        command = shlex.split(match["command"].replace("\\\n", " "))
        (verdict,) = re.findall(r"\*\*(stands|refuted)\*\*", match["text"])
        found.append((match["file"], match["code"], command, verdict))
    return found


def run(file: str, command: list[str], verdict: str, folder: str) -> str:
    """Say what is wrong with a recipe; nothing if its verdict is that of the page."""
    started = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "dpsel.cli", *command[1:]], cwd=folder, check=False, timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        return f"{file}: not at its end after {LONGEST} s"
    print(f"{file}: {time.monotonic() - started:.0f} s", flush=True)
    if done.returncode != CODES[verdict]:
        return f"{file}: the page says {verdict}, the command ended with {done.returncode}"
    return ""


def failing_imports() -> list[str]:
    """Say which imports do not fail as the page says."""
    wrong = []
    for match in FAILURE.finditer(PAGE.read_text(encoding="utf-8")):
        done = subprocess.run(
            [sys.executable, "-c", match["code"]],
            check=False,
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )
        if match["error"] not in done.stderr:
            wrong.append(f"{match['code']}: the page says {match['error']}, it ended with {done.returncode}")
    return wrong


def main(chosen: str) -> int:
    print("versions:", ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES), flush=True)
    failed = failing_imports()
    with tempfile.TemporaryDirectory() as folder:
        for file, code, command, verdict in recipes():
            if chosen not in file:
                continue
            (Path(folder) / file).write_text(code, encoding="utf-8")
            failed.append(run(file, command, verdict, folder))
    failed = [each for each in failed if each]
    print("\n".join(failed) or "every verdict is that of the page")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
