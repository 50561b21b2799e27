"""Runs the recipes of `docs/guide/auditing-your-library.md` with the libraries that are installed.

    python tests/audited/run.py           # all of them
    python tests/audited/run.py pipeline  # those with this in their names

Each recipe is a module, whose first line names its file, and the command after it. The text after the command
says **stands** or **refuted**, and the exit code has to agree.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
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
LIBRARIES = ("opendp", "polars", "pipeline-dp", "python-dp")


def recipes() -> list[tuple[str, str, list[str], str]]:
    """File, code, command and verdict of every recipe."""
    found = []
    for match in RECIPE.finditer(PAGE.read_text(encoding="utf-8")):
        command = shlex.split(match["command"].replace("\\\n", " "))
        (verdict,) = re.findall(r"\*\*(stands|refuted)\*\*", match["text"])
        found.append((match["file"], match["code"], command, verdict))
    return found


def main(chosen: str) -> int:
    print("versions:", ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES))
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for file, code, command, verdict in recipes():
            if chosen not in file:
                continue
            (Path(folder) / file).write_text(code, encoding="utf-8")
            done = subprocess.run([sys.executable, "-m", "dpsel.cli", *command[1:]], cwd=folder, check=False)
            if done.returncode != CODES[verdict]:
                failed.append(f"{file}: the page says {verdict}, the command ended with {done.returncode}")
    print("\n".join(failed) or "every verdict is that of the page")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
