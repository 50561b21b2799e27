"""The folder of a series: what is in it under its lock, and how a release is committed.

The order of the steps is that of [the page](https://dpsel.github.io/dpsel/algorithms/series/#state). Its
Lemma 8 rests on it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsel.exceptions import FileError, SeriesError
from dpsel.series._files import DRAFT, random_bytes
from dpsel.series._keys import Key, Secrets, wrapped
from dpsel.series._layout import CLOSED, KEY, LOG, NEW, changed, commit_name, key_label
from dpsel.series._records import Commit, Header, digest_of, log_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from dpsel.series._files import Files

    #: Refuses a folder that is older than a ledger knows, and notes its last commit there.
    Follow: TypeAlias = Callable[[str, Sequence[str]], None]
    #: Makes a release.
    Attempt: TypeAlias = Callable[["Inputs"], "Made"]

__all__ = ["Attempt", "Folder", "Follow", "Inputs", "Made"]


@dataclass(frozen=True, slots=True, repr=False)
class Inputs:
    """What a release is made of, apart from its rows. It is secret, and no variable shows it.

    Args:
        secret: The inner secret of digests and priorities, under which states are sealed.
        state: The label of the state after the release before, and this state, sealed; ``None`` for the first
            release.
        label: That of the state to come.
        noise: A key that no other attempt has.
        forget: The deletions that no release has applied.
    """

    secret: Key
    state: tuple[bytes, bytes] | None
    label: bytes
    noise: Key
    forget: list[bytes]


@dataclass(frozen=True, slots=True, repr=False)
class Made:
    """The sealed state after a release, and its list. Nobody may see it before it is committed."""

    state: bytes
    items: bytes


@dataclass(slots=True, repr=False)
class Folder:
    """What is in the folder of a series, as long as its lock is held.

    Args:
        files: The folder.
        key: That of the caller.
        header: The file of that name.
        secrets: The inner secrets.
        commits: All releases, in order.
        state: The sealed state of the last one; ``None`` before the first, and once the series is closed.
    """

    files: Files
    key: Key
    header: Header
    secrets: Secrets
    commits: list[Commit]
    digests: list[str]
    state: bytes | None
    requests: list[str]
    follow: Follow | None
    process: int

    @property
    def is_closed(self) -> bool:
        """Whether the states are gone for good."""
        return self.secrets.states is None

    def items_of(self, commit: Commit) -> bytes:
        """Return the list of a release."""
        try:
            return self.secrets.lists.unseal(self._label("list", commit.number), commit.items)
        except ValueError:
            changed(self.files, commit_name(commit.number))

    def find(self, name: str) -> Commit | None:
        """Return the release of this name."""
        return next((commit for commit in self.commits if commit.name == name), None)

    def refuse_another(self) -> None:
        """Refuse one more release, if there cannot be any."""
        if self.is_closed:
            raise SeriesError(
                f"the series in {self.files.shown} is closed, and its state is gone; name one of its "
                "releases, or create another series"
            )
        if len(self.commits) >= self.header.releases:
            raise SeriesError(
                f"the series in {self.files.shown} is full: it was made for {self.header.releases} "
                "releases, which its noise and its cost are for; create another series, at a cost of its own"
            )

    def release(self, name: str, attempt: Attempt) -> Commit:
        """Make the next release, and bring it to the disk; nothing of it is known to anybody before."""
        self.refuse_another()
        assert self.secrets.states is not None  # noqa: S101 - refused above
        number = len(self.commits) + 1
        made = attempt(self._inputs(self.secrets.states))
        if os.getpid() != self.process:
            raise SeriesError(
                "a series cannot be released by the copy that a fork made while rows were read; nothing "
                "was released here; fork before or after the call"
            )
        commit = Commit(
            series=self.header.identity,
            number=number,
            name=name,
            previous=self.digests[-1],
            state=f"state-{number:06}-{random_bytes(16).hex()}",
            state_tag=self.secrets.states.tag(b"state", made.state),
            items=self.secrets.lists.seal(self._label("list", number), made.items),
        )
        self._commit(commit, made.state)
        return commit

    def _inputs(self, secret: Key) -> Inputs:
        last, to_come = (self._label("state", len(self.commits) + more) for more in (0, 1))
        return Inputs(
            secret,
            None if self.state is None else (last, self.state),
            to_come,
            Key.drawn(),
            [self._request(secret, name) for name in self.requests],
        )

    def _request(self, secret: Key, name: str) -> bytes:
        try:
            return secret.unseal(self._label("forget", 0), self.files.read(name))
        except ValueError:
            changed(self.files, name)

    def _commit(self, commit: Commit, sealed: bytes) -> None:
        """State first, then the commit under a name that must be free, then the folder."""
        content = commit.to_bytes(self.secrets.lists)
        self.files.write(commit.state, sealed)
        self.files.sync(commit.state)
        self.files.sync_folder()
        if not self.files.put(commit_name(commit.number), content):
            self.files.remove(commit.state)
            raise SeriesError(
                f"another process made release {commit.number} of the series in {self.files.shown} "
                "meanwhile, so its lock does not work on this file system; this attempt is dropped; call "
                "release again"
            )
        self.files.sync_folder()
        self.commits.append(commit)
        self.digests.append(digest_of(content))
        applied, self.requests = self.requests, []
        self.note()
        # The list may be shown from here on. What is left is removed when the folder is opened next.
        with suppress(FileError):
            for request in applied:
                self.files.remove(request)
            self.tidy()

    def note(self) -> None:
        """Compare with the ledger, and note the last commit there."""
        if self.follow is not None:
            self.follow(self.header.identity, self.digests[1:])

    def forget(self, request: Callable[[Key], bytes]) -> None:
        """Bring a deletion to the disk, made with the secret; the next release applies it."""
        if self.secrets.states is None:
            # Nothing of any user is kept.
            return
        if len(self.commits) >= self.header.releases:
            raise SeriesError(
                f"the series in {self.files.shown} is full, so no release will apply a deletion; close it, "
                "which removes all that is kept of users"
            )
        sealed = self.secrets.states.seal(self._label("forget", 0), request(self.secrets.states))
        self.files.put(f"forget-{random_bytes(16).hex()}", sealed)
        self.files.sync_folder()

    def close(self) -> None:
        """Destroy all but the lists."""
        self.secrets = Secrets(self.secrets.lists, None)
        self.files.put(CLOSED, wrapped(self.key, key_label(CLOSED, self.digests[0]), self.secrets))
        self.files.sync_folder()
        self.tidy()

    def tidy(self) -> None:
        """Remove what no commit names, and make the log."""
        kept = {self.commits[-1].state} if self.commits and not self.is_closed else set()
        gone = (NEW, DRAFT, "state-", *((KEY, "forget-") if self.is_closed else ()))
        names = self.files.names()
        for name in names:
            if name.startswith(gone) and name not in kept:
                self.files.remove(name)
        log = log_of(self.header.to_bytes(), list(zip(self.commits, self.digests[1:], strict=True)))
        if LOG not in names or self.files.read(LOG) != log:
            self.files.put_over(LOG, log)

    def _label(self, what: str, number: int) -> bytes:
        return f"dpsel series {what} {self.header.identity} {number}".encode()
