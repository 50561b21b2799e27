"""Making the folder of a series."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dpsel.exceptions import (
    STAYS_SPENT,
    BudgetExceededError,
    DpselError,
    FileError,
    SeriesError,
    WeakGuaranteeWarning,
)
from dpsel.series._files import DRAFT, LOCK
from dpsel.series._keys import Secrets, wrapped
from dpsel.series._layout import HEADER, KEY, NEW, NO_RECORD, key_label
from dpsel.series._records import Header, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel.series._files import Files
    from dpsel.series._keys import Key

__all__ = ["started"]


def started(files: Files, key: Key, header: Header, pay: Callable[[str], None]) -> None:
    """Make the folder: draft, inner key, payment, key file, and the header, without which there is no series.

    A repeated call goes on with the identity of the draft, so that a ledger books nothing twice. A call that
    is refused leaves nothing that it made. The key file is made last, so that no other creation can have read
    what a refusal removes.

    Args:
        files: The folder.
        key: That of the caller, maybe in a file to be made.
        header: With a fresh identity.
        pay: Books the identity, before anything can be released.

    Raises:
        SeriesError: If there is a series that was asked for with other arguments, or another key.
    """
    is_made = files.make()
    is_locked_first = LOCK not in _names_of_ours(files)
    with files.locked():
        try:
            _begin(files, key, header, pay)
        except (DpselError, WeakGuaranteeWarning):
            with suppress(FileError):
                if is_locked_first and files.names() == [LOCK]:
                    files.unmake(folder=is_made)
            raise


def _begin(files: Files, key: Key, header: Header, pay: Callable[[str], None]) -> None:
    """Make what is in the folder, whose lock is held."""
    if HEADER in (names := files.names()):
        _refuse_others(files, header, HEADER)
        return
    is_first = NEW not in names
    if not is_first:
        header = _refuse_others(files, header, NEW)
    try:
        if is_first:
            files.put(NEW, header.to_bytes())
        digest = digest_of(header.to_bytes())
        files.put_over(KEY, wrapped(key, key_label(KEY, digest), Secrets.drawn()))
        files.sync_folder()
        pay(header.identity)
    except (DpselError, WeakGuaranteeWarning) as error:
        # Nothing was booked, so other arguments are welcome. An earlier call may have booked its own draft.
        is_booked = STAYS_SPENT in getattr(error, "__notes__", ())
        if isinstance(error, BudgetExceededError) or (is_first and not is_booked):
            _remove_begun(files)
        raise
    key.keep()
    files.link(NEW, HEADER)
    files.sync_folder()
    files.remove(NEW)


def _remove_begun(files: Files) -> None:
    with suppress(FileError):
        for name in files.names():
            if name.startswith((NEW, KEY, DRAFT)):
                files.remove(name)


def _names_of_ours(files: Files) -> list[str]:
    """Return the files of a folder, which becomes one of the owner alone.

    It is refused if it is of others, or of a series that has lost its header.
    """
    names = files.names()
    if HEADER in names:
        return names
    if any(name not in {LOCK, NEW, KEY} and not name.startswith(DRAFT) for name in names):
        raise SeriesError(
            f"{files.shown} holds other files, or a series that has lost its header; name a new folder, or "
            "restore the header"
        )
    files.own()
    return names


def _refuse_others(files: Files, asked: Header, name: str) -> Header:
    """Return the header that is there, if it was asked for with the same arguments."""
    try:
        found = Header.of_bytes(files.read(name))
    except NO_RECORD:
        raise SeriesError(
            f"the header of the series in {files.shown} is none of this version of dpsel; name another folder"
        ) from None
    if not found.is_alike(asked) and name == NEW:
        raise SeriesError(
            f"the creation of a series with other parameters in {files.shown} did not end, and may be paid "
            "for; repeat it with those, or name another folder"
        )
    if not found.is_alike(asked):
        kind = "CountSeries" if found.counts else "Series"
        raise SeriesError(
            f"there is a series with other parameters in {files.shown}; open it with dpsel.{kind}.open, or "
            "name another folder"
        )
    return found
