"""Tables for people and table libraries: as text, HTML for notebooks, and data frames."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any

from dpsel._optional import optional

__all__ = ["Tabular", "html_table", "text_table"]


class Tabular(ABC):
    """Rows of a result: a dict for each, shown as a table."""

    __slots__ = ()

    _rows: tuple[dict[str, Any], ...]

    def _copies(self) -> list[dict[str, Any]]:
        """Return copies of the rows, so that a caller who edits them does not edit the result."""
        copies: list[dict[str, Any]] = json.loads(json.dumps(self._rows))
        return copies

    def _flat(self) -> list[dict[str, Any]]:
        """Return the rows with one value for each column."""
        return self._copies()

    @abstractmethod
    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Return head and body of the table for a person."""

    def to_polars(self) -> Any:
        """Return the rows as a ``polars.DataFrame``.

        Raises:
            ImportError: If polars is not installed.
        """
        return optional("polars", "to_polars()").DataFrame(self._flat())

    def to_pandas(self) -> Any:
        """Return the rows as a ``pandas.DataFrame``.

        Raises:
            ImportError: If pandas is not installed.
        """
        return optional("pandas", "to_pandas()").DataFrame(self._flat())

    def __str__(self) -> str:
        """Return a table for a person."""
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(*self._table())


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
    import html

    cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in body]
    header = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    return f"<table><tr>{header}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"
