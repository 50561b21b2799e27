"""The stages of a release as Spark jobs.

    rows -> Encode -> shuffle by user, and by item hash -> kept
    kept -> TakeOut -> kept, where public items are counted
    kept -> Lengths -> driver, for a look
    kept -> FrequentItems -> driver
    kept -> Prune, Weigh -> driver, and pruned
    pruned -> Weigh -> driver; each later round
    kept -> Prune -> pruned -> [Weigh -> shuffle by item -> Decide -> driver] each round, for very many items
    kept -> BlockUsers -> driver, and blocks
    blocks -> WeighBlocks -> driver, and blocks; each later scored round, now and then by way of a shuffle
    kept -> [Reweight -> shuffle by item -> Steer -> shuffle by user] each scored round, for very many items
    kept -> Count -> shuffle by item -> Total -> driver
    kept -> CountReleased -> shuffle by item -> NoisyCounts -> driver
    kept -> FilterCandidates -> shuffle by item, with released items -> FalsePositives -> driver
    rows -> Name -> shuffle of released items -> driver

Users and items are divided into partitions, which Spark's shuffles bring together. The kept rows have
partitions of users from 0 on, and partitions of user counts below 0. Pruned rows and blocks have the former,
and what comes from them to the driver the latter. After the first scored round the numbers of pairs do the
same (`_pairs`). Only decisions, counts (beside a selection the noisy ones), sums of weights and the names of
released items come to the driver. There they are packed values that nothing shows. To tasks they go sealed.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core
from dpsel.spark import _packed, _pairs, _tasks
from dpsel.spark._frames import frame_of
from dpsel.spark._schema import arrow_schema, named_schema, spark_schema, with_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpsel._ingest import Tokens
    from dpsel._request import NamedColumns
    from dpsel.spark._sharing import Sealed
    from dpsel.spark._steps import Steps

__all__ = ["Dataflow"]

_VALUES = "partition int, packed binary"
_MESSAGES = "partition int, source int, packed binary"
_STATES = "partition int, states binary"
_PACKED = "packed binary"

#: Larger releases are joined. In every Python worker a list takes 24 bytes an item, and its table, which
#: grows at 3 670 016 items, 38 bytes. That is up to 220 MB, less than packing contributions takes.
BROADCAST_ITEMS: int = 3_500_000
#: Without broadcasts the list is part of every function, which is to stay below 1 MB.
FUNCTION_ITEMS: Final = 40_000
#: Bits that the filter of a large release has for each item. Of 15 000 other items about one passes.
FILTER_BITS: int = 20
_DECISION_BYTES: Final = 24
#: Sums of weights that the tasks of a round send to the driver: up to 26 bytes each, in later scored rounds
#: up to 10 and mostly 5. With more, weights travel between tasks, and in scored rounds items and states.
DRIVER_SUMS: int = 8_000_000
#: A task has about this many rows of frequent items at most, unless partitions are larger: where users are
#: weighed once in a round, and where a task holds the sums of all of its shared items.
TASK_ROWS: int = 16_000_000
BLOCK_TASK_ROWS: int = 4_000_000
#: Blocks are shuffled after this number of rounds. A task has all that it may be made of up to the last
#: shuffle, which after fifteen rounds of tables was too deep for Java's stack.
UNSHUFFLED_ROUNDS: Final = 6
_EVERY_USER: Final = 2**32 - 1


class Dataflow:
    """One release."""

    def __init__(
        self,
        data: Any,
        columns: NamedColumns,
        job: _core.ExchangeJob,
        seal: Callable[[_core.ExchangeJob], Sealed],
        num_partitions: int,
        steps: Steps,
        tokens: Tokens | None = None,
    ) -> None:
        """Nothing runs yet. The job stays here, and tasks get it sealed."""
        self._data = data
        self._columns = columns
        self._seal = seal
        self._num_partitions = num_partitions
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
                self._num_partitions,
                self._with_user_counts or looks,
                tokens=self._tokens,
                left_out=left_out,
            )
            made = self._rows(columns).mapInArrow(encode, _VALUES)
            with _packed.kept(_packed.together(made)) as contributions:
                yield contributions

    @contextmanager
    def without(self, contributions: Any, items: _core.ExchangePacked) -> Iterator[Any]:
        """The contributions without some items, kept while needed."""
        if not items:
            yield contributions
            return
        with self._shared(self.released_set(contributions, items)) as shared:
            take_out = _tasks.TakeOut(self._sealed, shared)
            with _packed.kept(contributions.mapInArrow(take_out, _VALUES)) as rest:
                yield rest

    def lengths(self, contributions: Any, sizes: list[int]) -> _core.ExchangePacked:
        """Count the users by their numbers of items, in classes that end with these sizes."""
        count = _tasks.Lengths(self._sealed, tuple(sizes))
        found = _packed.collected(_packed.of_users(contributions).mapInArrow(count, _PACKED))
        self._steps.end_reading()
        return found

    @property
    def _with_user_counts(self) -> bool:
        """Whether user counts help: not where a single user may have an item released in the first round.

        Without rounds, where users are only counted, nothing needs them.
        """
        if self._job.is_steered:
            return self._context is not None
        return self._job.rounds > 0 and self._job.frequent_above >= 1

    def selected(self, contributions: Any) -> _core.ExchangePacked:
        """Run the rounds; return the packed decisions of all."""
        if self._job.is_steered:
            return self._steered(contributions)
        if not self._with_user_counts:
            return self._by_item(contributions, None)
        frequent = self._frequent(contributions, self._job.frequent_above)
        tasks = self._number_of_tasks(frequent, TASK_ROWS)
        if tasks is None:
            return self._by_item(contributions, frequent)
        return self._on_driver(contributions, frequent, tasks)

    def _number_of_tasks(self, counts: _core.ExchangePacked, rows: int) -> int | None:
        """Number of tasks on users, given the user counts of frequent items.

        None if the driver cannot take their sums of weights, or is a client far from the cluster.
        A Python task costs more than the work on some megabytes, so there are as many as cores, or twice as
        many, and so on. No variable of a traceback has an exact count.
        """
        if self._context is None:
            return None
        cores = int(self._context.defaultParallelism)
        tasks = cores * (1 + _core.ExchangeSteering.most_sums(counts, _EVERY_USER) // (cores * rows))
        return tasks if _core.ExchangeSteering.most_sums(counts, tasks) <= DRIVER_SUMS else None

    def _on_driver(
        self, contributions: Any, frequent: _core.ExchangePacked, tasks: int
    ) -> _core.ExchangePacked:
        """Run a job for each round, without a shuffle: the driver decides the items.

        Items that are not frequent hardly add to what it gets: fewer than one in a thousand has a chance.
        """
        released, last = _core.ExchangePacked(), self._job.rounds - 1
        with self._shared(frequent) as shared:
            prune = _tasks.PruneAndWeigh(self._sealed, self._job.frequent_above, shared)
            made = _packed.of_users(contributions).coalesce(tasks).mapInArrow(prune, _VALUES)
            with _packed.kept(made) if last else nullcontext(made) as pruned:
                sent = _packed.collected(_packed.not_of_users(pruned))
                for number in range(last):
                    released = released.followed_by(self._job.decided(number, sent))
                    self._steps.end_round(number)
                    with self._shared(self.released_set(contributions, released)) as known:
                        weigh = _tasks.Weigh(self._sealed, None, number + 1, known)
                        sent = _packed.collected(_packed.of_users(pruned).mapInArrow(weigh, _VALUES))
        return released.followed_by(self._job.decided(last, sent))

    def _by_item(self, contributions: Any, frequent: _core.ExchangePacked | None) -> _core.ExchangePacked:
        """Run two jobs for each round: tasks decide the items, whose weights come together."""
        released = _core.ExchangePacked()
        with self._pruned(contributions, frequent) as pruned:
            for number in range(self._job.rounds):
                with self._shared(self.released_set(contributions, released)) as shared:
                    weigh = _tasks.Weigh(self._sealed, self._num_partitions, number, shared)
                    weights = _packed.together(pruned.mapInArrow(weigh, _VALUES))
                    decided = _packed.collected(
                        weights.mapInArrow(_tasks.Decide(self._sealed, number), _PACKED)
                    )
                    released = released.followed_by(decided)
                self._steps.end_round(number)
        return released

    @contextmanager
    def _pruned(self, contributions: Any, frequent: _core.ExchangePacked | None) -> Iterator[Any]:
        """The part of the contributions that the rounds need, kept."""
        with self._shared(frequent) as shared:
            prune = _tasks.Prune(self._sealed, self._job.frequent_above, shared)
            with _packed.kept(_packed.of_users(contributions).mapInArrow(prune, _VALUES)) as pruned:
                yield pruned

    def released_set(self, contributions: Any, decided: _core.ExchangePacked) -> _core.ExchangePacked:
        """Return the released set that tasks get: a list, or a filter that is as exact and smaller."""
        most = BROADCAST_ITEMS if self._context is not None else min(BROADCAST_ITEMS, FUNCTION_ITEMS)
        if len(decided) <= most * _DECISION_BYTES:
            return self._job.released_set(decided)
        released = self._job.released_set(decided, FILTER_BITS)
        with self._shared(released) as shared:
            candidates = _tasks.FilterCandidates(self._sealed, self._num_partitions, shared)
            passed = _packed.of_users(contributions).mapInArrow(candidates, _VALUES)
            met = _packed.together(passed.union(self._partitioned(decided)))
            found = _packed.collected(met.mapInArrow(_tasks.FalsePositives(self._sealed), _PACKED))
            return released.followed_by(found)

    def _partitioned(self, decided: _core.ExchangePacked) -> Any:
        """Items from the driver, by partition."""
        import pyarrow as pa

        rows = map(pa.record_batch, self._job.partition_decisions(self._num_partitions, decided))
        return frame_of(self._data.sparkSession, pa.Table.from_batches(rows))

    def _frequent(self, contributions: Any, above: int) -> _core.ExchangePacked:
        """Find the items with more users than a number, by item hash; return their user counts."""
        find = _tasks.FrequentItems(self._sealed, above)
        counts = _packed.not_of_users(contributions)
        found = _packed.collected(counts.mapInArrow(find, _PACKED))
        self._steps.end_reading()
        return found

    def _steered(self, contributions: Any) -> _core.ExchangePacked:
        """Run scored rounds in the way that suits the number of items of several users."""
        if self._context is None:
            # Plans of blocks would be nested, see `kept`.
            return self._by_messages(contributions)
        shared = self._frequent(contributions, 1)
        tasks = self._number_of_tasks(shared, BLOCK_TASK_ROWS)
        if tasks is None:
            return self._by_messages(contributions)
        return self._in_blocks(contributions, shared, tasks)

    def _in_blocks(
        self, contributions: Any, shared: _core.ExchangePacked, tasks: int
    ) -> _core.ExchangePacked:
        """Run a job for each scored round, which makes new blocks of users, mostly without a shuffle.

        Lost blocks are made again from the contributions. So all that tasks shared lives to the end.
        """
        steering, last = _core.ExchangeSteering(self._job), self._job.rounds - 1
        with ExitStack() as alive:
            session = self._data.sparkSession
            block = _tasks.BlockUsers(self._sealed, alive.enter_context(self._shared(shared)))
            rows = _packed.of_users(contributions).coalesce(tasks).mapInArrow(block, _VALUES)
            before = alive.enter_context(ExitStack())
            if last:
                rows = before.enter_context(_packed.kept(rows))
            states = steering.next(_packed.collected(_packed.not_of_users(rows)))
            blocks = _pairs.values(_packed.of_users(rows))
            for number in range(1, last + 1):
                known = alive.enter_context(self._shared(states))
                made = _pairs.made(blocks, _tasks.WeighBlocks(self._sealed, number, known), session)
                now = alive.enter_context(ExitStack())
                if number < last:
                    made = now.enter_context(_pairs.kept(made))
                self._steps.end_round(number - 1)
                states = steering.next(_pairs.collected(made))
                before.close()
                is_shuffled = (number + 1) % UNSHUFFLED_ROUNDS == 0
                blocks = _pairs.shuffled(made, tasks) if is_shuffled else _pairs.of_users(made)
                before = now
            return states

    def _by_messages(self, contributions: Any) -> _core.ExchangePacked:
        """Run all scored rounds in one Spark job: nothing comes to the driver before the end."""
        last, users = self._job.rounds - 1, _packed.of_users(contributions)
        reweight = _tasks.Reweight(self._sealed, self._num_partitions)
        messages = users.mapInArrow(reweight, _MESSAGES)
        for number in range(last):
            states = _packed.together(messages).mapInArrow(_tasks.Steer(self._sealed, number), _STATES)
            both = users.groupBy("partition").cogroup(states.groupBy("partition"))
            again = _tasks.reweight_again(self._sealed, self._num_partitions, number + 1)
            messages = both.applyInArrow(again, _MESSAGES)
        return _packed.collected(
            _packed.together(messages).mapInArrow(_tasks.Steer(self._sealed, last), _PACKED)
        )

    def counted(
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
            count = _tasks.Count(self._sealed, self._num_partitions, bounded, shared)
            counts = _packed.together(_packed.of_users(contributions).mapInArrow(count, _VALUES))
            return _packed.collected(counts.mapInArrow(_tasks.Total(self._sealed, most), _PACKED))

    def noisy_counts(self, contributions: Any, released_set: _core.ExchangePacked) -> _core.ExchangePacked:
        """Count the users or rows of released items, with all that users hold; the numbers have noise."""
        if not released_set:
            return released_set
        with self._shared(released_set) as shared:
            count = _tasks.CountReleased(self._sealed, self._num_partitions, shared)
            counts = _packed.together(_packed.of_users(contributions).mapInArrow(count, _VALUES))
            return _packed.collected(counts.mapInArrow(_tasks.NoisyCounts(self._sealed), _PACKED))

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

    @contextmanager
    def _shared(self, value: _core.ExchangePacked | None) -> Iterator[Any]:
        """Seal a value and send it to every executor once, where the session can do that."""
        sealed = None if value is None else self._job.sealed(value)
        if self._context is None or sealed is None:
            yield sealed
            return
        broadcast = self._context.broadcast(sealed)
        try:
            yield broadcast
        finally:
            broadcast.destroy()
