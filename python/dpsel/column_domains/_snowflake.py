"""Privacy domains of Snowflake in SQL."""

from __future__ import annotations

import re
from typing import Any, Final

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")


def domain_of(values: list[Any]) -> str | None:
    """Return a privacy domain in SQL."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return f"BETWEEN ({values[0]}, {values[-1]})"
    if kinds == {str}:
        texts = (value.replace("\\", "\\\\").replace("'", "''") for value in values)
        quotes = ", ".join(f"'{text}'" for text in texts)
        return f"IN ({quotes})"
    return None


def name_of(column: str) -> str:
    return column if _PLAIN_NAME.fullmatch(column) else '"' + column.replace('"', '""') + '"'
