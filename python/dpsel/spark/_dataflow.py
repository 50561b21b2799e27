"""The stages of a release as Spark jobs.

    rows -> Encode -> shuffle by user, and by item hash -> kept
    kept -> TakeOut -> kept, where public items are counted
    kept -> Lengths -> driver, for a look
    kept -> FrequentItems -> driver
    kept -> PruneAndWeigh -> driver, and pruned
    pruned -> Weigh -> driver; each later round
    kept -> BlockUsers -> driver, and blocks
    blocks -> WeighBlocks -> driver, and blocks; each later scored round, now and then by way of a shuffle
    kept -> Count -> shuffle by item -> Total -> driver
    kept -> CountReleased -> shuffle by item -> NoisyCounts -> driver
    kept -> CountRest -> driver, which adds noise
    kept -> FilterCandidates -> shuffle by item, with released items -> FalsePositives -> driver
    rows -> Name -> shuffle of released items -> driver

Users and items are divided into buckets, which Spark's shuffles bring together. The kept rows have
buckets of users from 0 on, and buckets of user counts below 0. Pruned rows and blocks have the former,
and what comes from them to the driver the latter. After the first scored round the numbers of pairs do the
same (`_pairs`). Only decisions, counts (beside a selection the noisy ones), sums of weights and the names of
released items come to the driver. There they are packed values that nothing shows. To tasks they go sealed.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core
from dpsel.spark import _packed, _tasks
from dpsel.spark._blocks import Pairs, Tables
from dpsel.spark._driver import cores, groups
from dpsel.spark._frames import frame_of
from dpsel.spark._schema import arrow_schema, named_schema, spark_schema, with_tokens
from dpsel.spark._values import for_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpsel._ingest import Tokens
    from dpsel._request import NamedColumns
    from dpsel.spark._sharing import Sealed
    from dpsel.spark._steps import Steps

__all__ = ["Dataflow"]

_PACKED = "packed binary"

#: Larger releases are joined. In every Python worker a list takes 24 bytes an item, and its table, which
#: grows at 3 670 016 items, 38 bytes. That is up to 220 MB, less than packing contributions takes.
BROADCAST_ITEMS: int = 3_500_000
#: Bits that the filter of a large release has for each item. Of 15 000 other items about one passes.
FILTER_BITS: int = 20
_DECISION_BYTES: Final = 24
#: A task has about this many rows of frequent items at most, unless buckets are larger: where users are
#: weighed once in a round, and where a task holds the sums of all of its shared items.
TASK_ROWS: int = 16_000_000
BLOCK_TASK_ROWS: int = 4_000_000
_EVERY_USER: Final = 2**32 - 1


class Dataflow:
    """One release."""

    def __init__(
        self,
        data: Any,
        columns: NamedColumns,
        job: _core.ExchangeJob,
        seal: Callable[[_core.ExchangeJob], Sealed],
        num_buckets: int,
        steps: Steps,
        tokens: Tokens | None = None,
    ) -> None:
        """Nothing runs yet. The job stays here, and tasks get it sealed."""
        self._data = data
        self._columns = columns
        self._seal = seal
        self._num_buckets = num_buckets
        self._steps = steps
        self._tokens = tokens
        self._unread: _core.ExchangePacked | None = None
        self._schema = arrow_schema(data, columns)
        self.go_on_with(job)
        # Sessions of Spark Connect have none.
        self._context = getattr(data.sparkSession, "_sc", None)

    def go_on_with(self, job: _core.ExchangeJob) -> None:
        """Run the stages of another job from now on, which has the same key."""
        self._job, self._sealed = job, self._seal(job)

    def _rows(self, columns: tuple[str, ...]) -> Any:
        """The columns under plain names, found by their place: settings decide which names are the same."""
        there = self._data.schema.names
        plain = self._data.toDF(*(f"column{place}" for place in range(len(there))))
        return plain.select([f"column{there.index(name)}" for name in columns])

    def _declared(self, columns: tuple[str, ...]) -> Any:
        import pyarrow as pa

        return pa.schema([self._schema.field(name) for name in columns])

    @contextmanager
    def contributions(
        self, unread: _core.ExchangePacked | None = None, *, looks: bool = False
    ) -> Iterator[Any]:
        """The packed contributions, grouped by user, and the user counts; kept while needed.

        ``unread`` has the items that are left out. ``looks`` says that a look chooses the rounds.
        """
        columns = tuple(self._columns)
        self._unread = self._job.released_set(unread) if unread else None
        with self._shared(self._unread) as left_out:
            encode = _tasks.Encode(
                self._sealed,
                self._declared(columns),
                self._num_buckets,
                # Without rounds, where users are only counted, nothing needs them.
                self._job.rounds > 0 or looks,
                tokens=self._tokens,
                left_out=left_out,
            )
            made = _packed.made(self._rows(columns), encode)
            with _packed.persisted(_packed.together(made)) as contributions:
                yield contributions

    @contextmanager
    def without(self, contributions: Any, items: _core.ExchangePacked) -> Iterator[Any]:
        """The contributions without some items, kept while needed."""
        if not items:
            yield contributions
            return
        with self._shared(self.released_set(contributions, items)) as shared:
            take_out = _tasks.TakeOut(self._sealed, shared)
            with _packed.persisted(_packed.made(contributions, take_out)) as rest:
                yield rest

    def lengths(self, contributions: Any, sizes: list[int]) -> _core.ExchangePacked:
        """Count the users by their numbers of items, in classes that end with these sizes."""
        count = _tasks.Lengths(self._sealed, tuple(sizes))
        found = _packed.collected(_packed.of_users(contributions).mapInArrow(count, _PACKED))
        self._steps.end_reading()
        return found

    def selected(self, contributions: Any) -> _core.ExchangePacked:
        """Run the rounds, a job for each; return the packed decisions of all."""
        return self._scored(contributions) if self._job.is_steered else self._plain(contributions)

    def _tasks(self, counts: _core.ExchangePacked, rows: int) -> int:
        """Number of tasks on users, given the user counts of frequent items.

        A Python task costs more than the work on some megabytes, so there are as many as cores, or twice as
        many, and so on. No variable of a traceback has an exact count.
        """
        number = cores(self._data.sparkSession)
        return number * (1 + _core.ExchangeSteering.most_sums(counts, _EVERY_USER) // (number * rows))

    def _plain(self, contributions: Any) -> _core.ExchangePacked:
        """Let tasks weigh the users of a round, and the driver decide the items.

        Items that are not frequent hardly add to what it gets: fewer than one in a thousand has a chance.
        """
        frequent = self._frequent(contributions, self._job.frequent_above)
        tasks = self._tasks(frequent, TASK_ROWS)
        sending = groups(self._data.sparkSession, frequent, tasks, "")
        released, last = _core.ExchangePacked(), self._job.rounds - 1
        with self._shared(frequent) as shared:
            prune = _tasks.PruneAndWeigh(self._sealed, self._job.frequent_above, shared)
            made = _packed.made(_packed.of_users(contributions).coalesce(tasks), prune)
            with _kept_if(last > 0 or len(sending) > 1, made) as pruned:
                sent = _weights(pruned, sending)
                for number in range(last):
                    released = released.followed_by(self._job.decided(number, sent))
                    self._steps.end_round(number)
                    with self._shared(self.released_set(contributions, released)) as known:
                        weigh = _tasks.Weigh(self._sealed, number + 1, known)
                        weighed = _packed.made(_packed.of_users(pruned), weigh)
                        with _kept_if(len(sending) > 1, weighed) as rows:
                            sent = _weights(rows, sending)
        return released.followed_by(self._job.decided(last, sent))

    def _scored(self, contributions: Any) -> _core.ExchangePacked:
        """Let tasks weigh blocks of users and make new ones, and the driver score the items of several users.

        Lost blocks are made again from the contributions. So all that tasks shared lives to the end.
        """
        shared, session = self._frequent(contributions, 1), self._data.sparkSession
        tasks = self._tasks(shared, BLOCK_TASK_ROWS)
        instead = ", or take Sips, which sums up fewer items"
        sending = groups(session, shared, tasks, instead, of_nodes=self._job.is_tree)
        blocks_in = Tables() if self._context is None else Pairs(session, tasks)
        steering, last = _core.ExchangeSteering(self._job), self._job.rounds - 1
        with ExitStack() as alive:
            block = _tasks.BlockUsers(self._sealed, alive.enter_context(self._shared(shared)))
            made = _packed.made(_packed.of_users(contributions).coalesce(tasks), block)
            before = alive.enter_context(ExitStack())
            made = before.enter_context(_kept_if(last > 0 or len(sending) > 1, made))
            states = _steered(steering, (_packed.sent(made, group) for group in sending))
            blocks = blocks_in.taken(made)
            for number in range(1, last + 1):
                known = alive.enter_context(self._shared(states))
                made = blocks_in.made(blocks, _tasks.WeighBlocks(self._sealed, number, known))
                now = alive.enter_context(ExitStack())
                if number < last or len(sending) > 1:
                    made = now.enter_context(blocks_in.persisted(made))
                self._steps.end_round(number - 1)
                states = _steered(steering, (blocks_in.sent(made, group) for group in sending))
                before.close()
                blocks, before = blocks_in.passed(made, number + 1), now
        return states

    def released_set(self, contributions: Any, decided: _core.ExchangePacked) -> _core.ExchangePacked:
        """Return the released set that tasks get: a list, or a filter that is as exact and smaller."""
        if len(decided) <= BROADCAST_ITEMS * _DECISION_BYTES:
            return self._job.released_set(decided)
        released = self._job.released_set(decided, FILTER_BITS)
        with self._shared(released) as shared:
            candidates = _tasks.FilterCandidates(self._sealed, self._num_buckets, shared)
            passed = _packed.made(_packed.of_users(contributions), candidates)
            met = _packed.together(passed.union(self._bucketed(decided)))
            found = _packed.collected(met.mapInArrow(_tasks.FalsePositives(self._sealed), _PACKED))
            return released.followed_by(found)

    def _bucketed(self, decided: _core.ExchangePacked) -> Any:
        """Items from the driver, by bucket."""
        import pyarrow as pa

        rows = map(pa.record_batch, self._job.bucket_decisions(self._num_buckets, decided))
        return frame_of(self._data.sparkSession, pa.Table.from_batches(rows))

    def _frequent(self, contributions: Any, above: int) -> _core.ExchangePacked:
        """Find the items with more users than a number, by item hash; return their user counts."""
        find = _tasks.FrequentItems(self._sealed, above)
        counts = _packed.not_of_users(contributions)
        found = _packed.collected(counts.mapInArrow(find, _PACKED))
        self._steps.end_reading()
        return found

    def user_counts(
        self,
        contributions: Any,
        wanted: _core.ExchangePacked | None,
        *,
        bounded: bool,
        most: int | None = None,
    ) -> _core.ExchangePacked:
        """Count the users of the wanted items, or of all; keep the ``most`` largest counts, or all."""
        wanted_set = None if wanted is None else self.released_set(contributions, wanted)
        with self._shared(wanted_set) as shared:
            count = _tasks.Count(self._sealed, self._num_buckets, bounded, shared)
            counts = _packed.together(_packed.made(_packed.of_users(contributions), count))
            return _packed.collected(counts.mapInArrow(_tasks.Total(self._sealed, most), _PACKED))

    def noisy_counts(self, contributions: Any, released_set: _core.ExchangePacked) -> _core.ExchangePacked:
        """Count the users or rows of released items, with all that users hold; the numbers have noise."""
        if not released_set:
            return released_set
        with self._shared(released_set) as shared:
            count = _tasks.CountReleased(self._sealed, self._num_buckets, shared)
            counts = _packed.together(_packed.made(_packed.of_users(contributions), count))
            return _packed.collected(counts.mapInArrow(_tasks.NoisyCounts(self._sealed), _PACKED))

    def rest(self, contributions: Any, listed: _core.ExchangePacked) -> _core.ExchangePacked:
        """Sum up what a list covers of all that users hold; the packed sums get their noise in `publish`."""
        with self._shared(listed) as shared:
            count = _tasks.CountRest(self._sealed, shared)
            return _packed.collected(_packed.of_users(contributions).mapInArrow(count, _PACKED))

    def names(self, released: _core.ExchangePacked) -> list[Any]:
        """Look the items of a released set up in the table; return batches of digest and item columns."""
        if not released:
            return []
        items = tuple(self._columns.items)
        read = self._schema if self._tokens is None else with_tokens(self._schema, items, self._tokens)
        schema = named_schema(read, items, is_text=self._job.is_text)
        with self._shared(released) as shared, self._shared(self._unread) as left_out:
            name = _tasks.Name(
                self._sealed, self._declared(items), shared, tokens=self._tokens, left_out=left_out
            )
            named = self._rows(items).mapInArrow(name, spark_schema(schema))
            # Settings decide the types of what Spark hands over.
            found = named.dropDuplicates(["digest"]).toArrow().cast(schema)
        batches: list[Any] = found.to_batches()
        return batches

    def _shared(self, value: _core.ExchangePacked | None) -> AbstractContextManager[Any]:
        """Seal a value and send it to every executor once."""
        return for_tasks(self._data.sparkSession, None if value is None else self._job.sealed(value))


def _kept_if(is_kept: bool, made: Any) -> AbstractContextManager[Any]:  # noqa: FBT001 - it has no default
    return _packed.persisted(made) if is_kept else nullcontext(made)


def _weights(rows: Any, sending: list[range]) -> _core.ExchangePacked:
    """Return what the tasks of a plain round sent, one group of them after the other."""
    return reduce(_core.ExchangePacked.added_up, (_packed.sent(rows, group) for group in sending))


def _steered(steering: _core.ExchangeSteering, sent: Iterator[_core.ExchangePacked]) -> _core.ExchangePacked:
    """Return the states after a scored round, or all decisions, given what the groups of tasks sent."""
    for of_group in sent:
        steering.take(of_group)
    return steering.end_round()
