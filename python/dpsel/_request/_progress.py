"""``progress=True``: a bar on the terminal or in the notebook. It shows a share and times, never a count."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsel.typing import Progress

__all__ = ["Call", "progress_call"]

Call = Callable[[int, int], object]

#: Bytes and rows of reading are added to those of later phases, so only the share says something.
_SHARE = "{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]"


def progress_call(progress: Progress | bool | None) -> Call | None:  # noqa: FBT001 - no flag alone
    """Return the function to call with ``(done, total)``: the caller's own, or that of a bar for ``True``."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return _Bar()
    # The core refuses what cannot be called.
    return progress


class _Bar:
    """A bar of tqdm, which closes with the last call, and at the latest with the job."""

    def __init__(self) -> None:
        self._drawn: Any = None

    def __call__(self, done: int, total: int) -> None:
        """Draw the share that is done."""
        if self._drawn is None:
            # Drawn with the first call, so that nothing stays on the screen if the job is refused before.
            from tqdm.auto import tqdm

            self._drawn = tqdm(desc="reading", bar_format="{desc}: {elapsed}", leave=False)
        if total:
            self._drawn.total, self._drawn.bar_format = total, _SHARE
            self._drawn.set_description_str("working", refresh=False)
        self._drawn.update(done - self._drawn.n)
        if total and done >= total:
            self._drawn.close()

    def __del__(self) -> None:
        if self._drawn is not None:
            self._drawn.close()
