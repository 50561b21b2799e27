"""What a user may be in a table, whose column may have another type than the value that names the user."""

from __future__ import annotations

import datetime as dt
import re
from numbers import Integral
from operator import index
from typing import Any

__all__ = ["forms_of"]

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def forms_of(user: Any) -> list[Any]:
    """Return the values of other types that say the same: numbers, dates and bytes as text, and back."""
    match user:
        case str():
            others = [*_read(user), *_encoded(user)]
        case bool():
            others = [str(user), str(user).lower()]
        case Integral():
            others = _whole(user)
        case dt.datetime():
            others = [*_in_zones(user), user.isoformat(), str(user)]
        case dt.date():
            others = [user.isoformat()]
        case bytes():
            others = [*_decoded(user)]
        case _:
            others = []
    return [user, *others]


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
    return [*_in_zones(time), time.date()] if len(text) <= len("2026-01-01") else _in_zones(time)


def _in_zones(time: dt.datetime) -> list[dt.datetime]:
    """Return a time as columns with and without a zone have it: without one, as the time of UTC."""
    if time.tzinfo is None:
        return [time, time.replace(tzinfo=dt.UTC)]
    try:
        return [time, time.astimezone(dt.UTC).replace(tzinfo=None)]
    except OverflowError:
        return [time]


def _whole(user: Any) -> list[Any]:
    try:
        number = index(user)
    except TypeError:  # NumPy calls its durations whole numbers, too
        return []
    return [number, str(number)]


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
