"""Run the examples of a document in order, as a reader would who types them: `python follow.py DOCUMENT`.

Uses the standard library alone, because it runs in the clean environment. `python` blocks share their names.
In `sh` blocks the lines that start with `dpsel` or `pip install` are run; others belong to a clone of the
repository. What installs dpsel itself is left out: it is here, and an index may have another one.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main(document: str) -> None:
    """Run every block; the first failure ends the process with its message."""
    names: dict[str, object] = {"__name__": "__main__"}
    for language, text in BLOCK.findall(Path(document).read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(text, document, "exec"), names)  # noqa: S102 - our own examples
            continue
        for line in text.replace("\\\n", " ").splitlines():
            run_line(shlex.split(line, comments=True))


def installs_dpsel(requirements: list[str]) -> bool:
    """Whether that is `.`, `dpsel` or `dpsel[extra]`."""
    return any(re.fullmatch(r"\.|dpsel(\[.*\])?", each) for each in requirements)


def run_line(words: list[str]) -> None:
    """Run one command of a document."""
    if words[:2] == ["pip", "install"] and not installs_dpsel(words[2:]):
        # A warning of pip's own code is no error of ours.
        environment = os.environ | {"PYTHONWARNINGS": "default"}
        subprocess.run([sys.executable, "-m", "pip", "--quiet", *words[1:]], check=True, env=environment)
        importlib.invalidate_caches()
    elif words[:1] == ["dpsel"]:
        subprocess.run([sys.executable, "-m", "dpsel.cli", *words[1:]], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
