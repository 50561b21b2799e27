"""How a sealed value comes to every task: as a broadcast, or on Spark Connect in a function or file."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["for_tasks"]

#: Larger values are files where there are no broadcasts. Spark copies functions several times for each task.
FUNCTION_BYTES: int = 4_000_000


@contextmanager
def for_tasks(session: Any, sealed: bytes | None) -> Iterator[Any]:
    """Give what the functions of tasks hold: the value itself, or an object whose ``value`` it is."""
    context = getattr(session, "_sc", None)
    if sealed is None or (context is None and len(sealed) <= FUNCTION_BYTES):
        yield sealed
    elif context is None:
        yield _as_file(session, sealed)
    else:
        broadcast = context.broadcast(sealed)
        try:
            yield broadcast
        finally:
            broadcast.destroy()


@dataclass(frozen=True)
class _File:
    """A file that every executor has."""

    name: str

    @property
    def value(self) -> bytes:
        """Its content, in a task."""
        from pyspark import SparkFiles

        return Path(SparkFiles.get(self.name)).read_bytes()


def _as_file(session: Any, sealed: bytes) -> _File:
    """Send a file. Spark keeps it to the end of the session, and nobody can open it after the release."""
    with TemporaryDirectory(prefix="dpsel-") as folder:
        # A name that no other file of the session has.
        file = _File(Path(folder).name)
        path = Path(folder, file.name)
        path.write_bytes(sealed)
        session.addArtifacts(str(path), file=True)
    return file
