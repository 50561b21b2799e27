"""Lemma 8 of docs/algorithms/series.md: whatever stops a process, what is shown is one run.

The protocol runs on a folder in memory. It is cut off before each system call that changes something, and the
next process finds all that was done, or any part of it that was not synchronised.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from disks import Cut, Disk, FilesInMemory
from dpsel.series._creation import started
from dpsel.series._folder import Inputs, Made
from dpsel.series._keys import Key
from dpsel.series._layout import HEADER
from dpsel.series._opening import entered
from dpsel.series._records import Header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

KEY = Key(bytes(range(32)))
RELEASES = 4


def header(identity: str) -> Header:
    return Header(identity, {"kind": "approx_dp", "epsilon": 1.0, "delta": 1e-6}, RELEASES, 5, ["u"], ["i"],
                  prompt=False, in_ledger=True, plan="{}")  # fmt: skip


@dataclass
class World:
    """What stays when processes end: the disk, a ledger, what was shown and promised, keys that were used."""

    disk: Disk = field(default_factory=Disk)
    booked: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    #: By the name of the release.
    shown: dict[str, bytes] = field(default_factory=dict)
    #: Deletions that were confirmed, each with the number of releases that were shown before.
    forgotten: dict[str, int] = field(default_factory=dict)
    keys: list[bytes] = field(default_factory=list)
    attempts: int = 0
    is_closed: bool = False

    def after(self, disk: Disk) -> World:
        return World(disk, list(self.booked), list(self.noted), dict(self.shown), dict(self.forgotten),
                     list(self.keys), self.attempts, self.is_closed)  # fmt: skip

    @property
    def files(self) -> FilesInMemory:
        return FilesInMemory(self.disk)

    def book(self, identity: str) -> None:
        self.disk.tick()
        if identity not in self.booked:
            self.booked.append(identity)

    def follow(self, identity: str, commits: Sequence[str]) -> None:
        """A ledger, which is on the disk when the call ends."""
        assert identity in self.booked
        assert self.noted == list(commits[: len(self.noted)]), "the folder is older than the ledger"
        if len(commits) > len(self.noted):
            self.disk.tick()
            self.noted = list(commits)

    def attempt(self, table: str) -> Callable[[Inputs], Made]:
        """A mechanism whose state is its whole history."""

        def run(inputs: Inputs) -> Made:
            self.attempts += 1
            noise = inputs.noise.raw
            assert noise not in self.keys
            self.keys.append(noise)
            history = [] if inputs.state is None else json.loads(inputs.secret.unseal(*inputs.state))
            items = f"{table} with {noise.hex()} after {len(history)}"
            history.append({"items": items, "forget": sorted(each.decode() for each in inputs.forget)})
            sealed = inputs.secret.seal(inputs.label, json.dumps(history).encode())
            return Made(sealed, items.encode())

        return run

    def create(self) -> None:
        started(self.files, KEY, header(f"identity {len(self.booked)} {self.attempts}"), self.book)

    def release(self, name: str) -> None:
        """What is shown here is known for ever."""
        with entered(self.files, KEY, self.follow) as folder:
            commit = folder.find(name) or folder.release(
                name, self.attempt(f"{name} of table {self.attempts}")
            )
            items = folder.items_of(commit)
        assert self.shown.setdefault(name, items) == items, "two lists of one name"

    def forget(self, user: str) -> None:
        with entered(self.files, KEY, self.follow) as folder:
            made = len(folder.commits)
            folder.forget(lambda _: user.encode())
        self.forgotten[user] = made

    def close(self) -> None:
        with entered(self.files, KEY, self.follow) as folder:
            folder.close()
        self.is_closed = True

    def refuse_two_runs(self) -> None:
        """What was shown is in the one history that goes on, and so is what was promised."""
        with entered(self.files, KEY, self.follow) as folder:
            commits = [folder.items_of(commit).decode() for commit in folder.commits]
            secret = folder.secrets.states
            sealed = folder._inputs(secret).state if secret else None
            names = [commit.name for commit in folder.commits]
            waiting, is_closed = len(folder.requests), folder.is_closed
        assert [commits[names.index(name)].encode() for name in self.shown] == list(self.shown.values())
        assert is_closed or not self.is_closed
        if is_closed:
            assert sealed is None
            assert {name.partition("-")[0] for name in self.files.names()} <= {
                "header.json", "closed", "commit", "log.jsonl"
            }  # fmt: skip
            return
        history = json.loads(secret.unseal(*sealed)) if secret and sealed else []
        assert [each["items"] for each in history] == commits
        for user, made in self.forgotten.items():
            applied = {name for each in history[made : made + 1] for name in each["forget"]}
            assert user in applied if len(history) > made else waiting
        states = [name for name in self.files.names() if name.startswith("state-")]
        assert len(states) == (1 if commits else 0)
        assert not [name for name in self.files.names() if name.startswith("draft-")]


def play(world: World, steps: Sequence[tuple[str, ...]]) -> None:
    for name, *arguments in steps:
        getattr(world, name)(*arguments)


STORIES = {
    "create": [("create",)],
    "first": [("create",), ("release", "a")],
    "second": [("create",), ("release", "a"), ("release", "b")],
    "repeated": [("create",), ("release", "a"), ("release", "a")],
    "forget": [("create",), ("forget", "ada"), ("release", "a"), ("forget", "bob"), ("release", "b")],
    "close": [("create",), ("release", "a"), ("close",), ("release", "a")],
}


def cut(steps: Sequence[tuple[str, ...]], world: World, last: int) -> World | None:
    """The world in which a process ended before this call; nothing if it was done before."""
    world = world.after(world.disk.killed())
    world.disk.last = last
    try:
        play(world, steps)
    except Cut:
        return world
    return None


def worlds(steps: Sequence[tuple[str, ...]], world: World, *, power: bool) -> Iterator[World]:
    """Every world that a process which stops somewhere can leave."""
    for last in range(1_000):
        stopped = cut(steps, world, last)
        if stopped is None:
            return
        yield stopped.after(stopped.disk.killed())
        if power:
            yield from (stopped.after(disk) for disk in stopped.disk.without_power())


def goes_on(world: World, steps: Sequence[tuple[str, ...]]) -> None:
    """What is found is what was promised; another process repeats everything, and makes one more release."""
    if world.files.has(HEADER):
        world.refuse_two_runs()
    if ("close",) in steps:
        play(world, steps)
        world.refuse_two_runs()
    else:
        play(world, [*steps, ("release", "last")])
        world.refuse_two_runs()
        assert not [name for name in world.files.names() if name.startswith("forget-")]
    assert len(world.booked) == 1


@pytest.mark.parametrize("story", STORIES)
def test_one_crash_anywhere(story) -> None:
    seen = 0
    for world in worlds(STORIES[story], World(), power=True):
        goes_on(world, STORIES[story])
        seen += 1
    assert seen > 20


@pytest.mark.long("some ten thousand crashes")
@pytest.mark.parametrize("story", ["first", "forget"])
def test_two_crashes_anywhere(story) -> None:
    for world in worlds(STORIES[story], World(), power=False):
        for again in worlds(STORIES[story], world, power=story == "first"):
            goes_on(again, STORIES[story])
