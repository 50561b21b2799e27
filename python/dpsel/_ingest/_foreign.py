"""Exceptions of other libraries, whose messages may quote a value: none of their words are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dpsel._core_calls import foreign_error

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["opened"]

T = TypeVar("T")


def opened(step: Callable[[], T], position: str = "when it was opened") -> T:
    """Return the result of ``step`` on a table of another library, or of a function of the caller's.

    Some libraries read rows as soon as a table is opened, and quote what they cannot convert.

    Raises:
        DpselError: As ``step`` does, if this package raised it, and without the frames below this one: their
            variables may hold a row.
        DataError: In place of any other exception, of which only the class is named. Those that end the
            program or the task stay what they are, without their words.
    """
    try:
        return step()
    except BaseException as error:  # noqa: BLE001 - whatever it is, its words may quote a value
        failed = error
    # Behind the handler: in it Python would chain the exception to this one, text and all.
    replaced = foreign_error(failed, position)
    # The frames below have rows.
    del failed
    raise replaced
