"""Checks of the arguments that name columns, n-grams and a test key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel._arguments import as_int, is_unicode, type_name
from dpsel.exceptions import InvalidParameterError
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NamedColumns", "checked_test_key", "columns_of", "lengths_of", "levels_of", "ngrams_of"]


class NamedColumns(list[str]):
    """The names of the user columns and then of the item columns.

    Args:
        users: The columns that identify a user; several make a user of each combination.
        items: The columns that make up an item.
        named: Those that the caller named; the others are labels of pairs.
    """

    def __init__(
        self, users: Sequence[str] = ("user",), items: Sequence[str] = ("item",), named: Sequence[str] = ()
    ) -> None:
        """Keep the names in order."""
        super().__init__([*users, *items])
        self.users = list(users)
        self.items = list(items)
        self.named = list(named)

    def to_json(self) -> dict[str, Any]:
        """Return the columns as they stand in requests: one user column is a text."""
        return {"user": self.users[0] if len(self.users) == 1 else self.users, "items": self.items}


def columns_of(user: object, item: object) -> NamedColumns:
    """Return the user columns and the item columns; labels stand in where pairs have no names."""
    users, items = _names("user", user), _names("item", item)
    named = [*([] if user is None else users), *([] if item is None else items)]
    return NamedColumns(users, items, named)


def _names(role: str, given: object) -> list[str]:
    """Return the names of one role."""
    if given is None:
        return [role]
    named = list(given) if isinstance(given, list | tuple) else [given]
    names = [name for name in named if isinstance(name, str)]
    if len(names) < len(named):
        wrong = next(name for name in named if not isinstance(name, str))
        raise InvalidParameterError(
            f"user and item must be names of columns, got {type_name(wrong)}; give texts"
        )
    if not all(map(is_unicode, names)):
        raise InvalidParameterError(
            f"{role} must name columns in Unicode, got a name with half of a surrogate pair; "
            "rename the column"
        )
    if role == "user" and not names:
        raise InvalidParameterError("user must name a column, got an empty list; name one, or several")
    return names


#: What n-grams are made of without a tokenizer of the caller's own.
_UNITS = ("words", "chars", "subwords")


def ngrams_of(ngrams: object, tokenizer: object = None) -> dict[str, Any] | None:
    """Return what the core makes of a text; ``None`` if nothing, or if a function makes tokens of it."""
    lengths = lengths_of(ngrams)
    if tokenizer is None or callable(tokenizer):
        # A function makes the n-grams itself.
        unit, lengths = "words", None if tokenizer is not None else lengths
    elif not isinstance(tokenizer, str) or tokenizer not in _UNITS:
        shown = quoted(tokenizer) if isinstance(tokenizer, str) else type_name(tokenizer)
        raise InvalidParameterError(
            f'tokenizer must be "words", "chars", "subwords" or a function from a text to a list of tokens, '
            f"got {shown}"
        )
    else:
        unit, lengths = tokenizer, lengths or (1, 1)
    if lengths is None:
        return None
    made = {"min": lengths[0], "max": lengths[1]}
    return made if unit == "words" else made | {"unit": unit}


def lengths_of(ngrams: object) -> tuple[int, int] | None:
    """Check (fewest, most) words or characters."""
    if ngrams is None:
        return None
    if not isinstance(ngrams, tuple | list) or len(ngrams) != 2:  # noqa: PLR2004 - a pair
        raise InvalidParameterError(
            f"ngrams must be (fewest, most) words, got {type_name(ngrams)}; (1, 2) makes words and pairs"
        )
    fewest, most = (as_int("ngrams", words) for words in ngrams)
    limit = 255  # the largest value of the core's type; its own limit is lower, and has a better message
    return max(0, min(fewest, limit)), max(0, min(most, limit))


def levels_of(levels: object, tokenizer: object = None) -> dict[str, str] | str | None:
    """Return what makes the levels of a tree; ``None`` if items are no nodes."""
    if levels is None or levels is False:
        return None
    if tokenizer is not None:
        raise InvalidParameterError(
            "levels makes a tree of items, and tokenizer makes items of texts; leave one of them out"
        )
    if levels is True:
        return "columns"
    if not isinstance(levels, str):
        raise InvalidParameterError(
            f"levels must be True or the separator of the parts of a path, got {type_name(levels)}; "
            'give True if each item column is a level, or a text such as "/"'
        )
    if not is_unicode(levels):
        raise InvalidParameterError(
            "levels must be a separator in Unicode, got a text with half of a surrogate pair; "
            "give the separator itself"
        )
    return {"separator": levels}


def checked_test_key(key: object) -> bytes | None:
    """Refuse a key that is no bytes."""
    if key is None or isinstance(key, bytes):
        return key
    raise InvalidParameterError(
        f"insecure_test_key must be 32 bytes, got {type_name(key)}; leave it out for a private release"
    )
