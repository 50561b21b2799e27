"""The delimiter that names of text files tell."""

from __future__ import annotations

import os
from typing import Final

from dpsel._core_calls import Source
from dpsel.exceptions import InvalidParameterError

__all__ = ["delimiter_of", "told_by"]

_TABS: Final = (".tsv", ".tab")


def delimiter_of(paths: list[str], *, quoted: bool) -> str:
    """Return the delimiter that the names of all files tell: a tab, or a comma.

    Raises:
        InvalidParameterError: If some names tell one and some the other.
        FileError: If the core refuses the paths.
    """
    named = Source.files(paths, "csv", quoted=quoted).named_files()
    with_tabs = [told_by(file) == "\t" for file in named]
    if any(with_tabs) and not all(with_tabs):
        raise InvalidParameterError(
            "delimiter must be given for files of which only some are .tsv or .tab, got none; "
            "read files of one kind, or name the character between two fields"
        )
    return "\t" if any(with_tabs) else ","


def told_by(file: str | os.PathLike[str]) -> str:
    """Return the delimiter that the name of one file tells."""
    name = os.fspath(file).lower().removesuffix(".gz").removesuffix(".zst")
    return "\t" if name.endswith(_TABS) else ","
