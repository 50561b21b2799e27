"""What a release says to Spark is kept out of the logs of the driver.

At level DEBUG py4j logs every command, and Spark Connect every plan. Both hold serialised functions.
"""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["quiet"]

#: Loggers of these names, and of names below them, are kept from what a release says.
_TALKATIVE: Final = ("py4j", "pyspark", "grpc")
_is_in_release: ContextVar[bool] = ContextVar("_is_in_release", default=False)


class _OutsideReleases(logging.Filter):
    """Drops what the thread of a release logs. Warnings and errors stay: they quote no command."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING or not _is_in_release.get()


class _Filters:
    """One filter on all talkative loggers, as long as any release runs."""

    def __init__(self) -> None:
        self._filter = _OutsideReleases()
        self._lock = threading.Lock()
        self._releases = 0
        self._filtered: list[logging.Logger] = []

    def enter(self) -> None:
        with self._lock:
            self._releases += 1
            for logger in _talkative():
                # It may have been made after an earlier release began.
                if logger not in self._filtered:
                    logger.addFilter(self._filter)
                    self._filtered.append(logger)

    def leave(self) -> None:
        with self._lock:
            self._releases -= 1
            if self._releases == 0:
                for logger in self._filtered:
                    logger.removeFilter(self._filter)
                self._filtered.clear()


_filters: Final = _Filters()


def _talkative() -> list[logging.Logger]:
    """Return the loggers to be filtered: a filter of a logger does not see records of those below it.

    A session exists before a release does, so its loggers do. None is made here, because PySpark makes its
    own of another class.
    """
    below = tuple(name + "." for name in _TALKATIVE)
    made = list(logging.root.manager.loggerDict.items())
    return [
        logger
        for name, logger in made
        if isinstance(logger, logging.Logger) and (name in _TALKATIVE or name.startswith(below))
    ]


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what this thread says to Spark out of the logs, and nothing else."""
    _filters.enter()
    before = _is_in_release.set(True)
    try:
        yield
    finally:
        _is_in_release.reset(before)
        _filters.leave()
