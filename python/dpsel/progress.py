"""``progress=True``: a bar on the terminal or in a notebook, with shares, phases and times, never a count."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsel.typing import Progress

__all__ = ["Bar", "Call", "progress_call"]

Call = Callable[..., object]

#: Bytes and rows of reading are added to those of later phases, so only the share says something.
_SHARE = "{{desc}}: {{percentage:3.0f}}%|{{bar}}| [{{elapsed}}{left}]"
#: Phases that say nothing of the time that later ones take. Settling is two of them.
_EARLY = ("reading", "settling")
#: The share of a phase below which its own speed says nothing yet.
_TELLING = 0.02


def progress_call(progress: Progress | bool | None) -> Call | None:  # noqa: FBT001 - no flag alone
    """Return the function to call with ``(done, total)``: the caller's own, or a bar for ``True``."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar()
    # The core refuses what cannot be called.
    return progress


class Bar:
    """A bar of tqdm, which closes with the last call, and at the latest with the job.

    The core calls it with the phase as well, and says once that rows go to the disk.
    """

    def __init__(self, whole: float = 1.0, **settings: Any) -> None:
        """Draw a job as this part of the bar, with these settings of tqdm while the end is unknown."""
        self._whole, self._settings = whole, settings or {"bar_format": "{desc}: {elapsed}"}
        self._drawn: Any = None
        self._left = TimeLeft()
        self._told = self._silent = False

    def __call__(
        self, done: int, total: int, phase: str = "working", phases: int = 0, exceeded: str | None = None
    ) -> None:
        """Draw the share that is done. ``exceeded`` is the memory limit if rows went to the disk."""
        if self._silent:
            return
        try:
            self._draw(done, total, phase, phases, exceeded)
        except (AttributeError, OSError, ValueError):
            # Nobody can see a bar on a stream that is missing, closed or full; the job goes on.
            self._silent = True

    def _draw(self, done: int, total: int, phase: str, phases: int, exceeded: str | None) -> None:
        drawn = self._drawn = self._open() if self._drawn is None else self._drawn
        if exceeded and not self._told:
            self._told = True
            drawn.write(disk_line(exceeded), file=sys.stderr)
        writes = self._whole < 1 and 0 < total <= done
        drawn.set_description_str("writing" if writes else phase, refresh=False)
        if total:
            share = done / total
            drawn.total = total / self._whole
            drawn.bar_format = _SHARE.format(
                left=self._left.text(time.monotonic(), share * (phases + 1), phases, is_early=phase in _EARLY)
            )
        drawn.update(done - drawn.n)
        if total and done >= total and self._whole == 1:
            self.close()

    def _open(self) -> Any:
        # With the first call, so that nothing stays on the screen if the job is refused before.
        from tqdm.auto import tqdm

        return tqdm(desc="reading", leave=False, **self._settings)

    def close(self) -> None:
        """Take the bar away."""
        if self._drawn is not None:
            with suppress(AttributeError, OSError, ValueError):
                self._drawn.close()

    def __del__(self) -> None:
        """Take the bar away with the job, at the latest."""
        self.close()


def disk_line(memory_limit: str) -> str:
    """Say that rows go to the disk and why, without a number of the data."""
    return f"working from disk: the job needs more than the memory limit of {memory_limit}"


class TimeLeft:
    """An estimate from the work that was done so far.

    A phase goes on as fast as it went. The next one takes as long as the last one that ended. Phases that are
    early say nothing of later ones, so only their own rest is given.
    """

    def __init__(self) -> None:
        self._began: float | None = None
        self._index = 0
        self._last = 0.0

    def text(self, now: float, done: float, phases: int, *, is_early: bool) -> str:
        """Return what to write behind the time so far; ``done`` counts phases, the reading as the first."""
        if self._began is None:
            self._began = now
        index = min(int(done), phases)
        if index > self._index:
            self._last = (now - self._began) / (index - self._index)
            self._index, self._began = index, now
        part = done - index
        own = (now - self._began) * (1 - part) / part if part > _TELLING else None
        if is_early:
            return "" if own is None else f", {_clock(own)} in this phase"
        own = max(self._last - (now - self._began), 0.0) if own is None else own
        return f"<{_clock(own + (phases - index) * self._last)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
