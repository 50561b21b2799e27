"""Rows of a partition and a packed value: how they are kept, divided, brought together and collected."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dpsel import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["collected", "kept", "not_of_users", "of_users", "together", "unplanned"]


@contextmanager
def kept(made: Any) -> Iterator[Any]:
    """Keep a DataFrame until it is no longer needed."""
    kept = made.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


def of_users(rows: Any) -> Any:
    """Leave out the user counts, or what goes to the driver."""
    return rows.where("partition >= 0")


def not_of_users(rows: Any) -> Any:
    """Leave only the user counts, or what goes to the driver."""
    return rows.where("partition < 0")


def unplanned(rows: Any) -> Any:
    """Return the same rows without the plan that makes them; Spark can still make them again.

    Each round has the rows of the one before. Spark writes the plan of a round out, with all plans in it, and
    that is twice as long after each round.
    """
    from pyspark.sql import DataFrame

    session = rows.sparkSession
    made = session._jsparkSession.createDataFrame(rows._jdf.toJavaRDD(), rows._jdf.schema())  # noqa: SLF001
    return DataFrame(made, session)


def together(rows: Any) -> Any:
    """Bring the rows of a partition together, one partition after the other."""
    return rows.repartition("partition").sortWithinPartitions("partition")


def collected(made: Any) -> _core.ExchangePacked:
    """Run a job; its packed values never are a variable that a traceback shows."""
    return _core.ExchangePacked(made.toArrow().to_batches())
