"""The Python processes of the executors, which run one task after the other."""

from __future__ import annotations

import gc

__all__ = ["keep_modules"]


def keep_modules() -> None:
    """Leave what this process has loaded out of all later searches for garbage.

    PySpark searches for garbage after each task. With pyarrow and pandas loaded that takes about as long as a
    small task. What becomes garbage later is still found. Other users of the process notice nothing.
    """
    if gc.get_freeze_count() == 0:
        gc.collect()
        gc.freeze()
