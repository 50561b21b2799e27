"""The progress bar on standard error: share, phase and time left. Never a count of users or items."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from dpsel.progress import Bar

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The last hundredth is for the work of the caller after the job: writing files.
_JOB = 0.99


def wanted(*, progress: bool, quiet: bool) -> bool:
    """Whether to draw a bar: on a terminal, or when asked for."""
    if progress and quiet:
        message = "--progress and --quiet exclude each other"
        raise click.UsageError(message)
    return progress or (not quiet and sys.stderr.isatty())


@contextmanager
def bar(*, shown: bool) -> Iterator[Bar | None]:
    """Yield the bar to call, or ``None`` if none is shown. It counts bytes while the end is unknown."""
    if not shown:
        yield None
        return
    drawn = Bar(_JOB, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr)
    try:
        yield drawn
    finally:
        drawn.close()
