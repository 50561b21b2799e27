"""Checks of the types of arguments. The Rust core checks their ranges."""

from __future__ import annotations

import numbers
import operator
import os
import re
from typing import Any, Final, SupportsFloat, SupportsIndex

from dpsel.exceptions import InvalidParameterError

_INT64: Final = 1 << 63
#: The start of an address; a drive of Windows has one letter.
_ADDRESS: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:/")
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*((?:[kmgt]i?)?)b?", re.IGNORECASE)
_UNITS: Final = {"": 1} | {
    letter + suffix: base**power
    for power, letter in enumerate("kmgt", start=1)
    for suffix, base in (("", 1000), ("i", 1024))
}
#: The classes of pandas' and NumPy's missing values.
_MISSING: Final = {"NAType", "NaTType", "MaskedConstant"}
_PRIVATE: Final = re.compile(r"\._\w+")

__all__ = [
    "as_bytes",
    "as_count",
    "as_flag",
    "as_int",
    "as_int_if_given",
    "as_name_of_file",
    "as_number",
    "as_path_if_given",
    "as_path_or_address",
    "at_least_one",
    "class_name",
    "elements",
    "is_one_of",
    "is_unicode",
    "several",
    "type_name",
    "with_article",
    "without_missing",
]


def type_name(value: object) -> str:
    """Return the name of the type of ``value`` for a message; never the value itself."""
    return class_name(type(value))


def with_article(value: object) -> str:
    """Return the name of the type of ``value`` after its article: "an int", "a str"."""
    name = type_name(value)
    return f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"


def class_name(cls: type) -> str:
    """Return the name of a class for a message, without private modules of this package."""
    if cls.__module__ == "builtins":
        return cls.__qualname__
    module = _PRIVATE.sub("", cls.__module__) if cls.__module__.startswith("dpsel.") else cls.__module__
    return f"{module}.{cls.__qualname__}"


def as_number(name: str, value: SupportsFloat | SupportsIndex) -> float:
    """Return a number as a float; refuse texts, bools and everything else."""
    if not hasattr(type(value), "__float__") or _is_bool(value) or _is_complex(value):
        raise _no_number(name, value)
    try:
        return float(value)
    except OverflowError:
        raise InvalidParameterError(f"{name} is too large for a float; give a smaller number") from None
    except Exception:  # noqa: BLE001 - whatever another library's type raises
        raise _no_number(name, value) from None


def _no_number(name: str, value: object) -> InvalidParameterError:
    return InvalidParameterError(f"{name} must be a number, got {type_name(value)}; give an int or a float")


def _is_complex(value: object) -> bool:
    # Those of numpy drop their imaginary part with a warning.
    return isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real)


def _is_bool(value: object) -> bool:
    # Of numpy, which has a type of its own.
    return isinstance(value, bool) or type(value).__name__ in {"bool", "bool_"}


def as_int(name: str, value: SupportsIndex) -> int:
    """Return a whole number as an int; refuse bools, floats and texts."""
    wrong = InvalidParameterError(f"{name} must be a whole number, got {type_name(value)}; give an int")
    if _is_bool(value) or not hasattr(type(value), "__index__"):
        raise wrong
    try:
        number = operator.index(value)
    except Exception:  # noqa: BLE001 - an array, for example, is refused by its own library
        raise wrong from None
    if abs(number) >= _INT64:
        raise InvalidParameterError(f"{name} must fit 64 bits; give a smaller one")
    return number


def as_int_if_given(name: str, value: SupportsIndex | None) -> int | None:
    """Return a whole number as an int, and ``None`` as it is."""
    return None if value is None else as_int(name, value)


def as_bytes(name: str, value: SupportsIndex | str | None) -> int | None:
    """Return a number of bytes, also from a text such as ``"4GiB"``, and ``None`` as it is."""
    if not isinstance(value, str):
        return as_int_if_given(name, value)
    match = _SIZE.fullmatch(value.strip())
    size = int(float(match[1]) * _UNITS[match[2].lower()]) if match else 0
    if size < 1:
        raise InvalidParameterError(
            f"{name} must be a number of bytes, or a size such as '4GiB' or '500MB', got another text; "
            "give one of these"
        )
    return as_int(name, size)


def as_path_if_given(name: str, value: object) -> str | None:
    """Return a path as text, and ``None`` as it is."""
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike):
        raise InvalidParameterError(f"{name} must be a path, got {type_name(value)}; give a str or a Path")
    return as_name_of_file(name, value)


def as_name_of_file(name: str, value: str | os.PathLike[Any]) -> str:
    """Return a path as text; refuse what no file can have as its name, and an address."""
    path = as_path_or_address(name, value)
    # A path object has lost one of the two slashes.
    if _ADDRESS.match(path) and not os.path.lexists(path.partition("/")[0]):
        raise InvalidParameterError(
            f"{name} must be a path of this machine, got an address; addresses of Parquet files are read as "
            "data, given as a text, so copy other files to this machine or from it"
        )
    return path


def as_path_or_address(name: str, value: str | os.PathLike[Any]) -> str:
    """Return a path as text; refuse what no file can have as its name."""
    try:
        path = os.fsdecode(value)
        possible = b"\0" not in os.fsencode(path)
    except Exception:  # noqa: BLE001 - whatever a path of another library raises
        possible = False
    if not possible:
        raise InvalidParameterError(
            f"{name} must be a path, got {type_name(value)} that no file can be named; give another name"
        )
    return path


def is_unicode(text: str) -> bool:
    """Whether a text can be written: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_one_of(value: object, *known: str) -> bool:
    """Whether a value is one of these texts. A table or an array is none of them, and is not compared."""
    return isinstance(value, str) and value in known


def elements(name: str, value: Any) -> list[Any]:
    """Return what is in a list, an array or another iterable."""
    try:
        return list(value)
    except Exception:  # noqa: BLE001 - whatever another library's type raises
        raise InvalidParameterError(
            f"{name} must be a list, got {type_name(value)}; give a list with an entry for each"
        ) from None


def without_missing(name: str, items: list[Any]) -> list[Any]:
    """Return public items; refuse a missing one: no row has it as its item."""
    if any(map(_is_missing, items)):
        raise InvalidParameterError(f"{name} must have no missing item, such as None, got one; leave it out")
    return items


def _is_missing(item: Any) -> bool:
    """Whether a value stands for no value in any library, or is a tuple with such a part."""
    if isinstance(item, tuple):
        return any(map(_is_missing, item))
    if item is None or type(item).__name__ in _MISSING:
        return True
    try:
        # What is no number and no time is not equal to itself.
        differs = item != item  # noqa: PLR0124
        return _is_bool(differs) and bool(differs)
    except Exception:  # noqa: BLE001 - whatever another library's type raises
        return False


def as_flag(name: str, value: object) -> bool:
    """Return True or False; refuse everything else: the text "no" is true in Python."""
    if _is_bool(value):
        return bool(value)
    raise InvalidParameterError(f"{name} must be True or False, got {type_name(value)}; give a bool")


def as_count(name: str, value: SupportsIndex) -> int:
    """Return a whole number from 0 to the largest of 32 bits."""
    number = as_int(name, value)
    if number < 0:
        raise InvalidParameterError(f"{name} must be a whole number above 0, got {number}; give a larger one")
    if number >= 1 << 32:
        raise InvalidParameterError(f"{name} must be below 2^32, got {number}; give a smaller number")
    return number


def several(value: Any) -> list[Any]:
    """Return one value or several as a list."""
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return [value]
    values = elements("privacy, max_items_per_user and mechanisms", value)
    if not values:
        raise InvalidParameterError(
            "privacy, max_items_per_user and mechanisms need at least one entry, got none; name one"
        )
    return values


def at_least_one(name: str, value: Any) -> int:
    """Return a whole number above 0."""
    number = as_int(name, value)
    if number < 1:
        raise InvalidParameterError(f"{name} must be at least 1, got {number}; give a whole number above 0")
    return number
