"""What people see of a result: a line, a text and the same for notebooks; and data frames of its rows."""

from __future__ import annotations

import json
import unicodedata
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from dpsel._optional import optional

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "SHOWN_ROWS",
    "Display",
    "Displayed",
    "Tabular",
    "cell",
    "first_rows",
    "html_table",
    "is_control",
    "one_line",
    "text_table",
]

#: The rows of a release, and of a budget, that are shown; the others are counted.
SHOWN_ROWS: Final = 10
#: The characters of a value that are shown: items may be whole texts.
_SHOWN_CHARACTERS: Final = 80
#: Control characters, halves of surrogate pairs, and separators of lines and paragraphs.
_CATEGORIES: Final = {"Cc", "Cs", "Zl", "Zp"}
#: What turns the direction of text around.
_TURNS: Final = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def is_control(one: str) -> bool:
    """Whether a character could make a text look like another one, or steer a terminal."""
    return unicodedata.category(one) in _CATEGORIES or unicodedata.bidirectional(one) in _TURNS


def one_line(text: str) -> str:
    """Return a text of strangers, such as an item or a label, with its control characters written out."""
    return "".join(ascii(one)[1:-1] if is_control(one) else one for one in text)


def cell(value: object) -> str:
    """Return a value of a release for a table; nothing for a missing one, and of a long one its start."""
    text = "" if value is None else str(value)
    return text[:_SHOWN_CHARACTERS] + "…" if len(text) > _SHOWN_CHARACTERS else text


@dataclass(frozen=True, slots=True)
class Display:
    """A result as people see it: lines, a table, and lines below it.

    Names and values may be of strangers, so none of them can be markup or steer a terminal.

    Args:
        above: Lines above the table.
        head: The names of its columns.
        rows: Its rows.
        below: Lines below the table.
    """

    above: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    below: Sequence[str] = ()

    def text(self) -> str:
        """Return it for a terminal."""
        table = [text_table(self.head, self.rows)] if self.rows else []
        return "\n".join([*map(one_line, self.above), *table, *map(one_line, self.below)])

    def html(self) -> str:
        """Return it for a notebook."""
        table = html_table(self.head, self.rows) if self.rows else ""
        # Notebooks take what is between dollar signs for a formula.
        start = '<div class="tex2jax_ignore mathjax_ignore" style="overflow-wrap:anywhere">'
        return f"{start}{_paragraph(self.above)}{table}{_paragraph(self.below)}</div>"


def first_rows(
    above: Sequence[str], columns: Mapping[str, Iterable[Any]], total: int, largest: str = ""
) -> Display:
    """Return the display of a release: lines, and its first rows, maybe those of the largest numbers."""
    first = islice(zip(*columns.values(), strict=True), SHOWN_ROWS)
    rows = [[cell(value) for value in row] for row in first]
    order = f", below these in {largest}" if largest else ""
    more = [f"and {total - len(rows):,} more{order}"] if total > len(rows) else []
    return Display(above, list(columns), rows, more)


def _paragraph(lines: Sequence[str]) -> str:
    import html

    return f"<p>{'<br>'.join(html.escape(one_line(line)) for line in lines)}</p>" if lines else ""


class Displayed(ABC):
    """A result that people look at, in a terminal and in a notebook.

    All that is shown is in the result, and is the same each time.
    """

    __slots__ = ()

    @abstractmethod
    def _display(self) -> Display:
        """Return what is shown of it."""

    def __str__(self) -> str:
        """Return a few lines for a person."""
        return self._display().text()

    def _repr_html_(self) -> str:
        return self._display().html()


class Tabular(Displayed):
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

    def __repr__(self) -> str:
        """Return one line."""
        rows = f"{len(self._rows):,} row{'' if len(self._rows) == 1 else 's'}"
        return f"<dpsel.{type(self).__name__}: {rows}, which print shows>"

    def _display(self) -> Display:
        head, body = self._table()
        return Display(head=head, rows=body)

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


def text_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a table with the first column to the left and the others, numbers, to the right."""
    rows = [list(map(one_line, row)) for row in [head, *body]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]

    def line(cells: list[str]) -> str:
        numbers = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
        padded = [cells[0].ljust(widths[0]), *numbers]
        return "  ".join(padded).rstrip()

    return "\n".join([line(rows[0]), line(["-" * width for width in widths]), *map(line, rows[1:])])


def html_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a table for a page or a notebook, which scrolls by itself where it is too wide."""
    import html

    def shown(cell: str) -> str:
        text = cell.lstrip(" ")
        # Spaces at the start, which indent, are not shown otherwise.
        return "\u00a0" * (len(cell) - len(text)) + html.escape(one_line(text))

    def line(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{shown(cell)}</{tag}>' for cell in cells)}</tr>"

    rows = f"{line(head, 'th')}{''.join(line(row, 'td') for row in body)}"
    # Words stay whole, and the attribute gives way to the style of a notebook.
    return f'<div style="overflow-x:auto;overflow-wrap:normal"><table cellpadding="4">{rows}</table></div>'
