"""The names of files that are read, and the form of text files where their name does not tell it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from dpsel._arguments import type_name
from dpsel.exceptions import InvalidParameterError
from dpsel.quoting import quoted

__all__ = ["Csv", "local_path"]

_FILE_ADDRESS: Final = re.compile("file:(?://(?P<host>[^/]*))?(?P<path>/.*)", re.IGNORECASE | re.DOTALL)
_ESCAPED_WILDCARD: Final = re.compile("%(2a|3f|5b)", re.IGNORECASE)


def local_path(text: str) -> str:
    """Return the path that a text names: ``~`` is a home folder, and ``file:///a%20b`` is ``/a b``.

    Raises:
        InvalidParameterError: If the address names another machine.
        ValueError: If the text holds a NUL.
    """
    address = None if os.path.exists(text) else _FILE_ADDRESS.fullmatch(text)  # noqa: PTH110 - a text
    if address is None:
        return os.path.expanduser(text)  # noqa: PTH111 - a pattern is not a Path
    if (address["host"] or "").lower() not in ("", "localhost"):
        raise InvalidParameterError(
            "an address of a file must start with file:/// to be a path of this machine, got one with the "
            "name of another; fetch the file, or give its path"
        )
    plain = _unescaped(address["path"])
    if "\0" in plain or os.path.exists(plain):  # noqa: PTH110
        return plain
    # What is escaped is no wildcard.
    return _unescaped(_ESCAPED_WILDCARD.sub(lambda escape: f"[{escape[0]}]", address["path"]))


def _unescaped(path: str) -> str:
    from urllib.parse import unquote_to_bytes

    return os.fsdecode(unquote_to_bytes(os.fsencode(path)))


@dataclass(frozen=True)
class Csv:
    """A text file with another delimiter or quote than its name tells, or without a header line.

    Pass it as ``file_format=``. Every column is text, as in all CSV files.

    Args:
        delimiter: The character between two fields: one of ASCII, and no quote or line break. If it is left
            out, the names of the files tell it: a tab for ``.tsv`` and ``.tab``, and a comma for all others.
        header: Whether the first line has the names of the columns. Without it they are ``column_1``,
            ``column_2`` and so on.
        quote: The character around a field; an empty text if no field has any, and quotes are text.
        escape: The character before a quote within quotes: a backslash in files of Spark. Without it a quote
            is doubled.

    Raises:
        InvalidParameterError: If a value has another type, or is no such character, or has another meaning.

    Examples:
        >>> import dpsel
        >>> dpsel.Csv(delimiter=";", header=False)
        Csv(delimiter=';', header=False, quote='"', escape='')
    """

    delimiter: str | None = None
    header: bool = True
    quote: str = '"'
    escape: str = ""

    def __post_init__(self) -> None:
        """Check all."""
        header: object = self.header
        if not isinstance(header, bool):
            raise InvalidParameterError(
                f"header must be True or False, got {type_name(header)}; it says whether there is one"
            )
        if self.delimiter is not None:
            _check(
                "delimiter", self.delimiter, [self.quote, self.escape], "the one between fields, such as ';'"
            )
        if not _is_empty(self.quote):
            _check("quote", self.quote, [self.escape], "the one around fields, or '' for none")
        if not _is_empty(self.escape):
            _check("escape", self.escape, [], "the one before quotes, such as a backslash, or '' for none")
        if self.escape and not self.quote:
            raise InvalidParameterError(
                "escape must stand before a quote, and quote is empty; name the quote, or leave escape out"
            )


def _is_empty(text: object) -> bool:
    return isinstance(text, str) and not text


def _check(name: str, given: object, others: list[object], fix: str) -> None:
    fits = isinstance(given, str) and len(given) == 1 and given.isascii() and given not in "\r\n\0"
    if not fits or any(isinstance(other, str) and given == other for other in others):
        shown = quoted(given) if isinstance(given, str) else type_name(given)
        raise InvalidParameterError(
            f"{name} must be one character of ASCII, no line break and with no other meaning, got {shown}; "
            f"pass {fix}"
        )
