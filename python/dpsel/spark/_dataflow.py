"""The stages of a release as Spark jobs.

    rows -> Encode -> shuffle by user, and by mark -> kept
    kept -> Crowds -> driver
    kept -> Settle -> settled
    settled -> [Weigh -> shuffle by item -> Decide -> driver] each round
    kept -> [Tilt -> shuffle by item -> Steer -> shuffle by user] each scored round
    kept -> Count -> shuffle by item -> Total -> driver
    kept -> Sift -> shuffle by item, with released items -> Mistaken -> driver: once these are many
    rows -> Name -> shuffle of released items -> driver

What is kept has routes of users, from 0 on, and those of marks, below 0. Only decisions and counts come to
the driver, as digests with numbers, and the names of what is released. There they are packed values that
nothing shows; to tasks they go sealed.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core
from dpsel.spark import _tasks
from dpsel.spark._schema import item_types, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpsel.spark._sharing import Sealed

__all__ = ["Dataflow"]

_ROUTED = "route int, packed binary"
_MESSAGES = "route int, source int, packed binary"
_STATES = "route int, states binary"
_PACKED = "packed binary"

#: More released items are joined. In every Python worker a list takes 24 bytes for each, and its table, which
#: grows at 3 670 016 of them, 38: so up to 220 MB, less than packing contributions does.
BROADCAST_ITEMS: int = 3_500_000
#: Without broadcasts the list is part of every function, which is to stay below 1 MB.
FUNCTION_ITEMS: Final = 40_000
#: Bits that the filter of joined items has for each. Of 15 000 other items about one passes.
FILTER_BITS: int = 20
_DECISION_BYTES: Final = 24


class Dataflow:
    """One release."""

    def __init__(
        self, data: Any, columns: Sequence[str], plan: _core.ClusterPlan, sealed: Sealed, routes: int
    ) -> None:
        """Nothing runs yet. The plan stays here, and tasks get it sealed."""
        self._data = data
        self._columns = columns
        self._plan = plan
        self._sealed = sealed
        self._routes = routes
        # Sessions of Spark Connect have none.
        self._context = getattr(data.sparkSession, "_sc", None)

    def _rows(self, columns: tuple[str, ...]) -> Any:
        """The columns under plain names: PySpark does not quote names when it hands rows to tasks."""
        chosen = self._data.select([quoted(name) for name in columns])
        return chosen.toDF(*(f"column{place}" for place in range(len(columns))))

    @contextmanager
    def contributions(self) -> Iterator[Any]:
        """The packed contributions, those of a user together, and the census; kept while they are needed."""
        columns = tuple(self._columns)
        encode = _tasks.Encode(self._sealed, columns, self._routes, self._with_census)
        with _kept(_together(self._rows(columns).mapInArrow(encode, _ROUTED))) as contributions:
            yield contributions

    @property
    def _with_census(self) -> bool:
        """Whether it helps to know how many users items have: not where single users may release some.

        Without rounds, where users are counted only, nothing asks.
        """
        return self._plan.rounds > 0 and not self._plan.is_steered and self._plan.few >= 1

    def selected(self, contributions: Any) -> _core.ClusterPacked:
        """Run the rounds; return the packed decisions of all."""
        return self._steered(contributions) if self._plan.is_steered else self._decided(contributions)

    def _decided(self, contributions: Any) -> _core.ClusterPacked:
        released = _core.ClusterPacked()
        with self._settled(contributions) as settled:
            for number in range(self._plan.rounds):
                with self._shared(self.known(contributions, released)) as shared:
                    weigh = _tasks.Weigh(self._sealed, self._routes, number, shared)
                    weights = _together(settled.mapInArrow(weigh, _ROUTED))
                    decided = _collected(weights.mapInArrow(_tasks.Decide(self._sealed, number), _PACKED))
                    released = released.followed_by(decided)
        return released

    @contextmanager
    def _settled(self, contributions: Any) -> Iterator[Any]:
        """What the rounds need of the contributions, kept."""
        few, crowds = self._plan.few, None
        if self._with_census:
            marks = contributions.where("route < 0")
            crowds = _collected(marks.mapInArrow(_tasks.Crowds(self._sealed, few), _PACKED))
        with self._shared(crowds) as shared:
            settle = _tasks.Settle(self._sealed, few, shared)
            with _kept(_of_users(contributions).mapInArrow(settle, _ROUTED)) as settled:
                yield settled

    def known(self, contributions: Any, decided: _core.ClusterPacked) -> _core.ClusterPacked:
        """What tells tasks which items of the table these are: a list, or more compact and as exact."""
        most = BROADCAST_ITEMS if self._context is not None else min(BROADCAST_ITEMS, FUNCTION_ITEMS)
        if len(decided) <= most * _DECISION_BYTES:
            return self._plan.known(decided)
        sieve = self._plan.known(decided, FILTER_BITS)
        with self._shared(sieve) as shared:
            sift = _tasks.Sift(self._sealed, self._routes, shared)
            passed = _of_users(contributions).mapInArrow(sift, _ROUTED)
            met = _together(passed.union(self._scattered(decided)))
            return sieve.followed_by(_collected(met.mapInArrow(_tasks.Mistaken(self._sealed), _PACKED)))

    def _scattered(self, decided: _core.ClusterPacked) -> Any:
        """Items from the driver, by route."""
        import pyarrow as pa

        rows = map(pa.record_batch, self._plan.scatter(self._routes, decided))
        return self._data.sparkSession.createDataFrame(pa.Table.from_batches(rows))

    def _steered(self, contributions: Any) -> _core.ClusterPacked:
        """One job for all rounds: nothing comes to the driver before the end."""
        last = self._plan.rounds - 1
        messages = contributions.mapInArrow(_tasks.Tilt(self._sealed, self._routes), _MESSAGES)
        for number in range(last):
            states = _together(messages).mapInArrow(_tasks.Steer(self._sealed, number), _STATES)
            both = contributions.groupBy("route").cogroup(states.groupBy("route"))
            again = _tasks.tilt_again(self._sealed, self._routes, number + 1)
            messages = both.applyInArrow(again, _MESSAGES)
        return _collected(_together(messages).mapInArrow(_tasks.Steer(self._sealed, last), _PACKED))

    def counted(
        self,
        contributions: Any,
        wanted: _core.ClusterPacked | None,
        *,
        bounded: bool,
        most: int | None = None,
    ) -> _core.ClusterPacked:
        """Count the users of these items, or of all; keep so many of the largest counts, or all."""
        known = None if wanted is None else self.known(contributions, wanted)
        with self._shared(known) as shared:
            count = _tasks.Count(self._sealed, self._routes, bounded, shared)
            counts = _together(_of_users(contributions).mapInArrow(count, _ROUTED))
            return _collected(counts.mapInArrow(_tasks.Total(self._sealed, most), _PACKED))

    def names(self, known: _core.ClusterPacked) -> list[Any]:
        """Look known items up in the table; return batches of digest and item columns."""
        from pyspark.sql import types as t

        if not known:
            return []
        items = tuple(self._columns[1:])
        fields = item_types(self._data, items, is_text=self._plan.is_text)
        schema = t.StructType([t.StructField("digest", t.BinaryType()), *fields])
        with self._shared(known) as shared:
            named = self._rows(items).mapInArrow(_tasks.Name(self._sealed, items, shared), schema)
            batches: list[Any] = named.dropDuplicates(["digest"]).toArrow().to_batches()
        return batches

    @contextmanager
    def _shared(self, value: _core.ClusterPacked | None) -> Iterator[Any]:
        """Seal a value and send it to every executor once, where the session can do that."""
        sealed = None if value is None else value.sealed(self._plan)
        if self._context is None or sealed is None:
            yield sealed
            return
        broadcast = self._context.broadcast(sealed)
        try:
            yield broadcast
        finally:
            broadcast.destroy()


@contextmanager
def _kept(made: Any) -> Iterator[Any]:
    """Keep what was made until it is no longer needed."""
    kept = made.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


def _of_users(contributions: Any) -> Any:
    """Leave the census out."""
    return contributions.where("route >= 0")


def _together(routed: Any) -> Any:
    """Bring rows of a route together, one route after the other."""
    return routed.repartition("route").sortWithinPartitions("route")


def _collected(made: Any) -> _core.ClusterPacked:
    """Run a job; its packed values never are a variable that a traceback shows."""
    return _core.ClusterPacked(made.toArrow().to_batches())
