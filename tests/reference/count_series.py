"""A series of numbers: what users count in releases, through a triangular matrix, with fresh noise in each.

All numbers are integers. The noise is a function that the caller gives, so it may be drawn, enumerated, or
made from words of a key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

#: Rows of one release: what each user brings.
Rows = dict[Hashable, frozenset]
#: The noise of a release and an item, in grid steps.
Noise = Callable[[int, Hashable], int]
#: The rows of a release, from its number (from 0) and all numbers before it.
Stream = Callable[[int, list[dict]], Rows]


@dataclass(frozen=True)
class Plan:
    """What is fixed before the first row is read."""

    releases: int
    #: The first column of the matrix K, in grid steps; 0 beyond.
    weights: tuple[int, ...]
    #: The first column of the matrix that makes numbers of noisy values, in parts of `decode[0]`.
    decode: tuple[int, ...]
    most_items: int
    most_releases: int
    #: Whether each release of a user is protected by itself.
    of_one_release: bool = False
    #: The order in which the items of a user are counted.
    priority: Callable[[Hashable, Hashable], Any] = lambda _, item: str(item)

    def weight(self, distance: int) -> int:
        """An entry of K below its diagonal by so much."""
        return self.weights[distance] if 0 <= distance < len(self.weights) else 0

    def norm_of(self, counted: Iterable[int]) -> int:
        """The square of the norm of what one user gives in one item, if it counts in these releases."""
        column = [
            sum(self.weight(release - before) for before in counted) for release in range(self.releases)
        ]
        return sum(each**2 for each in column)

    @property
    def norm(self) -> int:
        """The square of the norm that a user has."""
        return self.most_items * self.norm_of(range(self.most_releases))


@dataclass
class Series:
    """One run; every call of `release` is the next release."""

    plan: Plan
    noise: Noise
    number: int = 0
    #: The release in which each item was named.
    named: dict = field(default_factory=dict)
    #: The releases in which each user counts in each item.
    counted: dict = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    #: The same, also of accounts that are empty again.
    all_counted: dict = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    users: dict = field(default_factory=dict)
    noisy: dict = field(default_factory=dict)
    forgotten: set = field(default_factory=set)
    numbers: list = field(default_factory=list)

    def release(
        self, rows: Rows, named: Iterable[Hashable] = (), forget: Iterable[Hashable] = ()
    ) -> dict[Hashable, int]:
        """Reads the rows of the next release, and returns the number of each item."""
        for item in named:
            if item not in self.named:
                self.named[item], self.users[item], self.noisy[item] = self.number, [], []
        for user in forget:
            self.forgotten.add(user)
            self.counted.pop(user, None)
        if self.plan.of_one_release:
            self.counted.clear()
        found = dict.fromkeys(self.named, 0)
        for user, items in rows.items():
            for item in self.counts(user, items):
                found[item] += 1
        for item, users in found.items():
            self.users[item].append(users)
            self.noisy[item].append(self.noisy_value(item))
        self.numbers.append({item: self.number_of(item) for item in self.named})
        self.number += 1
        return self.numbers[-1]

    def counts(self, user: Hashable, items: frozenset) -> list:
        """The items in which a user counts in this release."""
        if user in self.forgotten:
            return []
        counted = []
        known = [item for item in items if item in self.named]
        for item in sorted(known, key=lambda item: self.plan.priority(user, item)):
            account = self.counted[user]
            if len(account[item]) >= self.plan.most_releases:
                continue
            account[item].append(self.number)
            if self.spent(user) > self.plan.norm:
                account[item].pop()
                continue
            self.all_counted[user][item].append(self.number)
            counted.append(item)
        return counted

    def spent(self, user: Hashable) -> int:
        """The square of the norm of all that a user gives, to the end of the series."""
        return sum(map(self.plan.norm_of, self.counted[user].values()))

    def noisy_value(self, item: Hashable) -> int:
        """The row of K times the users of an item, and noise."""
        users = self.users[item]
        exact = sum(self.plan.weight(age) * count for age, count in enumerate(reversed(users)))
        return exact + self.noise(self.number, item)

    def number_of(self, item: Hashable) -> int:
        """The number of an item, to the nearest whole one."""
        noisy = self.noisy[item]
        total = sum(y * part for y, part in zip(reversed(noisy), self.plan.decode, strict=False))
        unit = self.plan.weights[0] * self.plan.decode[0]
        return (total + unit // 2) // unit


def play(series: Series, stream: Stream, named: Iterable[Hashable]) -> Series:
    """All releases of a stream."""
    for number in range(series.plan.releases):
        series.release(stream(number, list(series.numbers)), named)
    return series


def without(stream: Stream, user: Hashable, release: int | None = None) -> Stream:
    """The neighbouring stream, without one user, or without its rows in one release."""

    def told(number: int, numbers: list[dict]) -> Rows:
        rows = stream(number, numbers)
        if release is not None and number != release:
            return rows
        return {other: items for other, items in rows.items() if other != user}

    return told
