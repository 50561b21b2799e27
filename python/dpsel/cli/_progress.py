"""The progress bar on standard error: how far the job is, and time left. Never a count of users or items."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from tqdm import tqdm

Update = Callable[[int, int], None]

# Reading and every phase after it count the same, so that only the share of the whole is worth showing.
_SHARE = "{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]"


def wanted(*, progress: bool, quiet: bool) -> bool:
    """Whether to draw a bar: on a terminal, or when asked for."""
    if progress and quiet:
        message = "--progress and --quiet exclude each other"
        raise click.UsageError(message)
    return progress or (not quiet and sys.stderr.isatty())


@contextmanager
def bar(*, shown: bool) -> Iterator[Update | None]:
    """Yield the function to call with (done, total), or ``None`` if no bar is shown.

    The last hundredth is for the work of the caller after the job: writing files.
    """
    if not shown:
        yield None
        return
    with tqdm(
        desc="reading", unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr, leave=False
    ) as drawn:

        def update(done: int, total: int) -> None:
            if total:
                drawn.total, drawn.bar_format = total * 100 / 99, _SHARE
                drawn.set_description_str("working" if done < total else "writing", refresh=False)
            drawn.update(done - drawn.n)

        yield update
