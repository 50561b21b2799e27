"""Progress of a release on Spark: the driver says which step is over. Parameters alone make the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel.progress import Bar, progress_call
from dpsel.spark._errors import CallersError

if TYPE_CHECKING:
    from dpsel._request._request import Request
    from dpsel.progress import Call
    from dpsel.typing import Progress

__all__ = ["Steps"]


class Steps:
    """The reading, each round, and what comes after: counts and names."""

    def __init__(self, progress: Progress | bool | None, request: Request[Any]) -> None:  # noqa: FBT001 - no flag alone
        """Keep the function that is called with ``(done, total)``. Refuse what is none."""
        call: Any = progress_call(progress)
        if call is not None and not callable(call):
            # The core has the message.
            request.job(progress=progress)
        self._call: Call | None = call
        self._rounds, self._done = 0, -1

    def begin(self, rounds: int) -> None:
        """Begin to read, for a job of at most so many rounds."""
        self._rounds = rounds
        self._tell(0)

    def end_reading(self) -> None:
        """Begin the first round."""
        self._tell(1)

    def end_round(self, number: int) -> None:
        """End a round, counted from 0."""
        self._tell(number + 2)

    def end_rounds(self) -> None:
        """Begin what comes after the rounds."""
        self._tell(self._rounds + 1)

    def end(self) -> None:
        """End the job."""
        self._tell(self._rounds + 2)

    def _tell(self, done: int) -> None:
        if done <= self._done or self._call is None:
            return
        self._done = done
        total = self._rounds + 2
        phase = (self._phase(), total - 1) if isinstance(self._call, Bar) else ()
        try:
            self._call(self._done, total, *phase)
        except Exception as error:  # noqa: BLE001 - the caller's own, which goes back as it is
            raise CallersError(error) from None

    def _phase(self) -> str:
        if self._done == 0:
            return "reading"
        return f"round {self._done} of {self._rounds}" if self._done <= self._rounds else "names"
