"""The progress bar on standard error: bytes read, rate, time left. Never a count of users or items."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from tqdm import tqdm

Update = Callable[[int, int], None]


def wanted(*, progress: bool, quiet: bool) -> bool:
    """Whether to draw a bar: on a terminal, or when asked for."""
    if progress and quiet:
        message = "--progress and --quiet exclude each other"
        raise click.UsageError(message)
    return progress or (not quiet and sys.stderr.isatty())


@contextmanager
def bar(*, shown: bool) -> Iterator[Update | None]:
    """Yield the function to call with (done, total) bytes, or ``None`` if no bar is shown."""
    if not shown:
        yield None
        return
    with tqdm(
        desc="reading", unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr, leave=False
    ) as drawn:

        def update(done: int, total: int) -> None:
            drawn.total = total or None
            drawn.update(done - drawn.n)

        yield update
