"""A folder in memory that can be cut off before any system call, and may lose what was not synchronised."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpsel.exceptions import SeriesError
from dpsel.series._files import Files

if TYPE_CHECKING:
    from collections.abc import Iterator


class Cut(BaseException):
    """The process was killed, or the machine stopped."""


@dataclass(eq=False)
class Content:
    """The content of a file, whatever its names are."""

    data: bytes = b""
    is_durable: bool = False

    def after_a_crash(self) -> list[bytes]:
        """What may be found of it."""
        return [self.data] if self.is_durable else [b"", self.data[: len(self.data) // 2], self.data]


#: A change of names: the name, and what it leads to then; nothing if it is free.
Change = tuple[tuple[str, Content | None], ...]


@dataclass
class Disk:
    """What a machine has of a folder."""

    durable: dict[str, Content] = field(default_factory=dict)
    #: Changes of names that may be lost, in order.
    pending: list[Change] = field(default_factory=list)
    calls: int = 0
    #: The call before which everything ends.
    last: int | None = None

    def tick(self) -> None:
        """One system call."""
        if self.calls == self.last:
            raise Cut
        self.calls += 1

    @property
    def names(self) -> dict[str, Content]:
        """What programs see."""
        return applied(self.durable, self.pending)

    def change(self, *change: tuple[str, Content | None]) -> None:
        self.tick()
        self.pending.append(change)

    def killed(self) -> Disk:
        """The disk after a process was killed: nothing is lost."""
        return Disk(dict(self.durable), list(self.pending))

    def without_power(self) -> Iterator[Disk]:
        """Every disk that may be found when the machine starts again."""
        for kept in itertools.product((False, True), repeat=len(self.pending)):
            changes = [change for change, is_kept in zip(self.pending, kept, strict=True) if is_kept]
            names = applied(self.durable, changes)
            contents = list({id(content): content for content in names.values()}.values())
            for data in itertools.product(*(content.after_a_crash() for content in contents)):
                found = {
                    id(content): Content(each, is_durable=True)
                    for content, each in zip(contents, data, strict=True)
                }
                yield Disk({name: found[id(content)] for name, content in names.items()})


def applied(names: dict[str, Content], changes: list[Change]) -> dict[str, Content]:
    """The names after these changes."""
    after = dict(names)
    for name, content in itertools.chain.from_iterable(changes):
        after.pop(name, None)
        if content is not None:
            after[name] = content
    return after


class FilesInMemory(Files):
    """The system calls of `Files`, on such a disk."""

    def __init__(self, disk: Disk) -> None:
        self.disk, self.path, self.is_locked = disk, "/series", False

    @property
    def shown(self) -> str:
        return "'series'"

    def make(self) -> None: ...

    def own(self) -> None: ...

    def has(self, name: str) -> bool:
        return name in self.disk.names

    def names(self) -> list[str]:
        return sorted(self.disk.names)

    def read(self, name: str) -> bytes:
        if name not in self.disk.names:
            raise SeriesError(f"lacks {name}")
        return self.disk.names[name].data

    def write(self, name: str, content: bytes) -> None:
        assert name not in self.disk.names
        made = Content()
        self.disk.change((name, made))
        self.disk.tick()
        made.data = content

    def sync(self, name: str) -> None:
        self.disk.tick()
        self.disk.names[name].is_durable = True

    def sync_folder(self) -> None:
        self.disk.tick()
        self.disk.durable, self.disk.pending = self.disk.names, []

    def link(self, name: str, free: str) -> bool:
        if free in self.disk.names:
            return False
        self.disk.change((free, self.disk.names[name]))
        return True

    def replace(self, name: str, taken: str) -> None:
        self.disk.change((taken, self.disk.names[name]), (name, None))

    def remove(self, name: str) -> None:
        assert name in self.disk.names
        self.disk.change((name, None))

    @contextmanager
    def locked(self) -> Iterator[None]:
        yield
