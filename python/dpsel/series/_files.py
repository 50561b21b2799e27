"""The files of a series: one method for each system call that changes its folder, and the lock."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn

from dpsel._arguments import as_name_of_file
from dpsel.exceptions import EntropyError, FileError, MissingFileError, SeriesError
from dpsel.quoting import quoted_path

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DRAFT", "LOCK", "Files", "random_bytes", "sync_names"]

DRAFT: Final = "draft-"
LOCK: Final = "lock"
#: Never through a link, which somebody else could have put there.
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def random_bytes(count: int) -> bytes:
    """Return bytes of the system's generator.

    Raises:
        EntropyError: If it gives none.
    """
    try:
        return os.urandom(count)
    except (OSError, NotImplementedError):
        raise EntropyError("the operating system gave no random bytes; nothing was released") from None


class Files:
    """A folder of the owner alone. Nothing is on the disk before it was synchronised."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Keep the path from the root: another folder may be the working one later."""
        self._given = as_name_of_file("folder", folder)
        try:
            self.path = os.path.abspath(self._given)  # noqa: PTH100 - pathlib takes longer to import
        except FileNotFoundError:
            raise FileError(
                "cannot read the folder: the working directory is gone; name the whole path"
            ) from None

    @property
    def shown(self) -> str:
        """The path, as errors quote it."""
        return quoted_path(self._given)

    def make(self) -> bool:
        """Make the folder, if it is not there, and bring its name to the disk; return whether it was made."""
        try:
            os.mkdir(self.path, mode=0o700)  # noqa: PTH102
        except FileExistsError:
            # If it is a file, that is found out when its names are asked for.
            return False
        except FileNotFoundError:
            raise MissingFileError(
                f"cannot make the series in {self.shown}: the folder around it is not there; make that first"
            ) from None
        except OSError as error:
            self._failed("make", error)
        try:
            sync_names(os.path.dirname(self.path))  # noqa: PTH120
        except OSError as error:
            with suppress(OSError):
                os.rmdir(self.path)  # noqa: PTH106
            self._failed("make", error)
        return True

    def unmake(self, *, folder: bool) -> None:
        """Remove the lock, which is held, and the folder if it is empty: as far as the system allows it."""
        with suppress(OSError):
            os.unlink(self._at(LOCK))  # noqa: PTH108
            if folder:
                os.rmdir(self.path)  # noqa: PTH106

    def holds(self, path: str) -> bool:
        """Whether a path is that of the folder, or leads into it."""
        folder, inner = os.path.realpath(self.path), os.path.realpath(path)
        return inner == folder or inner.startswith(os.path.join(folder, ""))  # noqa: PTH118

    def own(self) -> None:
        """Keep all others out."""
        try:
            os.chmod(self.path, 0o700)  # noqa: PTH101
        except OSError as error:
            self._failed("make", error)

    def put(self, name: str, content: bytes) -> bool:
        """Make a new file that has its name once it is on the disk; return whether the name was free."""
        self.write(draft := _draft(), content)
        self.sync(draft)
        is_free = self.link(draft, name)
        self.remove(draft)
        return is_free

    def put_over(self, name: str, content: bytes) -> None:
        """Make a file, or put it in the place of an older one; it is whole at any time."""
        self.write(draft := _draft(), content)
        self.sync(draft)
        self.replace(draft, name)

    def has(self, name: str) -> bool:
        """Whether there is a file of this name, in a folder that may not be there."""
        return os.path.lexists(self._at(name))

    def names(self) -> list[str]:
        """Return the names of all files."""
        try:
            return sorted(os.listdir(self.path))  # noqa: PTH208
        except FileNotFoundError:
            raise MissingFileError(
                f"there is no folder {self.shown}; make a series with dpsel.Series.create"
            ) from None
        except OSError as error:
            self._failed("read", error)

    def read(self, name: str) -> bytes:
        """Return what is in a file."""
        try:
            with open(self._at(name), "rb") as file:  # noqa: PTH123
                return file.read()
        except FileNotFoundError:
            raise SeriesError(
                f"the series in {self.shown} lacks its file '{name}'; restore the folder from a copy that "
                "is as new"
            ) from None
        except OSError as error:
            self._failed("read", error)

    def write(self, name: str, content: bytes) -> None:
        """Make a new file, for its owner alone."""
        try:
            descriptor = os.open(self._at(name), _NEW, 0o600)
            try:
                with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123
                    rest = memoryview(content)
                    while rest:
                        rest = rest[file.write(rest) :]
            except BaseException:
                os.unlink(self._at(name))  # noqa: PTH108
                raise
        except OSError as error:
            self._failed("write", error)

    def sync(self, name: str) -> None:
        """Bring the content of a file to the disk."""
        try:
            _sync(self._at(name), os.O_RDWR)
        except OSError as error:
            self._failed("write", error)

    def sync_folder(self) -> None:
        """Bring the names of all files to the disk."""
        try:
            sync_names(self.path)
        except OSError as error:
            self._failed("write", error)

    def link(self, name: str, free: str) -> bool:
        """Give a file a second name, which must be free; return whether it was."""
        try:
            os.link(self._at(name), self._at(free))
        except FileExistsError:
            return False
        except OSError as error:
            self._failed(
                "write", error, "; the file system must have hard links: put the series on another one"
            )
        return True

    def replace(self, name: str, taken: str) -> None:
        """Give a file another name, also one that is taken."""
        try:
            os.replace(self._at(name), self._at(taken))  # noqa: PTH105
        except OSError as error:
            self._failed("write", error)

    def remove(self, name: str) -> None:
        """Remove a file."""
        try:
            os.unlink(self._at(name))  # noqa: PTH108
        except OSError as error:
            self._failed("write", error)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other processes and threads out.

        Raises:
            SeriesError: If one is in, or if this is the copy of a process that a fork made meanwhile.
        """
        try:
            descriptor = os.open(self._at(LOCK), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            self._failed("lock", error)
        try:
            self._lock(descriptor)
            self._refuse_removed(descriptor)
            owner = os.getpid()
            try:
                yield
            finally:
                # Closing is not enough if a fork has copied the descriptor, and the copy gives back nothing.
                if os.getpid() == owner:
                    _unlock(descriptor)
        finally:
            os.close(descriptor)

    def _lock(self, descriptor: int) -> None:
        try:
            _try_lock(descriptor)
        except (BlockingIOError, PermissionError):
            self._in_use()
        except OSError as error:
            self._failed("lock", error)

    def _refuse_removed(self, descriptor: int) -> None:
        """Refuse a lock that a creation which was refused has removed meanwhile: it keeps nobody out."""
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), os.stat(self._at(LOCK))):  # noqa: PTH116
                return
        self._in_use()

    def _in_use(self) -> NoReturn:
        raise SeriesError(
            f"the series in {self.shown} is in use by another process or thread; wait until it has "
            "ended, since two releases at a time could show two lists of one number"
        ) from None

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name)  # noqa: PTH118

    def _failed(self, what: str, error: OSError, more: str = "") -> NoReturn:
        raise FileError(f"cannot {what} the series in {self.shown}: {error.strerror}{more}") from None


def sync_names(folder: str) -> None:
    """Bring the names in a folder to the disk.

    Raises:
        OSError: If that fails.
    """
    # Windows has no such call, and keeps names in a journal.
    if os.name != "nt":
        _sync(folder, os.O_RDONLY)


def _sync(path: str, mode: int) -> None:
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _draft() -> str:
    """Return a name for a file that gets its own one later."""
    return f"{DRAFT}{random_bytes(8).hex()}"


def _try_lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        locking: Any = msvcrt
        locking.locking(descriptor, locking.LK_NBLCK, 1)
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _unlock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows, where it ends with the process that closes the file
        return
    fcntl.flock(descriptor, fcntl.LOCK_UN)
