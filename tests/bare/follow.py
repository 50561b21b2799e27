"""Run the examples of a document in order, as a reader would who types them: `python follow.py DOCUMENT`.

Uses the standard library alone, because it runs in the clean environment. `python` blocks share their names.
In `sh` blocks the lines that start with `dpsel` or `pip install` are run; others belong to a clone of the
repository. What installs dpsel itself is left out: it is here, and an index may have another one. An extra of
it is installed if the document has a `python` block that may need it.
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
    blocks = BLOCK.findall(Path(document).read_text(encoding="utf-8"))
    has_programs = any(language == "python" for language, _ in blocks)
    for language, text in blocks:
        if language == "python":
            exec(compile(text, document, "exec"), names)  # noqa: S102 - our own examples
            continue
        for line in text.replace("\\\n", " ").splitlines():
            run_line(shlex.split(line, comments=True), with_extras=has_programs)


def is_here(requirement: str, *, with_extras: bool) -> bool:
    """Whether that is `.` or `dpsel`, or an extra that no program of the document needs."""
    return requirement in {".", "dpsel"} or (requirement.startswith("dpsel[") and not with_extras)


def run_line(words: list[str], *, with_extras: bool) -> None:
    """Run one command of a document."""
    wanted = [each for each in words[2:] if not is_here(each, with_extras=with_extras)]
    if words[:2] == ["pip", "install"] and wanted:
        # A warning of pip's own code is no error of ours.
        environment = os.environ | {"PYTHONWARNINGS": "default"}
        subprocess.run([sys.executable, "-m", "pip", "--quiet", *words[1:]], check=True, env=environment)
        importlib.invalidate_caches()
    elif words[:1] == ["dpsel"]:
        subprocess.run([sys.executable, "-m", "dpsel.cli", *words[1:]], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
