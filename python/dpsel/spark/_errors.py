"""Brings errors of dpsel back from tasks as exceptions. Of any other exception it keeps only the class."""

from __future__ import annotations

import re
from functools import wraps
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from dpsel import exceptions
from dpsel.exceptions import DataError, DpselError, DpselWarning, MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CallersError", "own_errors"]

P = ParamSpec("P")
T = TypeVar("T")

#: What tasks import for us. Other names are those of the functions of a table.
_LACKING: Final = re.compile(
    r"^ModuleNotFoundError: No module named '(dpsel|pyarrow|pandas|numpy)(?:\.[\w.]+)?'$", re.MULTILINE
)
_LIMIT: Final = "spark.driver.maxResultSize"
_OWN: Final = re.compile(r"^dpsel\.exceptions\.(\w+): (.*)$", re.MULTILINE)


class CallersError(Exception):
    """An exception of a function of the caller's that runs on the driver. It goes back as it is."""

    def __init__(self, original: Exception) -> None:
        """Keep the exception."""
        super().__init__()
        self.original = original


def own_errors(run: Callable[P, T]) -> Callable[P, T]:
    """Let a function that runs jobs raise errors of this package only.

    Spark quotes the row that it fails on, and repeats the messages of functions of the table. It has only the
    text of a task's traceback, whose last line names the exception.
    """

    @wraps(run)
    def guarded(*given: P.args, **named: P.kwargs) -> T:
        try:
            return run(*given, **named)
        except (DpselError, DpselWarning):
            raise
        except CallersError as error:
            raised: BaseException = error.original
        except KeyboardInterrupt:
            # Frames of PySpark hold what tasks sent.
            raised = KeyboardInterrupt()
        except Exception as error:  # noqa: BLE001 - whatever it is, its words may quote a value
            text = str(error)
            raised = _own(text) or _lacking(text) or _too_large(text) or _foreign(error)
        # Raised behind the handler: in it Python would chain the exception to this one, text and all.
        raise raised

    return guarded


def _own(text: str) -> DpselError | None:
    """Return the error of this package that ended a task, if one did."""
    found = _OWN.findall(text)
    if not found:
        return None
    name, words = found[-1]
    kind = getattr(exceptions, name, None)
    return kind(words) if isinstance(kind, type) and issubclass(kind, DpselError) else None


def _lacking(text: str) -> DpselError | None:
    """Return an error that names the package that the workers lack, if they lack one."""
    if not (found := _LACKING.search(text)):
        return None
    return DataError(
        f"Spark failed: the Python of its workers has no package {found[1]!r}; install it there, or let "
        "PYSPARK_PYTHON name a Python that has it"
    )


def _too_large(text: str) -> DpselError | None:
    """Return an error that names the limit of what tasks send, if that ended a job."""
    if _LIMIT not in text:
        return None
    return MemoryLimitError(
        f"what tasks send to the driver exceeds {_LIMIT}; start Spark with a larger one, and a driver of "
        "twice as much memory"
    )


def _foreign(error: Exception) -> DpselError:
    return DataError(
        f"Spark failed: it raised {type(error).__name__} while the table was read; its message may "
        "quote a value and is left out, so read the table without dpsel to see it"
    )
