"""What runs on the executors: one task of a stage, batches in and batches out.

The functions of tasks hold the plan with its key wrapped, and what they know of items sealed under that key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dpsel import _core
    from dpsel.spark._sharing import Sealed

__all__ = [
    "Count",
    "Crowds",
    "Decide",
    "Encode",
    "Mistaken",
    "Name",
    "Settle",
    "Sift",
    "Steer",
    "Tilt",
    "Total",
    "Weigh",
    "tilt_again",
]


@dataclass(frozen=True)
class _Task(ABC):
    sealed: Sealed = field(repr=False)

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Work through the batches of a partition."""
        return self.work(self.sealed.open(), batches)

    def work(self, plan: _core.ClusterPlan, batches: Iterable[Any]) -> Iterator[Any]:
        """Work through batches, with the plan open."""
        import pyarrow as pa

        task = self.start(plan)
        for batch in batches:
            if batch.num_rows:
                yield from map(pa.record_batch, task.push(batch))
        yield from map(pa.record_batch, task.finish())

    @abstractmethod
    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""


@dataclass(frozen=True)
class _OfRows(_Task):
    """Reads rows of the table, whose columns get their names back."""

    columns: tuple[str, ...]

    def work(self, plan: _core.ClusterPlan, batches: Iterable[Any]) -> Iterator[Any]:
        """Work through batches, with the plan open."""
        return super().work(plan, (batch.rename_columns(list(self.columns)) for batch in batches))


@dataclass(frozen=True)
class Encode(_OfRows):
    """Read rows of the table, and perhaps count the users of items by a part of the digest."""

    routes: int
    with_census: bool

    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""
        return plan.encode(self.routes, self.with_census)


@dataclass(frozen=True)
class Crowds(_Task):
    """Keep the numbers of users that are more than a few."""

    few: int

    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""
        return plan.crowds(self.few)


@dataclass(frozen=True)
class Settle(_Task):
    """Keep of each user what rounds need: its number of items, and those that can be released."""

    few: int
    crowds: Any = field(repr=False)

    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""
        return plan.settle(self.few, None if self.crowds is None else _value(self.crowds))


@dataclass(frozen=True)
class Weigh(_Task):
    """Add up the weights of a round without the items released before, or that it cannot release."""

    routes: int
    round: int
    known: Any = field(repr=False)

    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""
        return plan.weigh(self.routes, self.round, _value(self.known))


@dataclass(frozen=True)
class Decide(_Task):
    """Decide the items of a round."""

    round: int

    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""
        return plan.decide(self.round)


@dataclass(frozen=True)
class Tilt(_Task):
    """Weigh the first scored round."""

    routes: int

    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""
        return plan.tilt(self.routes, 0)


def tilt_again(sealed: Sealed, routes: int, number: int) -> Callable[[Any, Any], Any]:
    """Weigh a later scored round: takes the contributions and the states of items of one route."""

    def tilt(contributions: Any, states: Any) -> Any:
        import pyarrow as pa

        task = sealed.open().tilt(routes, number)
        for batch in states.to_batches() + contributions.to_batches():
            task.push(batch)
        made = [pa.record_batch(batch) for batch in task.finish()]
        kinds = {"route": pa.int32(), "source": pa.int32(), "packed": pa.binary()}
        fields = [pa.field(name, kind, nullable=False) for name, kind in kinds.items()]
        return pa.Table.from_batches(made, pa.schema(fields))

    return tilt


@dataclass(frozen=True)
class Steer(_Task):
    """Decide the items of a scored round."""

    round: int

    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""
        return plan.steer(self.round)


@dataclass(frozen=True)
class Count(_Task):
    """Count the users of items."""

    routes: int
    bounded: bool
    wanted: Any = field(repr=False)

    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""
        wanted = None if self.wanted is None else _value(self.wanted)
        return plan.count(self.routes, wanted, self.bounded)


@dataclass(frozen=True)
class Total(_Task):
    """Add up counts."""

    most: int | None

    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""
        return plan.total(self.most)


@dataclass(frozen=True)
class Sift(_Task):
    """Find the items that pass a filter."""

    routes: int
    sieve: Any = field(repr=False)

    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""
        return plan.sift(self.routes, _value(self.sieve))


@dataclass(frozen=True)
class Mistaken(_Task):
    """Find the items that pass a filter and are none of those that it was made of."""

    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""
        return plan.mistaken()


@dataclass(frozen=True)
class Name(_OfRows):
    """Look up the names of released items."""

    known: Any = field(repr=False)

    def start(self, plan: _core.ClusterPlan) -> _core.ClusterTask:
        """Return the compiled task."""
        return plan.name(_value(self.known))


def _value(shared: Any) -> bytes:
    """Return the sealed bytes of a broadcast, or of what stands in for one."""
    value: bytes = shared if isinstance(shared, bytes) else shared.value
    return value
