"""The stages of a release as Spark jobs.

    rows -> Encode -> shuffle by user -> kept -> [Weigh -> shuffle by item -> Decide -> driver] each round
    rows -> Name -> shuffle of released items -> driver

Only decisions come to the driver, as digests, and the names of what is released.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dpsel.spark import _tasks
from dpsel.spark._errors import own_errors
from dpsel.spark._schema import exact_schema, item_types, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpsel import _core

__all__ = ["Dataflow"]

_ROUTED = "route int, packed binary"
_PACKED = "packed binary"


class Dataflow:
    """One release."""

    def __init__(self, data: Any, columns: Sequence[str], plan: _core.ClusterPlan, routes: int) -> None:
        """Nothing runs yet."""
        self._data = data
        self._columns = columns
        self._plan = plan
        self._routes = routes

    def run(self, reason: str | None) -> _core.Release:
        """Run all jobs; ``reason`` says why the mechanism was chosen."""
        with own_errors():
            schema = exact_schema(self._data, self._columns)
            released = self._decisions()
            named = self._names(released) if released else []
        return self._plan.publish(named, released, schema, reason)

    def _decisions(self) -> bytes:
        """Run the rounds; return the packed decisions of all."""
        rows = self._data.select([quoted(name) for name in self._columns])
        encoded = rows.mapInArrow(_tasks.Encode(self._plan, self._routes), _ROUTED)
        contributions = _together(encoded).persist()
        released = b""
        try:
            for number in range(self._plan.rounds):
                with self._shared(released) as shared:
                    weigh = _tasks.Weigh(self._plan, self._routes, number, shared)
                    weights = _together(contributions.mapInArrow(weigh, _ROUTED))
                    decided = weights.mapInArrow(_tasks.Decide(self._plan, number), _PACKED)
                    released += b"".join(decided.toArrow()["packed"].to_pylist())
        finally:
            contributions.unpersist()
        return released

    def _names(self, released: bytes) -> list[Any]:
        """Look the released items up in the table; return batches of digest and item columns."""
        from pyspark.sql import types as t

        items = self._columns[1:]
        is_text = json.loads(self._plan.report_json())["request"]["columns"].get("ngrams") is not None
        fields = item_types(self._data, items, is_text=is_text)
        schema = t.StructType([t.StructField("digest", t.BinaryType()), *fields])
        with self._shared(released) as shared:
            rows = self._data.select([quoted(name) for name in items])
            named = rows.mapInArrow(_tasks.Name(self._plan, shared), schema)
            batches: list[Any] = named.dropDuplicates(["digest"]).toArrow().to_batches()
        return batches

    @contextmanager
    def _shared(self, value: bytes) -> Iterator[Any]:
        """Send a value to every executor once, where the session can do that.

        Spark writes large functions to a file; functions that hold the key stay small this way.
        """
        context = getattr(self._data.sparkSession, "_sc", None)
        if context is None:
            yield value
            return
        broadcast = context.broadcast(value)
        try:
            yield broadcast
        finally:
            broadcast.destroy()


def _together(routed: Any) -> Any:
    """Bring rows of a route together, one route after the other."""
    return routed.repartition("route").sortWithinPartitions("route")
