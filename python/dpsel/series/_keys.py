"""The keys of a series: that of the caller, and the inner secrets that it wraps."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import as_name_of_file, type_name
from dpsel.exceptions import FileError, InvalidParameterError, MissingFileError, SeriesError
from dpsel.quoting import quoted_path
from dpsel.series._files import random_bytes

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Secrets", "key_of", "unwrapped", "wrapped"]

_BYTES: Final = 32
_MAKE: Final = "make one with `openssl rand -hex 32`, or let dpsel.Series.create do it"


def key_of(key: Any, *, may_be_made: bool = False) -> bytes:
    """Return the key of the caller, given as bytes or as the path of a file with 64 hexadecimal digits.

    Args:
        key: The argument.
        may_be_made: A file that is not there is made, with a fresh key.

    Raises:
        InvalidParameterError: If it is none of the two.
        FileError: If the file cannot be read, or holds something else.
    """
    if isinstance(key, bytes):
        if len(key) != _BYTES:
            raise InvalidParameterError(
                f"key must be {_BYTES} bytes, got {len(key)}; {_MAKE}, and pass the path of its file"
            )
        return key
    if not isinstance(key, str | os.PathLike):
        raise InvalidParameterError(
            f"key must be {_BYTES} bytes or the path of a key file, got {type_name(key)}; give one of these"
        )
    path = as_name_of_file("key", key)
    try:
        return _read(path)
    except FileNotFoundError:
        if may_be_made:
            return _made(path)
        raise MissingFileError(
            f"cannot read the key file {quoted_path(path)}: no such file; without the key nobody can go on "
            "with a "
            "series or read its lists"
        ) from None
    except OSError as error:
        raise FileError(f"cannot read the key file {quoted_path(path)}: {error.strerror}") from None


def _read(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123
        text = file.read(4 * _BYTES)
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _BYTES:
        raise FileError(f"the key file {quoted_path(path)} does not hold 64 hexadecimal digits; {_MAKE}")
    return key


def _made(path: str) -> bytes:
    key = random_bytes(_BYTES)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123
            file.write(key.hex().encode() + b"\n")
            file.flush()
            os.fsync(descriptor)
    except OSError as error:
        raise FileError(f"cannot write the key file {quoted_path(path)}: {error.strerror}") from None
    return key


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """The inner secrets.

    Args:
        lists: For lists and tags of commits; it stays when the series is closed.
        states: For everything else: states, noise, digests of users and priorities. ``None`` if the series
            is closed.
    """

    lists: bytes
    states: bytes | None

    @classmethod
    def drawn(cls) -> Self:
        """Return fresh ones."""
        return cls(random_bytes(_BYTES), random_bytes(_BYTES))

    def __reduce__(self) -> Any:
        """Refuse a pickle."""
        raise SeriesError("the secrets of a series stay in the process that read them; open the series there")


def wrapped(key: bytes, label: bytes, secrets: Secrets) -> bytes:
    """Return the inner secrets under the key of the caller."""
    return _core_calls.seal(key, label, secrets.lists + (secrets.states or b""))


def unwrapped(key: bytes, label: bytes, sealed: bytes) -> Secrets:
    """Return the inner secrets.

    Raises:
        ValueError: If the key is another one, or what was sealed was changed.
    """
    inner = _core_calls.unseal(key, label, sealed)
    return Secrets(inner[:_BYTES], inner[_BYTES:] or None)
