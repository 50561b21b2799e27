"""Standard streams that are closed, as under services and ``>&-``, and messages that nobody can read."""

from __future__ import annotations

import io
import os
import select
import sys
from typing import Any, Final

from dpsel.exceptions import FileError

_STANDARD: Final = 3


def prepare_streams() -> None:
    """Stand in for standard streams that are closed, before anything is opened or spent."""
    _occupy_descriptors()
    if _is_closed(sys.stdout):
        sys.stdout = _Closed()
    if not isinstance(sys.stderr, _Messages):
        sys.stderr = _Messages(sys.stderr)


def require_stdout(*copy: object) -> None:
    """Refuse a result that goes to standard output if nobody can read it, before any work is done.

    Args:
        copy: The files that hold the whole result too, if they are given: then it is shown where it can be.

    Raises:
        FileError: If it is closed.
        BrokenPipeError: If it is a pipe whose reader has gone.
    """
    if any(copy):
        sys.stdout = _Messages(sys.stdout)
        return
    if isinstance(sys.stdout, _Closed):
        sys.stdout.write("")
    if _has_lost_its_reader(sys.stdout):
        raise BrokenPipeError


def _has_lost_its_reader(stream: Any) -> bool:
    if not hasattr(select, "poll"):  # Windows
        return False
    poll = select.poll()
    try:
        poll.register(stream.fileno(), 0)
    except (AttributeError, OSError, ValueError):  # of a notebook, or a text in memory
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _occupy_descriptors() -> None:
    """Keep files that are opened later off the descriptors of closed streams."""
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor < _STANDARD:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)


def _is_closed(stream: Any) -> bool:
    return stream is None or stream.closed


class _Closed(io.TextIOBase):
    """A standard output that is closed: whatever needs it is refused."""

    def write(self, _text: str) -> int:
        """Refuse to write."""
        raise FileError(
            "standard output is closed, so the result would be lost; open it, or name a file for it"
        )


class _Messages:
    """A stream that may be closed or full: a message that nobody can read is no failure."""

    def __init__(self, stream: Any) -> None:
        """Write to this stream, as long as it can be written."""
        self._stream = stream

    def write(self, text: Any) -> int:
        """Write, or drop the text."""
        try:
            self._stream.write(text)
        except (AttributeError, OSError, ValueError, FileError):
            return len(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        try:
            self._stream.flush()
        except (AttributeError, OSError, ValueError):
            return

    def isatty(self) -> bool:
        """Whether the stream is a terminal; one that is closed is none."""
        return not _is_closed(self._stream) and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        """Return everything else from the stream."""
        return getattr(self._stream, name)
