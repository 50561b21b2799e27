"""Checks of the arguments that name columns, n-grams and a test key."""

from __future__ import annotations

from dpsel._arguments import as_int, type_name
from dpsel.exceptions import InvalidParameterError

__all__ = ["checked_test_key", "columns_of", "ngrams_of"]


def columns_of(user: object, item: object) -> list[str]:
    """Return the user column and then the item columns; labels stand in where pairs have no names."""
    named = ["user" if user is None else user]
    if item is None:
        named.append("item")
    elif isinstance(item, list | tuple):
        named.extend(item)
    else:
        named.append(item)
    columns = [name for name in named if isinstance(name, str)]
    if len(columns) < len(named):
        wrong = next(name for name in named if not isinstance(name, str))
        raise InvalidParameterError(
            f"user and item must be names of columns, got {type_name(wrong)}; give texts"
        )
    return columns


def ngrams_of(ngrams: object) -> tuple[int, int] | None:
    """Check (fewest, most) words."""
    if ngrams is None:
        return None
    if not isinstance(ngrams, tuple | list) or len(ngrams) != 2:  # noqa: PLR2004 - a pair
        raise InvalidParameterError(
            f"ngrams must be (fewest, most) words, got {type_name(ngrams)}; (1, 2) makes words and pairs"
        )
    fewest, most = (as_int("ngrams", words) for words in ngrams)
    limit = 255  # the largest value of the core's type; its own limit is lower, and has a better message
    return max(0, min(fewest, limit)), max(0, min(most, limit))


def checked_test_key(key: object) -> bytes | None:
    """Refuse a key that is no bytes."""
    if key is None or isinstance(key, bytes):
        return key
    raise InvalidParameterError(
        f"insecure_test_key must be 32 bytes, got {type_name(key)}; leave it out for a private release"
    )
