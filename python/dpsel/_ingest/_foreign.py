"""Exceptions of other libraries, whose messages may quote a value: none of their words are kept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, TypeVar

from dpsel.exceptions import DataError, DpselError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["opened"]

T = TypeVar("T")

_LONGEST_NAME: Final = 80


def opened(step: Callable[[], T]) -> T:
    """Return the result of ``step`` on a table of another library.

    Some libraries read rows as soon as a table is opened, and quote what they cannot convert.

    Raises:
        DpselError: As ``step`` does.
        DataError: In place of any other exception, of which only the class is named. Those that end the
            program or the task stay what they are, without their words.
    """
    ours: BaseException | None
    try:
        return step()
    except DpselError as error:
        # What it was raised for may hold the row: the text of a file that is not UTF-8, for example. So may
        # the variables of the frames below this one.
        error.__cause__ = error.__context__ = None
        ours, name = error.with_traceback(None), ""
    except BaseException as error:  # noqa: BLE001 - whatever it is, its words may quote a value
        ours, name = _ends_the_program(error), type(error).__name__
    # Raised behind the handler: in it Python would chain the exception to this one, text and all.
    if ours is not None:
        raise ours
    is_plain = name.isascii() and name.isidentifier() and len(name) <= _LONGEST_NAME
    raised = name if is_plain else "an exception"
    raise DataError(
        f"the source of the data failed: it raised {raised} when it was opened; its message may quote a "
        "value and is left out, so read the source without dpsel to see it"
    )


def _ends_the_program(error: BaseException) -> BaseException | None:
    """Return a fresh exception that ends the program, or the task, as this one would have.

    Others that are no ``Exception`` are errors: a panic of a library in Rust is one, and quotes data.
    """
    if isinstance(error, SystemExit):
        # A code that is no number is a text, which Python would print, with the status 1.
        code = error.code
        return SystemExit() if code is None else SystemExit(int(code) if isinstance(code, int) else 1)
    kinds: list[type[BaseException]] = [KeyboardInterrupt, GeneratorExit]
    # Nobody can have cancelled a task without it.
    if asyncio := sys.modules.get("asyncio"):
        kinds.append(asyncio.CancelledError)
    return next((kind() for kind in kinds if isinstance(error, kind)), None)
