"""The tasks that run on the executors: one task of a stage takes batches, or values, and gives such.

The functions of tasks hold the job with its key wrapped. Values about items are sealed under that key.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpsel.spark._schema import as_declared
from dpsel.spark._worker import keep_modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpsel import _core
    from dpsel._ingest import Tokens
    from dpsel.spark._sharing import Sealed

__all__ = [
    "BlockUsers",
    "Count",
    "CountReleased",
    "CountRest",
    "Encode",
    "FalsePositives",
    "FilterCandidates",
    "FrequentItems",
    "Lengths",
    "Name",
    "NoisyCounts",
    "OfValues",
    "PruneAndWeigh",
    "TakeOut",
    "Total",
    "Weigh",
    "WeighBlocks",
]


@dataclass(frozen=True)
class _Task(ABC):
    sealed: Sealed = field(repr=False)

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Work through the batches of a task."""
        keep_modules()
        return self.work(self.sealed.open(), batches)

    def work(self, job: _core.ExchangeJob, batches: Iterable[Any]) -> Iterator[Any]:
        """Work through batches, given the opened job."""
        import pyarrow as pa

        task = self.start(job)
        for batch in batches:
            if batch.num_rows:
                yield from map(pa.record_batch, task.push(batch))
        yield from map(pa.record_batch, task.finish())

    @abstractmethod
    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""


@dataclass(frozen=True)
class _OfRows(_Task):
    """Reads rows of the table without some items. Columns get their names back, and are of declared types.

    A function of the caller's makes lists of tokens of the texts in the last column.
    """

    schema: Any
    tokens: Tokens | None = field(default=None, repr=False, kw_only=True)
    left_out: Any = field(default=None, repr=False, kw_only=True)

    def work(self, job: _core.ExchangeJob, batches: Iterable[Any]) -> Iterator[Any]:
        """Work through batches, given the opened job."""
        declared = (as_declared(batch, self.schema) for batch in batches)
        return super().work(job, declared if self.tokens is None else map(self.tokens.of_batch, declared))


@dataclass(frozen=True)
class Encode(_OfRows):
    """Read rows of the table, and count the users of items if asked for."""

    num_buckets: int
    with_user_counts: bool

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.encode(self.num_buckets, self.with_user_counts, _value_if_given(self.left_out))


@dataclass(frozen=True)
class TakeOut(_Task):
    """Take items out of what was read."""

    items: Any = field(repr=False)

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.take_out(_value(self.items))


@dataclass(frozen=True)
class Lengths(_Task):
    """Count users by their numbers of items, for a look."""

    sizes: tuple[int, ...]

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.lengths(list(self.sizes))


@dataclass(frozen=True)
class FrequentItems(_Task):
    """Add up user counts, and keep the counts of frequent items."""

    frequent_above: int

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.frequent_items(self.frequent_above)


@dataclass(frozen=True)
class PruneAndWeigh(_Task):
    """Reduce each user to the data that the rounds need: its number of items, and its candidates.

    It also adds up the weights of the first round for the driver.
    """

    frequent_above: int
    frequent: Any = field(repr=False)

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.prune_and_weigh(self.frequent_above, _value(self.frequent))


@dataclass(frozen=True)
class Weigh(_Task):
    """Add up the weights of a round, without items released before or that the round cannot release."""

    round: int
    released: Any = field(repr=False)

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.weigh(self.round, _value(self.released))


@dataclass(frozen=True)
class BlockUsers(_Task):
    """Put users into blocks, and weigh the first scored round."""

    counts: Any = field(repr=False)

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.block_users(_value(self.counts))


@dataclass(frozen=True)
class WeighBlocks(_Task):
    """Weigh a later scored round on blocks, and decide the items that one user alone holds."""

    round: int
    states: Any = field(repr=False)

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.weigh_blocks(self.round, _value(self.states))


@dataclass(frozen=True)
class OfValues:
    """A task that takes packed values that are in no table, and gives buckets with packed values."""

    task: _Task

    def __call__(self, values: Iterable[Any]) -> Iterator[Any]:
        """Work through the values of a task."""
        import pyarrow as pa

        def integers(*numbers: int) -> Any:
            """Return a buffer: `pa.array` would load pandas, which takes as long as some rounds."""
            return pa.py_buffer(struct.pack(f"={len(numbers)}i", *numbers))

        def column(value: Any) -> Any:
            """Return a column of one value, which is not copied: blocks of users are large."""
            return pa.Array.from_buffers(pa.binary(), 1, [None, integers(0, len(value)), pa.py_buffer(value)])

        no_bucket = pa.Array.from_buffers(pa.int32(), 1, [None, integers(0)])

        batches = (pa.record_batch({"bucket": no_bucket, "packed": column(value)}) for value in values)
        for batch in self.task(batches):
            for place, bucket in enumerate(batch.column(0).to_pylist()):
                yield bucket, batch.column(1)[place].as_buffer()


@dataclass(frozen=True)
class Count(_Task):
    """Count the users of items."""

    num_buckets: int
    bounded: bool
    wanted: Any = field(repr=False)

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.count(self.num_buckets, _value_if_given(self.wanted), self.bounded)


@dataclass(frozen=True)
class Total(_Task):
    """Add up counts."""

    most: int | None

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.total(self.most)


@dataclass(frozen=True)
class CountReleased(_Task):
    """Count the users or rows of released items, with all items of each user."""

    num_buckets: int
    released: Any = field(repr=False)

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.count_released(self.num_buckets, _value(self.released))


@dataclass(frozen=True)
class CountRest(_Task):
    """Sum up what a list covers, with all items of each user."""

    listed: Any = field(repr=False)

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.count_rest(_value(self.listed))


@dataclass(frozen=True)
class NoisyCounts(_Task):
    """Add up the numbers of released items, and add noise."""

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.noisy_counts()


@dataclass(frozen=True)
class FilterCandidates(_Task):
    """Find the items of the table that pass a filter."""

    num_buckets: int
    filter: Any = field(repr=False)

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.filter_candidates(self.num_buckets, _value(self.filter))


@dataclass(frozen=True)
class FalsePositives(_Task):
    """Find the items that pass a filter and are not among those that it was made of."""

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.false_positives()


@dataclass(frozen=True)
class Name(_OfRows):
    """Look up the names of released items."""

    released: Any = field(repr=False)

    def start(self, job: _core.ExchangeJob) -> _core.ExchangeTask:
        """Return the compiled task."""
        return job.name(_value(self.released), _value_if_given(self.left_out))


def _value(shared: Any) -> bytes:
    """Return the sealed bytes: from a broadcast, or the bytes that stand in for one."""
    value: bytes = shared if isinstance(shared, bytes) else shared.value
    return value


def _value_if_given(shared: Any) -> bytes | None:
    return None if shared is None else _value(shared)
