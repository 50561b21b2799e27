"""Keeps the commands of a release, and the answers of Spark, out of the logs of the driver.

At level DEBUG py4j logs every command, and Spark Connect every plan. Both hold serialised functions. At level
ERROR PySpark logs exceptions before it raises them. Exceptions may quote the row that Spark failed on.
"""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["filtered_logs"]

#: PySpark logs exceptions under these names. It makes the loggers when it first needs them.
_QUOTING: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
#: Loggers of these names, and of names below them, log nothing of a release below the level WARNING.
_TALKATIVE: Final = ("py4j", "pyspark", "grpc", *_QUOTING)
#: These loggers log no warnings and errors either.
_SILENT: Final = ("pyspark", *_QUOTING)
_is_in_release: ContextVar[bool] = ContextVar("_is_in_release", default=False)


class _OutsideReleases(logging.Filter):
    """Drops the records of the thread of a release.

    Warnings and errors of py4j and gRPC stay: they are about connections, and quote no command and no row.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        is_quotable = record.levelno >= logging.WARNING and not _is_of(_SILENT, record.name)
        return is_quotable or not _is_in_release.get()


class _Filters:
    """One filter on all talkative loggers, while any release runs."""

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
    """Return the loggers to be filtered. A filter does not see the records of loggers below its own.

    The loggers of a session exist, because the session does. The loggers of exceptions may not exist yet.
    PySpark has to make them, because its loggers are of another class.
    """
    if "pyspark" in sys.modules:
        from pyspark.logger import PySparkLogger

        for name in _QUOTING:
            PySparkLogger.getLogger(name)
    made = list(logging.root.manager.loggerDict.items())
    return [
        logger for name, logger in made if isinstance(logger, logging.Logger) and _is_of(_TALKATIVE, name)
    ]


def _is_of(names: tuple[str, ...], name: str) -> bool:
    """Whether a logger has one of these names, or is below one."""
    return name in names or name.startswith(tuple(one + "." for one in names))


@contextmanager
def filtered_logs() -> Iterator[None]:
    """Keep the commands of this thread, and of no other thread, out of the logs."""
    _filters.enter()
    before = _is_in_release.set(True)
    try:
        yield
    finally:
        _is_in_release.reset(before)
        _filters.leave()
