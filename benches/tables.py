"""Markdown tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table whose first column is left-aligned and whose others are right-aligned."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def filled(page: str, mark: str, text: str) -> str:
    """Put a table after its mark in a page, in place of the table that is there."""
    page, times = re.subn(rf"({re.escape(mark)}\n\n)(\|.*\n)*", lambda at: at[1] + text, page)
    if times != 1:
        raise SystemExit(f"the page must have the mark {mark} once, found {times}")
    return page


def fill(page: Path, mark: str, text: str) -> None:
    """Write a page with a table after its mark."""
    page.write_text(filled(page.read_text("utf-8"), mark, text), "utf-8")


def mib(value: float) -> str:
    return f"{value:,.0f}"


def seconds(value: float) -> str:
    return f"{value:.2f}"
