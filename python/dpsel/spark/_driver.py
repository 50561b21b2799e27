"""What the driver takes of a round: the sums of all tasks, or of one group of tasks after the other.

It adds up the sums of an item as they come. So it has to hold one sum of each item, and the sums of a group.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core
from dpsel.exceptions import MemoryLimitError
from dpsel.spark._encryption import settings

if TYPE_CHECKING:
    from dpsel._core import ExchangePacked

__all__ = ["cores", "groups"]

#: Sums of weights that the driver takes together, unless one task has more.
DRIVER_SUMS: int = 8_000_000
#: Bytes of a sum at most. In later scored rounds it has up to 10, and mostly 5.
_SUM_BYTES: Final = 26
#: Bytes of which node stands above one, beside its first sum.
_LINE_BYTES: Final = 10
_LIMIT: Final = "spark.driver.maxResultSize"
_UNITS: Final = "bkmgtp"


def cores(session: Any) -> int:
    """Return how many tasks run at the same time, as Spark reckons."""
    context = getattr(session, "_sc", None)
    if context is not None:
        return int(context.defaultParallelism)
    # Spark Connect does not say it, but divides a range by it.
    parts = session.range(1 << 16).selectExpr("spark_partition_id() as part").distinct()
    return int(parts.count())


def groups(
    session: Any, counts: ExchangePacked, tasks: int, instead: str, *, of_nodes: bool = False
) -> list[range]:
    """Divide tasks into groups whose sums come to the driver together, given the user counts of items.

    ``of_nodes`` says that the items are the nodes of a tree. No variable of a traceback has an exact count.

    Raises:
        MemoryLimitError: If the sums of one task may be more than Spark lets come to the driver.
    """
    each = _SUM_BYTES + _LINE_BYTES * of_nodes
    most = _limit(session) // each
    if _core.ExchangeSteering.most_sums(counts, 1) > most:
        raise MemoryLimitError(
            f"the sums of a round may exceed {_LIMIT}, as there are too many items of several users; start "
            f"Spark with --conf {_LIMIT}={_enough(counts, each)}g and a driver of twice as much "
            f"memory{instead}"
        )
    together = tasks
    while together > 1 and _core.ExchangeSteering.most_sums(counts, together) > min(most, DRIVER_SUMS):
        together = (together + 1) // 2
    return [range(first, min(first + together, tasks)) for first in range(0, tasks, together)]


def _enough(counts: ExchangePacked, each: int) -> int:
    """Return a power of two of gibibytes for the sums of a task, each of so many bytes."""
    sums = _core.ExchangeSteering.most_sums(counts, 1)
    return 1 << (sums * each >> 30).bit_length()


def _limit(session: Any) -> int:
    """Return the most bytes of a job that Spark lets come to the driver."""
    given = re.fullmatch(r"(\d+)([kmgtp]?)b?", settings(session)(_LIMIT).strip().lower())
    # Otherwise: Spark's own default.
    number, unit = given.groups() if given else ("1", "g")
    # Without a limit nothing exceeds the largest number of bytes of Java.
    return int(number) << 10 * max(0, _UNITS.find(unit)) if int(number) else 2**63
