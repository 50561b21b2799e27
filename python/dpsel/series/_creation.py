"""Making the folder of a series."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpsel.exceptions import BudgetExceededError, SeriesError, WeakGuaranteeWarning
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
    """Make the folder: draft, key, payment, and then the header, without which there is no series.

    A repeated call goes on with the identity of the draft, so that a ledger books nothing twice.

    Args:
        files: The folder, which is there.
        key: That of the caller.
        header: With a fresh identity.
        pay: Books the identity, before anything can be released.

    Raises:
        SeriesError: If there is a series that was asked for with other arguments, or another key.
    """
    _refuse_foreign(files)
    with files.locked():
        if HEADER in (names := files.names()):
            _refuse_others(files, header, HEADER)
            return
        if NEW in names:
            header = _refuse_others(files, header, NEW)
        else:
            files.put(NEW, header.to_bytes())
        digest = digest_of(header.to_bytes())
        files.put_over(KEY, wrapped(key, key_label(KEY, digest), Secrets.drawn()))
        files.sync_folder()
        try:
            pay(header.identity)
        except (BudgetExceededError, WeakGuaranteeWarning):
            # Nothing was booked, so other arguments are welcome.
            files.remove(NEW)
            raise
        files.link(NEW, HEADER)
        files.sync_folder()
        files.remove(NEW)


def _refuse_foreign(files: Files) -> None:
    """Refuse a folder of others, or of a series that has lost its header; make it one of the owner alone."""
    names = files.names()
    if HEADER in names:
        return
    if any(name not in {LOCK, NEW, KEY} and not name.startswith(DRAFT) for name in names):
        raise SeriesError(
            f"{files.shown} holds other files, or a series that has lost its header; name a new folder, or "
            "restore the header"
        )
    files.own()


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
