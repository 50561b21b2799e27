"""The keys of a series: that of the caller, and the inner secrets that it wraps."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

from dpsel import _core_calls
from dpsel._arguments import as_name_of_file, type_name
from dpsel.exceptions import FileError, InvalidParameterError, MissingFileError, SeriesError
from dpsel.quoting import quoted_path
from dpsel.series._files import random_bytes, sync_names

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Key", "Secrets", "key_of", "unwrapped", "wrapped"]

_BYTES: Final = 32
_MAKE: Final = "make one with `openssl rand -hex 32`, or let dpsel.Series.create do it"


def key_of(key: Any, *, may_be_made: bool = False) -> Key:
    """Return the key of the caller, given as bytes or as the path of a file with 64 hexadecimal digits.

    Args:
        key: The argument.
        may_be_made: For a file that is not there there is a fresh key, which makes it when it is kept.

    Raises:
        InvalidParameterError: If it is none of the two.
        FileError: If the file cannot be read, or holds something else.
    """
    if isinstance(key, bytes):
        if len(key) != _BYTES:
            raise InvalidParameterError(
                f"key must be {_BYTES} bytes, got {len(key)}; {_MAKE}, and pass the path of its file"
            )
        return Key(key)
    if not isinstance(key, str | os.PathLike):
        raise InvalidParameterError(
            f"key must be {_BYTES} bytes or the path of a key file, got {type_name(key)}; give one of these"
        )
    path = as_name_of_file("key", key)
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            found = Key(_of_digits(file.read(4 * _BYTES)))
    except FileNotFoundError:
        if may_be_made:
            return NewKey(path)
        raise MissingFileError(
            f"cannot read {quoted_path(path)} as the key: no such file; without the key nobody can go on "
            "with a series or read its lists"
        ) from None
    except OSError as error:
        raise FileError(f"cannot read {quoted_path(path)} as the key: {error.strerror}") from None
    if len(found.raw) != _BYTES:
        raise FileError(f"{quoted_path(path)} is no key: it does not hold 64 hexadecimal digits; {_MAKE}")
    return found


def _of_digits(text: bytes) -> bytes:
    try:
        return bytes.fromhex(text.decode("ascii"))
    except ValueError:
        return b""


class Key:
    """A key that no variable, no message and no pickle shows."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        """Keep its 32 bytes."""
        self.raw = raw

    @classmethod
    def drawn(cls) -> Self:
        """Return a fresh one."""
        return cls(random_bytes(_BYTES))

    def seal(self, label: bytes, plain: bytes) -> bytes:
        """Return bytes that only this key opens, for this label; their size tells little."""
        return _core_calls.seal(self.raw, label, plain)

    def unseal(self, label: bytes, sealed: bytes) -> bytes:
        """Return what was sealed.

        Raises:
            ValueError: If it is another key or label, or what was sealed was changed.
        """
        return _core_calls.unseal(self.raw, label, sealed)

    def tag(self, what: bytes, content: bytes) -> str:
        """Return the keyed digest of a content of a kind."""
        return _core_calls.tag(self.raw, what + b"\n" + content).hex()

    def keep(self) -> None:
        """Make its file, if it is to have one."""

    def __reduce__(self) -> Any:
        """Refuse a pickle."""
        raise SeriesError("the keys of a series stay in the process that read them; open the series there")


class NewKey(Key):
    """A fresh key, whose file is to be made."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        """Draw a key for a file, which can be made.

        Raises:
            FileError: If it cannot.
        """
        super().__init__(random_bytes(_BYTES))
        self._path = path
        tried = f"{path}.{random_bytes(8).hex()}"
        try:
            os.close(os.open(tried, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            os.unlink(tried)  # noqa: PTH108
        except OSError as error:
            _unwritten(path, error)

    def keep(self) -> None:
        """Make the file, and bring it to the disk."""
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file:  # noqa: PTH123
                file.write(self.raw.hex().encode() + b"\n")
                file.flush()
                os.fsync(descriptor)
            sync_names(os.path.dirname(os.path.abspath(self._path)))  # noqa: PTH100, PTH120
        except FileExistsError:
            raise FileError(
                f"cannot write {quoted_path(self._path)} as the key: somebody made such a file meanwhile; "
                "call create again, which takes it as the key and pays nothing again"
            ) from None
        except OSError as error:
            _unwritten(self._path, error)


def _unwritten(path: str, error: OSError) -> NoReturn:
    why = (
        "the folder of it is not there; make that first"
        if isinstance(error, FileNotFoundError)
        else error.strerror
    )
    raise FileError(f"cannot write {quoted_path(path)} as the key: {why}") from None


@dataclass(frozen=True, slots=True)
class Secrets:
    """The inner secrets.

    Args:
        lists: For lists and tags of commits; it stays when the series is closed.
        states: For states, digests of users and priorities. ``None`` if the series is closed.
    """

    lists: Key
    states: Key | None

    @classmethod
    def drawn(cls) -> Self:
        """Return fresh ones."""
        return cls(Key.drawn(), Key.drawn())


def wrapped(key: Key, label: bytes, secrets: Secrets) -> bytes:
    """Return the inner secrets under the key of the caller."""
    return key.seal(label, secrets.lists.raw + (secrets.states.raw if secrets.states else b""))


def unwrapped(key: Key, label: bytes, sealed: bytes) -> Secrets:
    """Return the inner secrets.

    Raises:
        ValueError: If the key is another one, or what was sealed was changed.
    """
    keys = [Key(key.unseal(label, sealed)[at : at + _BYTES]) for at in (0, _BYTES)]
    return Secrets(keys[0], keys[1] if keys[1].raw else None)
