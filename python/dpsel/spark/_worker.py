"""The Python processes of the executors, which run one task after the other."""

from __future__ import annotations

import gc

__all__ = ["keep_modules"]

_are_kept = False


def keep_modules() -> None:
    """Leave the objects that this process has now out of all later searches for garbage.

    PySpark searches for garbage after each task. With pyarrow and pandas loaded that takes about as long as a
    small task. Objects made later are searched as before. So this comes before a job is opened: nothing of
    it, its key least of all, is to be among what is left out.
    """
    global _are_kept  # noqa: PLW0603 - of the process: Python counts what it keeps one by one
    if not _are_kept:
        import pyarrow  # noqa: F401, ICN001 - most of what is left out

        gc.collect()
        gc.freeze()
        _are_kept = True
