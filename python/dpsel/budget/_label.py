"""Labels of entries: one line of text, so that no label looks like another entry."""

from __future__ import annotations

import unicodedata
from typing import Final

from dpsel._arguments import type_name
from dpsel.exceptions import InvalidParameterError

__all__ = ["checked_label", "shown_label"]

#: Control characters, halves of surrogate pairs, and separators of lines and paragraphs.
_CATEGORIES: Final = {"Cc", "Cs", "Zl", "Zp"}
#: What turns the direction of text around.
_TURNS: Final = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def checked_label(label: object) -> str:
    """Refuse a label that is no text, or not in one line."""
    if not isinstance(label, str):
        raise InvalidParameterError(f"label must be a text, got {type_name(label)}; give a str")
    if any(map(_is_bad, label)):
        raise InvalidParameterError(
            "label must be one line of text without control characters, which could look like other entries; "
            "leave them out"
        )
    return label


def shown_label(label: str) -> str:
    """Return a label with its control characters written out: other programs wrote the file perhaps."""
    return "".join(ascii(one)[1:-1] if _is_bad(one) else one for one in label)


def _is_bad(one: str) -> bool:
    return unicodedata.category(one) in _CATEGORIES or unicodedata.bidirectional(one) in _TURNS
