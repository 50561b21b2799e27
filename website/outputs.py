"""What the examples of a page print, from its notebook, which `nox -s notebooks` executes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
#: A notebook, and the page that it is made from.
PAGES = {"tutorial": "learn/tutorial.md", "choosing": "guide/choosing-parameters.md"}
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(block: str) -> str:
    """The commands of a shell block as lines of a cell; empty if it has none of dpsel."""
    lines = block.replace("\\\n", " ").splitlines()
    return "\n".join(f"!{' '.join(line.split())}" for line in lines if line.startswith("dpsel "))


def shown(markdown: str, uri: str) -> str:
    """The page with what each example printed below it; a page without a notebook stays."""
    names = [name for name, page in PAGES.items() if page == uri]
    if not names:
        return markdown
    notebook = json.loads((NOTEBOOKS / f"{names[0]}.ipynb").read_text(encoding="utf-8"))
    printed = {"".join(cell["source"]): _printed(cell) for cell in notebook["cells"]}
    return BLOCK.sub(lambda found: found[0] + _below(found, printed), markdown)


def _below(found: re.Match[str], printed: dict[str, str]) -> str:
    cell = found[2].rstrip("\n") if found[1] == "python" else commands(found[2])
    text = printed.get(cell, "")
    return f"\n\n```text\n{text}\n```" if text else ""


def _printed(cell: dict[str, Any]) -> str:
    texts = ["".join(output.get("text", "")) for output in cell.get("outputs", [])]
    return "".join(texts).replace("\r", "").rstrip()
