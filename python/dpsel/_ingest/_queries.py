"""The rows of a polars query, batch by batch, and whatever makes the query fail.

``LazyFrame.collect_batches`` is not used: it drops a panic of the query, which then looks as if it had ended.
``sink_batches`` raises it. It calls back for each batch, so it runs on a thread of its own.
"""

from __future__ import annotations

from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["batches_of"]

_WAITING: Final = 2
"""Batches that may wait to be read: enough to keep both threads busy, little memory."""

_TICK: Final = 0.05
"""Seconds until a thread looks again whether the other one is still there."""


_PATIENCE: Final = 10.0
"""Seconds that an abandoned query has to end: it is told so with the next batch that it makes."""


def batches_of(lazy: Any) -> Iterator[Any]:
    """Yield the frames of a query in any order.

    Raises:
        BaseException: The exception of the query, unchanged.
    """
    query = _Query(lazy)
    query.start()
    try:
        yield from query.batches()
    finally:
        query.stopped.set()
        # A thread that is inside of polars when the interpreter ends can bring the process down.
        query.join(_PATIENCE)


class _Query(Thread):
    """A running query. Its last message is ``None`` if it ended, or the exception that it raised."""

    def __init__(self, lazy: Any) -> None:
        super().__init__(name="dpsel query", daemon=True)
        self.stopped = Event()
        self._lazy = lazy
        self._messages: Queue[Any] = Queue(_WAITING)

    def run(self) -> None:
        """Run the query to its end."""
        end: BaseException | None = None
        try:
            self._lazy.sink_batches(self._push, maintain_order=False, engine="streaming")
        except BaseException as error:  # noqa: BLE001 - it is raised where the batches are read
            end = error
        self._push(end)

    def batches(self) -> Iterator[Any]:
        """Yield batches until the query ends."""
        while True:
            message = self._next()
            if isinstance(message, BaseException):
                raise message
            if message is None:
                return
            yield message

    def _next(self) -> Any:
        while True:
            try:
                return self._messages.get(timeout=_TICK)
            except Empty:
                # It always leaves a last message. If it could not, the rows so far are not all there are.
                if not self.is_alive() and self._messages.empty():
                    raise RuntimeError("the query has gone") from None

    def _push(self, message: Any) -> bool:
        """Hand a message over; true, which ends the query, if nobody reads any more."""
        while not self.stopped.is_set():
            try:
                self._messages.put(message, timeout=_TICK)
            except Full:
                continue
            return False
        return True
