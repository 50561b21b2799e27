"""What a function answered, in one form: positions of items in the table, in order, with numbers if any."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from numbers import Number
from typing import Any, Final, NamedTuple

__all__ = ["UNKNOWN", "Answer", "NotAnAnswer", "items_and_numbers", "read_answers"]

#: The position of an item that is in no table.
UNKNOWN: Final = -1
_PAIR: Final = 2
#: Most answers are of these types and hold whole numbers.
_PLAIN: Final = (list, set)
_MOST_TEXT: Final = 80


class NotAnAnswer(Exception):  # noqa: N818 - it says what is wrong with an answer and stays in here
    """The function returned something that cannot be read as released items."""


class Answer(NamedTuple):
    """Released items; ``numbers`` is empty unless the answer has a number for each item."""

    items: tuple[int, ...]
    numbers: tuple[float, ...] = ()
    #: What else there is, as text.
    others: tuple[str, ...] = ()


def read_answers(raw: Any, width: int, copies: int, *, is_ordered: bool) -> list[Answer]:
    """Return the answer for each of ``copies`` disjoint tables of ``width`` items.

    The order of a list is kept if ``is_ordered``.

    Items are recognised as whole numbers of any type, as texts of them, and in rows of one column. Two
    columns are an item and its number.

    Raises:
        NotAnAnswer: If it cannot be iterated over.
    """
    if copies == 1 and type(raw) in _PLAIN and all(type(one) is int and 0 <= one < width for one in raw):
        return [Answer(tuple(raw if is_ordered and type(raw) is list else sorted(raw)))]
    elements, has_order = _elements(raw)
    is_ordered = is_ordered and has_order
    found: list[list[tuple[int, float | None]]] = [[] for _ in range(copies)]
    others: list[str] = []
    for element in elements:
        place, number = _one(element, width * copies)
        if place == UNKNOWN:
            others.append(repr(element)[:_MOST_TEXT])
            found[0].append((UNKNOWN, number))
        else:
            found[place // width].append((place % width, number))
    return [
        _answer(each, others if copy == 0 else [], is_ordered=is_ordered) for copy, each in enumerate(found)
    ]


def items_and_numbers(answer: Any, width: int, *, ordered: bool = True) -> tuple[list[int], dict[int, float]]:
    """Return what a function answered as an audit reads it; programs that replay a witness use this.

    Args:
        answer: The answer.
        width: The number of items in the table; other items become -1.
        ordered: Whether the order of a list is kept.

    Returns:
        The items as whole numbers, and the number beside each if the answer has numbers.

    Raises:
        NotAnAnswer: If the answer cannot be iterated over.

    Examples:
        >>> from dpsel.auditing import items_and_numbers
        >>> items_and_numbers([("2", 7.5), ("0", 3.0)], 3)
        ([2, 0], {2: 7.5, 0: 3.0})
    """
    (one,) = read_answers(answer, width, 1, is_ordered=ordered)
    return list(one.items), dict(zip(one.items, one.numbers, strict=False))


def _answer(found: list[tuple[int, float | None]], others: list[str], *, is_ordered: bool) -> Answer:
    if not is_ordered:
        found.sort(key=lambda pair: pair[0])
        others.sort()
    items = tuple([place for place, _ in found])
    has_numbers = any(number is not None for _, number in found)
    numbers = tuple([0.0 if number is None else number for _, number in found]) if has_numbers else ()
    return Answer(items, numbers, tuple(others))


def _elements(raw: Any) -> tuple[Iterable[Any], bool]:
    """Return the elements of an answer, and whether their order was published."""
    if isinstance(raw, Mapping):
        return raw.items(), True
    if isinstance(raw, AbstractSet):
        return raw, False
    if isinstance(raw, str | bytes) or raw is None:
        message = f"returned {'nothing' if raw is None else 'a text'} instead of the released items"
        raise NotAnAnswer(message)
    for rows in ("iter_rows", "itertuples"):
        if hasattr(raw, rows):
            return (getattr(raw, rows)(index=False) if rows == "itertuples" else raw.iter_rows()), True
    if not isinstance(raw, Iterable):
        message = f"returned {type(raw).__name__} instead of the released items"
        raise NotAnAnswer(message)
    return raw, True


def _one(element: Any, size: int) -> tuple[int, float | None]:
    """Return the place of an item in the table and its number, if it has one."""
    if type(element) is int:
        return (element if 0 <= element < size else UNKNOWN), None
    if hasattr(element, "as_py"):
        element = element.as_py()
    if isinstance(element, tuple | list) or getattr(element, "shape", ()) not in ((), None):
        parts = list(element)
        if len(parts) == _PAIR and (number := _number(parts[1])) is not None:
            return _place(parts[0], size), number
        return (_place(parts[0], size), None) if len(parts) == 1 else (UNKNOWN, None)
    return _place(element, size), None


def _number(value: Any) -> float | None:
    value = value.as_py() if hasattr(value, "as_py") else value
    if isinstance(value, Number) or hasattr(value, "__float__"):
        try:
            return float(value)
        except (TypeError, ValueError):
            return None
    return None


def _place(item: Any, size: int) -> int:
    if isinstance(item, bytes):
        item = item.decode("latin-1")
    if isinstance(item, str):
        place = int(item) if item.isascii() and item.isdigit() and str(int(item)) == item else UNKNOWN
    else:
        try:
            place = operator.index(item)
        except TypeError:
            place = int(item) if isinstance(item, float) and item.is_integer() else UNKNOWN
    return place if 0 <= place < size else UNKNOWN
