"""Pages as notebooks with their outputs: `docs/notebooks/NAME.ipynb` from the page of the same name.

    python website/notebooks.py            executes every page; fails if a notebook no longer has its cells
    python website/notebooks.py --write    executes and stores them with their outputs

Python blocks become cells, and so do lines of `sh` blocks that start with `dpsel`, with an exclamation mark.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from outputs import PAGES, commands

DOCS = Path(__file__).resolve().parents[1] / "docs"
SITE = "https://dpsel.github.io/dpsel/"


def made(page: str) -> Any:
    """The notebook of a page, without outputs."""
    text = (DOCS / page).read_text(encoding="utf-8")
    text = re.sub(r"^```sh\n(.*?)^```$", _shell, text, flags=re.MULTILINE | re.DOTALL)
    folder = Path(page).parent.as_posix()
    text = re.sub(r"\]\((?!https?:|#)([^)]+)\)", lambda found: f"]({_address(folder, found[1])})", text)
    notebook = jupytext.reads(text, fmt="md")
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return notebook


def _shell(found: re.Match[str]) -> str:
    cell = commands(found[1])
    return f"```python\n{cell}\n```" if cell else found[0]


def _address(folder: str, target: str) -> str:
    path, _, anchor = target.partition("#")
    place = os.path.normpath(f"{folder}/{path}") if path else ""
    if place.endswith(".md"):
        place = place.removesuffix(".md").removesuffix("README") + "/"
    return f"{SITE}{place}" + (f"#{anchor}" if anchor else "")


def cells(notebook: Any) -> list[tuple[str, str]]:
    """Kinds and texts of the cells."""
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def executed(notebook: Any) -> Any:
    """The notebook with outputs, run in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}})
        client.execute()
    for cell in notebook.cells:
        cell.metadata = {}
    return notebook


def main(words: list[str]) -> int:
    """Execute every notebook; write it, or compare its cells with those that are stored."""
    stale = []
    for name, page in PAGES.items():
        path = DOCS / "notebooks" / f"{name}.ipynb"
        notebook = executed(made(page))
        if "--write" in words:
            nbformat.write(notebook, path)
        elif not path.exists() or cells(nbformat.read(path, as_version=4)) != cells(notebook):
            stale.append(name)
    for name in stale:
        print(f"docs/notebooks/{name}.ipynb is not its page: nox -s notebooks -- --write")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
