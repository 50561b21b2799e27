"""Files that are written: never over a ledger, with which what was spent would be forgotten."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from dpsel._arguments import as_name_of_file
from dpsel.exceptions import FileError
from dpsel.quoting import quoted_path

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["checked_output", "endings", "report_beside"]

#: The first line of a ledger has no line before it.
_MARKS: Final = (b'"kind":"total"', b'"previous":"' + b"0" * 64)
_LONGEST_LINE: Final = 1 << 16


def checked_output(path: str | os.PathLike[str]) -> str:
    """Return the name of a file to write; refuse one that is a ledger.

    Raises:
        FileError: If it is one, by whatever name.
    """
    name = as_name_of_file("path", path)
    if _is_ledger(name):
        raise FileError(
            f"cannot write {quoted_path(name)}: it is a ledger, and what was spent would be forgotten; name "
            "another file"
        )
    return name


def _is_ledger(path: str) -> bool:
    try:
        if not os.path.isfile(path):  # noqa: PTH113 - pathlib takes longer to import
            return False
        with open(path, "rb") as file:  # noqa: PTH123
            line = file.readline(_LONGEST_LINE)
    except OSError:
        # Whoever writes it says so.
        return False
    return all(mark in line for mark in _MARKS)


def report_beside(items: Path) -> Path:
    """Return the file that is taken for the report of the items in a file, if no other one is named."""
    return items.with_name(items.name.removesuffix("".join(endings(items))) + ".json")


def endings(path: Path) -> list[str]:
    """Return the extension of a file, and that of its compression."""
    packed = path.suffix in {".gz", ".zst"}
    return path.suffixes[-2:] if packed else path.suffixes[-1:]
