"""Named pipes that tests read."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def fed(pipe: Path, source: Path | bytes) -> Path:
    """Write a file into a named pipe, from a thread."""
    os.mkfifo(pipe)

    def feed() -> None:
        # The reader may leave early, on purpose.
        try:
            with pipe.open("wb") as out:
                out.write(source if isinstance(source, bytes) else source.read_bytes())
        except BrokenPipeError:
            return

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    return pipe
