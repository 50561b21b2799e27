"""While a release runs its thread says nothing to the logs of what it calls; others do."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from importlib.util import find_spec

import pytest

from dpsel.spark._log_filter import filtered_logs


@pytest.fixture
def heard():
    """Everything that a logger of py4j and one of PySpark let through."""
    texts: list[str] = []

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            texts.append(record.getMessage())

    handler = Listening()
    loggers = [logging.getLogger(name) for name in ("py4j.clientserver", "pyspark.sql.connect.logging")]
    before = [(logger.level, list(logger.filters), logger.disabled) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        logger.addHandler(handler)
        logger.disabled = False
    yield texts
    for logger, (level, filters, disabled) in zip(loggers, before, strict=True):
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.disabled = disabled
        assert logger.filters == filters, "what a release adds is gone after it"


def say(text: str) -> None:
    for name in ("py4j.clientserver", "pyspark.sql.connect.logging"):
        logging.getLogger(name).debug(text)


def test_a_release_is_not_logged(heard) -> None:
    say("before")
    with filtered_logs():
        say("inside")
        logging.getLogger("py4j.clientserver").warning("a warning")
        with filtered_logs():
            say("inside of it")
        say("inside still")
    say("after")
    assert heard == ["before", "before", "a warning", "after", "after"]


def test_other_threads_are_logged(heard) -> None:
    began, said = threading.Event(), threading.Event()

    def release() -> None:
        with filtered_logs():
            began.set()
            assert said.wait(60)
            say("inside")

    thread = threading.Thread(target=release)
    thread.start()
    assert began.wait(60)
    say("another")
    with filtered_logs():
        say("another release")
        said.set()
        thread.join()
        say("another release, which lasts longer")
    assert heard == ["another", "another"]


def test_a_release_that_fails_is_over(heard) -> None:
    with pytest.raises(ZeroDivisionError), filtered_logs():
        raise ZeroDivisionError
    say("after")
    assert heard == ["after", "after"]


def test_loggers_made_while_a_release_runs(heard) -> None:
    """Those of a second session, which another thread starts."""
    name = "py4j.made_meanwhile"
    with filtered_logs():
        logger = logging.getLogger(name)
        with filtered_logs():
            logger.addHandler(logging.getLogger("py4j.clientserver").handlers[0])
            logger.setLevel(logging.DEBUG)
            logger.debug("inside")
    logger.debug("after")
    assert heard == ["after"]
    assert logger.filters == []


@pytest.mark.parametrize(
    "name", ["SQLQueryContextLogger", "DataFrameQueryContextLogger", "pyspark.made_meanwhile"]
)
def test_exceptions_that_quote_rows_are_not_logged(heard, name) -> None:
    """PySpark logs them at level ERROR before it raises them."""
    if find_spec("pyspark"):
        # It cannot use loggers of another class than its own.
        from pyspark.logger import PySparkLogger

        PySparkLogger.getLogger(name)
    logger = logging.getLogger(name)
    handler = logging.getLogger("py4j.clientserver").handlers[0]
    logger.addHandler(handler)
    try:
        with filtered_logs():
            logger.error("The value 'secret' cannot be cast")
            logger.critical("The value 'secret' cannot be cast")
        logger.error("after")
    finally:
        logger.removeHandler(handler)
    assert heard == ["after"]
    assert logger.filters == []


def test_loggers_that_pyspark_makes_when_it_fails_first() -> None:
    """In a process of its own: here they may be made."""
    pytest.importorskip("pyspark", reason="the loggers are those of PySpark")
    done = subprocess.run(
        [sys.executable, "-c", FIRST_FAILURE], capture_output=True, text=True, timeout=120, check=True
    )
    assert "secret" not in done.stderr
    assert done.stderr.count("afterwards") == 2
    assert done.stdout.split() == ["PySparkLogger", "PySparkLogger"]


FIRST_FAILURE = """
import pyspark
from pyspark.logger import PySparkLogger
from dpsel.spark._log_filter import filtered_logs

names = ["SQLQueryContextLogger", "DataFrameQueryContextLogger"]
with filtered_logs():
    for name in names:
        PySparkLogger.getLogger(name).exception("the secret value")
for name in names:
    PySparkLogger.getLogger(name).exception("afterwards")
    print(type(PySparkLogger.getLogger(name)).__name__)
"""
