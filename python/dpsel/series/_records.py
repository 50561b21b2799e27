"""The header, the commits and the log of a series, as bytes."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel.accounting._privacy import of_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from dpsel.accounting import Privacy
    from dpsel.series._keys import Key

__all__ = ["FORMAT", "Commit", "Header", "digest_of", "log_of"]

#: The form of all files. Another one is refused.
FORMAT: Final = 1


def digest_of(content: bytes) -> str:
    """Return the digest of a file, which the next commit has in it."""
    return hashlib.sha256(content).hexdigest()


def _canonical(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Header:
    """What is fixed before the first row is read; all of it is public.

    Args:
        identity: Random signs that no other series has.
        privacy: The guarantee of all releases together, in numbers of JSON.
        releases: The most releases.
        max_items_per_user: The most pairs of one user that ever get weight in lists, and that count whole in
            numbers.
        user: The columns of the user.
        item: The columns of the item.
        prompt: Whether pairs are weighed at once, and not from the next block on.
        in_ledger: Whether a ledger has booked it, and knows of every release.
        plan: All integers, as the core wrote them.
        counts: What only numbers have: window, limits and unit. ``None`` for a series of lists.
    """

    identity: str
    privacy: dict[str, Any]
    releases: int
    max_items_per_user: int
    user: list[str]
    item: list[str]
    prompt: bool
    in_ledger: bool
    plan: str
    counts: dict[str, Any] | None = None

    def to_bytes(self) -> bytes:
        """Return the file."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        if self.counts is None:
            del fields["counts"]
        return _canonical({"format": FORMAT} | fields)

    @classmethod
    def of_bytes(cls, content: bytes) -> Self:
        """Return the header in a file.

        Raises:
            ValueError: If it is none of this version.
        """
        fields = json.loads(content)
        if fields.pop("format") != FORMAT or set(fields) | {"counts"} != set(cls.__slots__):
            raise ValueError
        return cls(**fields)

    def is_alike(self, other: Header) -> bool:
        """Whether both were asked for with the same arguments."""
        mine, others = ({name: getattr(each, name) for name in self.__slots__} for each in (self, other))
        drawn = ("identity", "plan")
        return all(mine[name] == others[name] for name in self.__slots__ if name not in drawn)

    @property
    def guarantee(self) -> Privacy:
        """The guarantee of all releases together."""
        return of_json(self.privacy)


@dataclass(frozen=True, slots=True)
class Commit:
    """One release. It has no time in it, and nothing that was computed from rows in the clear.

    Args:
        series: The identity of the series.
        number: The number of the release, from 1 on.
        name: The name that the caller gave.
        previous: The digest of the commit before it, or of the header.
        state: The name of the file of its state.
        state_tag: The keyed tag of that file.
        items: The sealed list.
    """

    series: str
    number: int
    name: str
    previous: str
    state: str
    state_tag: str
    items: bytes

    def to_bytes(self, key: Key) -> bytes:
        """Return the file, with a tag under this key."""
        body = self._body()
        return body + _tag(key, body)

    def _body(self) -> bytes:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return _canonical(fields | {"format": FORMAT, "items": base64.b64encode(self.items).decode()})

    @classmethod
    def of_bytes(cls, content: bytes, key: Key) -> Self:
        """Return the commit in a file.

        Raises:
            ValueError: If it is none, or was changed.
        """
        fields = json.loads(content.partition(b"\n")[0])
        items = base64.b64decode(fields.pop("items"), validate=True)
        if fields.pop("format") != FORMAT or set(fields) | {"items"} != set(cls.__slots__):
            raise ValueError
        commit = cls(items=items, **fields)
        if commit.to_bytes(key) != content:
            raise ValueError
        return commit


def _tag(key: Key, body: bytes) -> bytes:
    return _canonical({"tag": key.tag(b"commit", body)})


def log_of(header: bytes, commits: Sequence[tuple[Commit, str]]) -> bytes:
    """Return the public log: a line for the header and for each commit, with its digest."""
    lines: list[dict[str, Any]] = [{"series": Header.of_bytes(header).identity, "digest": digest_of(header)}]
    lines += [
        {"number": commit.number, "name": commit.name, "previous": commit.previous, "digest": digest}
        for commit, digest in commits
    ]
    return b"".join(map(_canonical, lines))
