"""Labels of entries: one line of text, so that no label looks like another entry."""

from __future__ import annotations

from dpsel._arguments import type_name
from dpsel._tables import is_control
from dpsel.exceptions import InvalidParameterError

__all__ = ["checked_label"]


def checked_label(label: object) -> str:
    """Refuse a label that is no text, or not in one line."""
    if not isinstance(label, str):
        raise InvalidParameterError(f"label must be a text, got {type_name(label)}; give a str")
    if any(map(is_control, label)):
        raise InvalidParameterError(
            "label must be one line of text without control characters, which could look like other entries; "
            "leave them out"
        )
    return label
