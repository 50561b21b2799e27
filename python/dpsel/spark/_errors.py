"""Errors of tasks come back as the exceptions that they were."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from dpsel import exceptions

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["own_errors"]

_OWN: Final = re.compile(r"^dpsel\.exceptions\.(\w+): (.*)$", re.MULTILINE)


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise what a task raised instead of Spark's report of a failed job.

    Spark has only the text of a task's traceback; its last line names the exception.
    """
    try:
        yield
    except Exception as error:
        found = _OWN.findall(str(error))
        if not found or isinstance(error, exceptions.DpselError):
            raise
        name, text = found[-1]
        raised = getattr(exceptions, name, exceptions.InternalError)
        raise raised(text) from error
