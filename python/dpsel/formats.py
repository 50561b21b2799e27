"""The form of text files that are read, where their name does not tell it."""

from __future__ import annotations

from dataclasses import dataclass

from dpsel._arguments import type_name
from dpsel.exceptions import InvalidParameterError
from dpsel.quoting import quoted

__all__ = ["Csv"]


@dataclass(frozen=True)
class Csv:
    """A text file with another delimiter than its name tells, or without a header line.

    Pass it as ``file_format=``. Every column is text, as in all CSV files.

    Args:
        delimiter: The character between two fields: one of ASCII, and no quote or line break. If it is left
            out, the names of the files tell it: a tab for ``.tsv`` and ``.tab``, and a comma for all others.
        header: Whether the first line has the names of the columns. Without it they are ``column_1``,
            ``column_2`` and so on.

    Raises:
        InvalidParameterError: If a value has another type, or is no such character.

    Examples:
        >>> import dpsel
        >>> dpsel.Csv(delimiter=";", header=False)
        Csv(delimiter=';', header=False)
    """

    delimiter: str | None = None
    header: bool = True

    def __post_init__(self) -> None:
        """Check both."""
        header: object = self.header
        if not isinstance(header, bool):
            raise InvalidParameterError(
                f"header must be True or False, got {type_name(header)}; it says whether there is one"
            )
        given: object = self.delimiter
        if given is None:
            return
        fits = isinstance(given, str) and len(given) == 1 and given.isascii() and given not in '"\r\n\0'
        if not fits:
            shown = quoted(given) if isinstance(given, str) else type_name(given)
            raise InvalidParameterError(
                f"delimiter must be one character of ASCII, and no quote or line break, got {shown}; "
                "pass the character between two fields, such as ';'"
            )
