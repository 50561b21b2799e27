"""Rows of a bucket and a packed value: how they are kept, divided, brought together and collected."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dpsel import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["collected", "level", "made", "not_of_users", "of_users", "persisted", "sent", "together"]

_VALUES = "bucket int, packed binary"


@contextmanager
def persisted(made: Any) -> Iterator[Any]:
    """Keep rows until they are no longer needed, and hand them on without the plan that makes them.

    Spark can still make them again. It writes out the plan of each job that uses them, which would be theirs
    as well. Rows are kept as they are, since a table in memory would copy each value several times.
    """
    session = made.sparkSession
    context = getattr(session, "_sc", None)
    # Sessions of Spark Connect have no rows of Java.
    rows = made.persist() if context is None else _without_plan(made).persist(level(context))
    try:
        yield rows if context is None else _frame(session, rows, made)
    finally:
        rows.unpersist()


def _without_plan(made: Any) -> Any:
    return made._jdf.toJavaRDD()  # noqa: SLF001 - PySpark has no rows of Java


def level(context: Any) -> Any:
    """Where Spark keeps values: in memory as they are, and on its disk those that do not fit."""
    from pyspark import StorageLevel

    return context._getJavaStorageLevel(StorageLevel.MEMORY_AND_DISK_DESER)  # noqa: SLF001


def _frame(session: Any, rows: Any, made: Any) -> Any:
    from pyspark.sql import DataFrame

    return DataFrame(session._jsparkSession.createDataFrame(rows, made._jdf.schema()), session)  # noqa: SLF001


def made(of: Any, task: Any) -> Any:
    """Let tasks make rows of a bucket and a packed value."""
    return of.mapInArrow(task, _VALUES)


def of_users(rows: Any) -> Any:
    """Leave out the user counts, or what goes to the driver."""
    return rows.where("bucket >= 0")


def not_of_users(rows: Any) -> Any:
    """Leave only the user counts, or what goes to the driver."""
    return rows.where("bucket < 0")


def together(rows: Any) -> Any:
    """Bring the rows of a bucket together, one bucket after the other."""
    return rows.repartition("bucket").sortWithinPartitions("bucket")


def sent(made: Any, tasks: range) -> _core.ExchangePacked:
    """Run a job; return what these tasks made for the driver."""
    of_tasks = f"spark_partition_id() >= {tasks.start} and spark_partition_id() < {tasks.stop}"
    return collected(not_of_users(made).where(of_tasks))


def collected(made: Any) -> _core.ExchangePacked:
    """Run a job; its packed values never are a variable that a traceback shows."""
    return _core.ExchangePacked(made.toArrow().to_batches())
