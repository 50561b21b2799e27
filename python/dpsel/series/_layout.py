"""The names of the files of a series, the labels of what is sealed, and the error for a changed file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NoReturn

from dpsel.exceptions import SeriesError

if TYPE_CHECKING:
    from dpsel.series._files import Files

__all__ = [
    "CLOSED",
    "COMMIT",
    "HEADER",
    "KEY",
    "LOG",
    "NEW",
    "NO_RECORD",
    "changed",
    "commit_name",
    "key_label",
]

HEADER: Final = "header.json"
#: The header before it is paid for.
NEW: Final = "header.new"
#: The inner secrets under the key of the caller, and what is left of them when the series is closed.
KEY: Final = "key"
CLOSED: Final = "closed"
LOG: Final = "log.jsonl"
COMMIT: Final = re.compile(r"commit-(\d{6,})\.json")
#: What is raised for a file that is no record.
NO_RECORD: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def commit_name(number: int) -> str:
    """Return the name of a commit, which is never freed."""
    return f"commit-{number:06}.json"


def key_label(which: str, header: str) -> bytes:
    """Return a label with the digest of the header, which is so kept from changes."""
    return f"dpsel series {which} {header}".encode()


def changed(files: Files, name: str) -> NoReturn:
    """Refuse a folder with a file that was changed."""
    raise SeriesError(
        f"the file '{name}' of the series in {files.shown} was changed; restore the folder from a copy that "
        "is as new, since what was shown cannot be made again"
    ) from None
