"""What errors quote of the names and paths that a caller gives: one rule, which the core has.

Callers pass rows by mistake: the text of a file in place of its path, or a value in place of a column.
"""

from __future__ import annotations

import os
from typing import Any

from dpsel import _core_calls

__all__ = ["quoted", "quoted_path"]


def quoted(name: str) -> str:
    """Return a name in quotes if it is short, in one line and no part of CSV or JSON; else that it is not."""
    # Half of a surrogate pair is no text for the core.
    return _core_calls.quoted(name.encode(errors="replace").decode())


def quoted_path(path: str | os.PathLike[Any]) -> str:
    """Return a path if it exists, or is as plain as a name and looks like a path; else that it is none."""
    return _core_calls.quoted_path(os.fsdecode(path).encode(errors="replace").decode())
