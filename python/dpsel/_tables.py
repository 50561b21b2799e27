"""Tables for people: as text, and as HTML for notebooks."""

from __future__ import annotations

import html

__all__ = ["html_table", "text_table"]


def text_table(head: list[str], body: list[list[str]]) -> str:
    """Return a table with the first column to the left and the others, numbers, to the right."""
    widths = [max(len(row[column]) for row in [head, *body]) for column in range(len(head))]

    def line(cells: list[str]) -> str:
        numbers = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
        padded = [cells[0].ljust(widths[0]), *numbers]
        return "  ".join(padded).rstrip()

    return "\n".join([line(head), line(["-" * width for width in widths]), *(line(row) for row in body)])


def html_table(head: list[str], body: list[list[str]]) -> str:
    """Return a table for a notebook."""
    cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in body]
    header = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    return f"<table><tr>{header}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
