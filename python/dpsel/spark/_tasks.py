"""What runs on the executors: one task of a stage, batches in and batches out.

The functions of tasks hold the release key. They travel as Spark's serialised functions, which are not part
of plans, SQL text or event logs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpsel import _core

__all__ = ["Decide", "Encode", "Name", "Weigh"]


@dataclass(frozen=True)
class _Task(ABC):
    plan: _core.ClusterPlan = field(repr=False)

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Work through the batches of a partition."""
        import pyarrow as pa

        task = self.start()
        for batch in batches:
            if batch.num_rows:
                yield from map(pa.record_batch, task.push(batch))
        yield from map(pa.record_batch, task.finish())

    @abstractmethod
    def start(self) -> _core.ClusterTask:
        """Return the compiled task."""


@dataclass(frozen=True)
class Encode(_Task):
    """Read rows of the table."""

    routes: int

    def start(self) -> _core.ClusterTask:
        """Return the compiled task."""
        return self.plan.encode(self.routes)


@dataclass(frozen=True)
class Weigh(_Task):
    """Add up the weights of a round without the items released before."""

    routes: int
    round: int
    released: Any = field(repr=False)

    def start(self) -> _core.ClusterTask:
        """Return the compiled task."""
        return self.plan.weigh(self.routes, self.round, _value(self.released))


@dataclass(frozen=True)
class Decide(_Task):
    """Decide the items of a round."""

    round: int

    def start(self) -> _core.ClusterTask:
        """Return the compiled task."""
        return self.plan.decide(self.round)


@dataclass(frozen=True)
class Name(_Task):
    """Look up the names of released items."""

    released: Any = field(repr=False)

    def start(self) -> _core.ClusterTask:
        """Return the compiled task."""
        return self.plan.name(_value(self.released))


def _value(released: Any) -> bytes:
    """Return the bytes of a broadcast, or of what stands in for one."""
    value: bytes = released if isinstance(released, bytes) else released.value
    return value
