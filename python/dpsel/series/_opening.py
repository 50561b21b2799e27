"""Opening the folder of a series: whatever does not fit is refused, and then nothing is removed."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from dpsel.exceptions import SeriesError
from dpsel.series._folder import Folder
from dpsel.series._keys import unwrapped
from dpsel.series._layout import (
    CLOSED,
    COMMIT,
    HEADER,
    KEY,
    LOG,
    NO_RECORD,
    changed,
    commit_name,
    key_label,
)
from dpsel.series._records import Commit, Header, digest_of, log_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpsel.series._files import Files
    from dpsel.series._folder import Follow
    from dpsel.series._keys import Key, Secrets

__all__ = ["entered"]


@contextmanager
def entered(files: Files, key: Key, follow: Follow | None) -> Iterator[Folder]:
    """Take the lock and read the folder: refuse what does not fit, and then remove what nobody needs."""
    if HEADER not in files.names():
        raise SeriesError(
            f"{files.shown} is the folder of no series, or of one whose creation did not end; make it with "
            "dpsel.Series.create"
        )
    with files.locked():
        found = _read(files, key, follow)
        files.sync(commit_name(len(found.commits)) if found.commits else HEADER)
        files.sync_folder()
        found.note()
        found.tidy()
        yield found


def _read(files: Files, key: Key, follow: Follow | None) -> Folder:
    names = files.names()
    content = files.read(HEADER)
    try:
        header = Header.of_bytes(content)
    except NO_RECORD:
        raise SeriesError(
            f"the header of the series in {files.shown} is none of this version of dpsel; restore it, or "
            "use the version that made it"
        ) from None
    which = CLOSED if CLOSED in names else KEY
    digests = [digest_of(content)]
    try:
        secrets = unwrapped(key, key_label(which, digests[0]), files.read(which))
    except ValueError:
        raise SeriesError(
            f"key does not open the series in {files.shown}: it is another key, or the header was changed; "
            "give the key that the series was created with"
        ) from None
    if (follow is not None) != header.in_ledger:
        _refuse_ledger(files, header)
    commits = _commits(files, names, header, secrets, digests)
    state = _state(files, commits, secrets)
    if LOG in names and not log_of(content, list(zip(commits, digests[1:], strict=True))).startswith(
        files.read(LOG)
    ):
        raise SeriesError(
            f"the folder {files.shown} is older than its '{LOG}', or the log was changed; restore the "
            "newest copy of the folder: two lists that share noise are not covered"
        )
    requests = [name for name in names if name.startswith("forget-")]
    return Folder(files, key, header, secrets, commits, digests, state, requests, follow, os.getpid())


def _refuse_ledger(files: Files, header: Header) -> NoReturn:
    if header.in_ledger:
        raise SeriesError(
            f"the series in {files.shown} is booked in a ledger, which tells whether the folder is an older "
            "copy; pass ledger="
        )
    raise SeriesError(f"no ledger has booked the series in {files.shown}; leave ledger= out")


def _commits(
    files: Files, names: Sequence[str], header: Header, secrets: Secrets, digests: list[str]
) -> list[Commit]:
    """Return all commits, and add their digests; each has the digest of the one before it."""
    numbers = sorted(int(match[1]) for match in map(COMMIT.fullmatch, names) if match)
    if numbers != list(range(1, len(numbers) + 1)):
        raise SeriesError(
            f"the series in {files.shown} lacks a commit; restore the folder from a copy that is as new"
        )
    commits: list[Commit] = []
    for number in numbers:
        content = files.read(commit_name(number))
        try:
            commit = Commit.of_bytes(content, secrets.lists)
        except NO_RECORD:
            changed(files, commit_name(number))
        if (commit.series, commit.number, commit.previous) != (header.identity, number, digests[-1]):
            changed(files, commit_name(number))
        commits.append(commit)
        digests.append(digest_of(content))
    return commits


def _state(files: Files, commits: Sequence[Commit], secrets: Secrets) -> bytes | None:
    """Return the sealed state of the last commit."""
    if not commits or secrets.states is None:
        return None
    sealed = files.read(commits[-1].state)
    if secrets.states.tag(b"state", sealed) != commits[-1].state_tag:
        changed(files, commits[-1].state)
    return sealed
