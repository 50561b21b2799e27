"""The file of a ledger: opened under its lock, and appended to by whole lines."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from dpsel.budget._lines import lock, unlock
from dpsel.exceptions import FileError, MissingFileError
from dpsel.quoting import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["absolute", "append", "locked"]


def _shown(path: Path) -> str:
    """Return a path for an error; its folder says nothing of whether its name is one."""
    told = quoted_path(path.name)
    return quoted_path(path) if told == path.name else told


def absolute(path: Path) -> Path:
    """Return the path from the root: another folder may be the working one later."""
    try:
        return path.absolute()
    except FileNotFoundError:
        raise FileError(
            f"cannot read {_shown(path)}: the working directory is gone; name the whole path"
        ) from None


@contextmanager
def locked(path: Path, *, is_known: bool) -> Iterator[IO[bytes]]:
    """Open the file of a ledger, and keep all others from it; ``is_known`` if it was read before."""
    with _taken(path, is_known=is_known) as file:
        try:
            yield file
        finally:
            # Closing the file is not enough if a fork has copied it meanwhile.
            unlock(file)


def _taken(path: Path, *, is_known: bool) -> IO[bytes]:
    """Open and lock the file that has the name when the lock is there."""
    while True:
        file = _opened(path, is_known=is_known)
        try:
            _wait(file, path)
            if _has_name(file, path):
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _opened(path: Path, *, is_known: bool) -> IO[bytes]:
    try:
        # Without a buffer, which could fail again when the file is closed.
        return path.open("r+b", buffering=0)
    except FileNotFoundError as error:
        why = _missing(path, error, is_known=is_known)
        raise MissingFileError(f"cannot read {_shown(path)}: {why}") from None
    except IsADirectoryError:
        raise _irregular(path) from None
    except OSError as error:
        raise FileError(f"cannot open {_shown(path)} to read and write it: {error.strerror}") from None


def _irregular(path: Path) -> FileError:
    return FileError(f"cannot read {_shown(path)}: it is no regular file; name another one")


def _missing(path: Path, error: OSError, *, is_known: bool) -> str:
    if is_known:
        return "it is gone, and with it what was spent; restore it from a copy that is as new"
    if path.is_symlink():
        return "it is a link to a file that is not there; restore that file, or name another one"
    return f"{error.strerror}; give total= to make a new ledger"


def _wait(file: IO[bytes], path: Path) -> None:
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        raise _irregular(path)
    try:
        lock(file)
    except OSError as error:
        raise FileError(f"cannot lock {_shown(path)}: {error.strerror}") from None


def _has_name(file: IO[bytes], path: Path) -> bool:
    """Whether the file that was waited for still has the name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def append(file: IO[bytes], line: bytes) -> None:
    """Put a line on disk: all of it, or, where the disk is full or the user interrupts, nothing."""
    end = file.seek(0, os.SEEK_END)
    try:
        rest = memoryview(line)
        while rest:
            rest = rest[file.write(rest) :]
    except BaseException:
        file.truncate(end)
        raise
    os.fsync(file.fileno())
