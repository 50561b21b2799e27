"""What a user may be in a table, whose column may have another type than the value that names the user."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

__all__ = ["forms_of"]

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def forms_of(user: Any) -> list[Any]:
    """Return the values of other types that say the same: numbers, dates and bytes as text, and back."""
    if isinstance(user, str):
        return [user, *_read(user), *_encoded(user)]
    if isinstance(user, bool):
        return [user, str(user), str(user).lower()]
    if isinstance(user, int):
        return [user, str(user)]
    if isinstance(user, dt.date):
        return [user, user.isoformat(), str(user)]
    if isinstance(user, bytes):
        return [user, *_decoded(user)]
    return [user]


def _read(text: str) -> list[Any]:
    """Return the numbers, truth values, days and times that a text stands for."""
    if _WHOLE.fullmatch(text):
        return [int(text)] if _LEAST <= int(text) <= _MOST else []
    if text.lower() in ("true", "false"):
        return [text.lower() == "true"]
    try:
        time = dt.datetime.fromisoformat(text)
    except ValueError:
        return []
    return [time, time.date()] if len(text) <= len("2026-01-01") else [time]


def _encoded(text: str) -> list[bytes]:
    try:
        return [text.encode()]
    except UnicodeEncodeError:
        return []


def _decoded(user: bytes) -> list[str]:
    try:
        return [user.decode()]
    except UnicodeDecodeError:
        return []
