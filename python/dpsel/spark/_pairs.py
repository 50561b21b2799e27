"""Packed values as pairs of Java: a number and bytes, which no table takes up.

As a row of a table a value is copied some ten times on its way between two tasks: to Arrow and back, to rows
of SQL and back. As the bytes of a pair it is read and written, and that is all. Jobs have no plan of SQL
either. This is how PySpark shuffles its own data. Sessions of Spark Connect cannot do it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core
from dpsel.exceptions import InternalError
from dpsel.spark import _packed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Pairs", "made", "of_users", "persisted", "sent", "shuffled", "values"]

#: The numbers of values of users, and of values for the driver, each plus the number of their task.
#: Smaller ones would come to Java as numbers of another type. With larger ones Java would divide tasks
#: unevenly.
_USERS: Final = 2**31
_DRIVER: Final = 2**32
#: The setting of a session that shortens the tracebacks of functions of tables.
_SIMPLIFIED: Final = "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled"
#: The last value of a task, for the driver. No other value is empty.
_END: Final = b""


def values(rows: Any) -> Any:
    """Take the packed values of rows out of their table: a PySpark RDD of bytes."""
    context = rows.sparkSession._sc  # noqa: SLF001 - there is no public name
    # The method has the name of a keyword.
    as_values = getattr(rows.select("packed")._jdf, "as")  # noqa: SLF001 - PySpark has no values of Java
    binary = context._jvm.org.apache.spark.sql.Encoders.BINARY()  # noqa: SLF001
    return _rdd(as_values(binary).toJavaRDD(), context)


def made(of: Any, task: Any, session: Any) -> Pairs:
    """Let tasks make pairs of values. A task takes values, and gives buckets with new ones."""
    pairs = of.mapPartitionsWithIndex(_Numbered(task))
    pairs.ctx = _LikeTables(of.context, session)
    # As PySpark's `partitionBy` does.
    pairs._bypass_serializer = True  # noqa: SLF001
    java = of.context._jvm.PairwiseRDD(pairs._jrdd.rdd())  # noqa: SLF001
    return Pairs(of.context, java.asJavaPairRDD())


class _LikeTables:
    """A Spark context whose tasks run in the Python processes that work on tables.

    Spark starts new processes for tasks that ask for other environment variables. They would load PySpark,
    pyarrow and this package once more. Functions of tables have this variable, which shortens the tracebacks
    of errors. Other settings of a session that functions of tables alone obey lead to new processes still.
    """

    def __init__(self, context: Any, session: Any) -> None:
        self._context = context
        self.environment = dict(context.environment)
        # The default is Spark's own.
        is_simplified = session.conf.get(_SIMPLIFIED, "true")
        if is_simplified.lower() == "true":
            self.environment["SPARK_SIMPLIFIED_TRACEBACK"] = "1"

    def __getattr__(self, name: str) -> Any:
        """All else is that of the context."""
        if name == "_context":
            # A copy of this object that has no context yet.
            raise AttributeError(name)
        return getattr(self._context, name)


@dataclass(frozen=True)
class _Numbered:
    """Gives the values of a task numbers, as the bytes that Java reads pairs from.

    All values of users have the same number. When a task runs again, the same users may be in other values.
    So what goes to another task is to be all of them.
    """

    task: Any = field(repr=False)

    def __call__(self, number: int, taken: Iterable[bytes]) -> Iterator[Any]:
        """Work through the values of a task, and give numbers and values in turns."""
        for bucket, value in self.task(taken):
            yield ((_USERS if bucket >= 0 else _DRIVER) + number).to_bytes(8, "big")
            yield value
        yield (_DRIVER + number).to_bytes(8, "big")
        yield _END


@dataclass(frozen=True)
class Pairs:
    """Pairs of Java, which Spark can make again."""

    context: Any = field(repr=False)
    java: Any = field(repr=False)

    def between(self, least: int, most: int) -> Pairs:
        """Leave out pairs with other numbers."""
        return Pairs(self.context, self.java.filterByRange(least, most))

    def values(self) -> Any:
        """Return the values: a PySpark RDD of bytes."""
        return _rdd(self.java.values(), self.context)


@contextmanager
def persisted(pairs: Pairs) -> Iterator[Pairs]:
    """Keep pairs until they are no longer needed."""
    context = pairs.context
    java = pairs.java.persist(_packed.level(context))
    try:
        yield Pairs(context, java)
    finally:
        java.unpersist()


def of_users(pairs: Pairs) -> Any:
    """Leave out what goes to the driver: a PySpark RDD of bytes."""
    return pairs.between(_USERS, _DRIVER - 1).values()


def shuffled(pairs: Pairs, tasks: int) -> Any:
    """Move what each task made of users to another task: a PySpark RDD of bytes.

    Tasks after it can be read without all those before, and the values of users can still be made again.
    """
    partitioner = pairs.context._jvm.org.apache.spark.HashPartitioner(tasks)  # noqa: SLF001
    of_users = pairs.between(_USERS, _DRIVER - 1).java
    return _rdd(of_users.partitionBy(partitioner).values(), pairs.context)


def sent(pairs: Pairs, tasks: range) -> _core.ExchangePacked:
    """Run a job; what these tasks made for the driver never is a variable that a traceback shows.

    PySpark takes the end of a stream for the end of the values, also where the JVM has failed to write the
    rest. So each task's last value has to be there.

    Raises:
        InternalError: If values are missing.
    """
    from pyspark.errors.exceptions.captured import unwrap_spark_exception

    with unwrap_spark_exception():
        numbers = _DRIVER + tasks.start, _DRIVER + tasks.stop - 1
        found = _Sent(pairs.between(*numbers).values().collect())
    # There may be fewer tasks than were asked for.
    if found.ends() != len(range(pairs.java.getNumPartitions())[tasks.start : tasks.stop]):
        raise InternalError("some of what the tasks of a round sent did not arrive; please report this")
    return found.packed()


class _Sent:
    """What tasks sent to the driver. It shows nothing."""

    def __init__(self, values: list[bytes]) -> None:
        self._values = values

    def ends(self) -> int:
        """Return the number of tasks whose last value is there."""
        return self._values.count(_END)

    def packed(self) -> _core.ExchangePacked:
        """Return the values, which no variable shows."""
        import pyarrow as pa

        return _core.ExchangePacked([pa.record_batch({"packed": pa.array(self._values, pa.binary())})])


def _rdd(java: Any, context: Any) -> Any:
    from pyspark import RDD
    from pyspark.serializers import NoOpSerializer

    return RDD(java, context, NoOpSerializer())
