"""Exceptions of other libraries, whose messages may quote a value: none of their words are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dpsel.exceptions import DataError, DpselError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["opened"]

T = TypeVar("T")


def opened(step: Callable[[], T]) -> T:
    """Return what ``step`` makes of a table of another library.

    Some libraries read rows as soon as a table is opened, and quote what they cannot convert.

    Raises:
        DpselError: As ``step`` does.
        DataError: In place of any other exception, of which only the class is named.
    """
    try:
        return step()
    except DpselError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, its words may quote a value
        name = type(error).__name__
    # Raised behind the handler: in it Python would chain the exception to this one, text and all.
    raise DataError(
        f"the source of the data failed: it raised {name} when it was opened; its message may quote a value "
        "and is left out, so read the source without dpsel to see it"
    )
