"""What `Series` and `CountSeries` have in common: a folder that is opened, looked through and closed."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from dpsel._arguments import as_flag, as_name_of_file, is_unicode, type_name
from dpsel._tables import is_control
from dpsel.accounting import checked_privacy
from dpsel.budget._payment import begin_call
from dpsel.budget._series import follower, ledger_that_pays
from dpsel.exceptions import InvalidParameterError, SeriesError
from dpsel.quoting import quoted
from dpsel.release import CheckResult
from dpsel.series import _counts, _mechanism
from dpsel.series._card import SeriesCard
from dpsel.series._creation import started
from dpsel.series._files import Files
from dpsel.series._keys import Key, key_of
from dpsel.series._layout import HEADER
from dpsel.series._opening import entered
from dpsel.series._results import SeriesStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpsel.accounting import Privacy
    from dpsel.budget import Ledger
    from dpsel.series._folder import Attempt, Folder, Follow
    from dpsel.series._records import Commit, Header

    R = TypeVar("R")

__all__ = ["FolderOfReleases", "own_key", "status_of"]

_LONGEST_NAME = 200


class FolderOfReleases:
    """Releases in one folder, under one guarantee."""

    __slots__ = ("_files", "_follow", "_key")

    #: Whether its releases are numbers.
    _has_counts: ClassVar[bool]

    def __init__(self, files: Files, key: Key, follow: Follow | None) -> None:
        """Keep where the series is; `create` and `open` make one."""
        self._files, self._key, self._follow = files, key, follow

    @classmethod
    def _started(cls, files: Files, own: Key, privacy: Privacy, header: Header) -> Self:
        """Make the folder, and pay."""

        def pay(identity: str) -> None:
            with begin_call(privacy, step=identity):
                pass

        started(files, own, header, pay)
        return cls._checked(files, own, follower(ledger_that_pays(checked_privacy(privacy))))

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        key: bytes | str | os.PathLike[str],
        ledger: Ledger[Any] | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Open a series, and check all that its folder holds.

        Args:
            folder: Where it lives.
            key: The key that it was created with.
            ledger: The ledger that booked it, or its path; needed if one did.

        Returns:
            The series.

        Raises:
            SeriesError: If it is in use, if the key is another one, or if a file is missing, was changed, or
                is older than the ledger says.
            FileError: If the folder or the key file cannot be read.
        """
        own = key_of(key)
        # No variable of ours has the bytes from here on.
        del key
        return cls._checked(Files(folder), own, follower(ledger))

    @classmethod
    def _checked(cls, files: Files, key: Key, follow: Follow | None) -> Self:
        series = cls(files, key, follow)
        with series._entered():
            return series

    @contextmanager
    def _entered(self) -> Iterator[Folder]:
        with entered(self._files, self._key, self._follow) as folder:
            if (folder.header.counts is not None) != self._has_counts:
                has, kind = ("numbers", "CountSeries") if folder.header.counts else ("lists", "Series")
                raise SeriesError(
                    f"the series in {self._files.shown} is one of {has}; open it with dpsel.{kind}.open"
                )
            yield folder

    def _made(
        self, name: str, attempt: Callable[[Header], Attempt], shown: Callable[[Folder, Commit], R]
    ) -> R:
        """Show the release of a name, which is made if there is none."""
        called = checked_name(name)
        with self._entered() as folder:
            commit = folder.find(called)
            if commit is None:
                folder.refuse_another()
                commit = folder.release(called, attempt(folder.header))
            return shown(folder, commit)

    def forget(self, user: Any) -> None:
        """Delete what the series keeps of a user: from the next release on it gives nothing, for ever.

        It is done when the call returns, and applied with the next release. Rows of this user are ignored
        from then on, also those of a user that has none yet. What was released stays. Scores keep what the
        user gave until the block ends, and numbers until it leaves their window; the guarantee covers that.
        Whether and when somebody is forgotten may depend on what was released and on the user's own rows, not
        on the rows of others; of numbers with ``unit="user-release"`` on no rows at all.

        Args:
            user: The user, as in the table; a tuple if several columns identify it. Text stands for the
                number, day, time (of ISO 8601) or UUID that it says as well, and these for their text. For
                days and times that Python does not have, give such a text or a `numpy.datetime64`.

        Raises:
            SeriesError: If the series is full (close it), in use or damaged.
            SchemaError: If it is no value that can be a user.
        """
        with self._entered() as folder:
            folder.forget(lambda secret: _mechanism.request_of(folder.header, secret, user))

    def status(self) -> SeriesStatus:
        """Return how many releases were made, and what is promised."""
        with self._entered() as folder:
            return status_of(folder, len(folder.commits))

    def card(self) -> SeriesCard:
        """Return a page to publish: what all releases together protect, their names and numbers of items."""
        with self._entered() as folder:
            items = (
                len(_mechanism.table_of(folder.header, folder.items_of(each))) for each in folder.commits
            )
            return SeriesCard(status_of(folder, len(folder.commits)), tuple(items))

    def check(self) -> CheckResult:
        """Derive the certificate of the series again, and go through its commits.

        Returns:
            Whether thresholds, caps and noise hold what the series promises. That all commits belong
            together is checked by every call.

        Raises:
            SeriesError: As for every call, if a file is missing or was changed.
        """
        with self._entered() as folder:
            differences = (_counts if self._has_counts else _mechanism).differences(folder.header)
        if differences:
            return CheckResult(ok=False, reason="\n".join(differences), differences=tuple(differences))
        return CheckResult(ok=True, reason="everything in it follows from what it promises")

    def close(self, *, forever: bool = False) -> None:
        """Destroy the state of the series, and with it all that is kept of users. The lists stay.

        Nothing has to be closed after use. This ends the series: no further release can be made.

        Args:
            forever: ``True``, since nothing brings the state back.

        Raises:
            InvalidParameterError: If it is not ``True``.
        """
        if not as_flag("forever", forever):
            raise InvalidParameterError(
                "forever must be True: closing a series destroys its state, and no further release can be "
                "made; there is nothing to close after use"
            )
        with self._entered() as folder:
            folder.close()

    def __repr__(self) -> str:
        """Say where it is; the key is not shown."""
        return f"<dpsel.{type(self).__name__} in {self._files.shown}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse a pickle, which would have the key in it."""
        raise SeriesError("a series is not pickled, since its key would be; open it where it is needed")


def own_key(folder: Any, key: Any) -> tuple[Files, Key]:
    """Return a folder for a series, and its key, which is a new one if neither is there."""
    files = Files(folder)
    if isinstance(key, str | os.PathLike) and files.holds(as_name_of_file("key", key)):
        raise InvalidParameterError(
            "key must be a file outside of the folder: whoever has both reads all that is kept of users; "
            "keep it apart"
        )
    return files, key_of(key, may_be_made=not files.has(HEADER))


def checked_name(name: object) -> str:
    """Return the name of a release."""
    if not isinstance(name, str):
        raise InvalidParameterError(
            f"name must be a text, got {type_name(name)}; give a str such as '2026-W01'"
        )
    if not name or len(name) > _LONGEST_NAME or not is_unicode(name) or any(map(is_control, name)):
        raise InvalidParameterError(
            f"name must be one line of 1 to {_LONGEST_NAME} characters, got {quoted(name)}; give one such "
            "as '2026-W01', since it decides which list is shown"
        )
    return name


def status_of(folder: Folder, made: int) -> SeriesStatus:
    """Return where a series stood after so many releases."""
    header = folder.header
    return SeriesStatus(
        privacy=header.guarantee,
        releases=header.releases,
        names=tuple(commit.name for commit in folder.commits[:made]),
        max_items_per_user=header.max_items_per_user,
        user=tuple(header.user),
        item=tuple(header.item),
        prompt=header.prompt,
        is_closed=folder.is_closed,
        counts=header.counts,
    )
