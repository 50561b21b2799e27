"""A series of releases at one price: norms for life, walks over blocks of releases, arrivals that may wait.

All numbers are integers. The noise is a function that the caller gives, so it may be drawn, enumerated, or
made from words of a key.

With `watched`, this is the middle process of the proof (`docs/algorithms/series.md`): everybody reacts to the
lists that count what the watched user gives as noise.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

FULL = 256

#: Rows of one release: what each user brings.
Rows = dict[Hashable, frozenset]
#: The rows of a release, from its number (from 0) and all lists before it.
Stream = Callable[[int, list[frozenset]], Rows]
#: The noise of a release, a round and an item, in grid steps.
Noise = Callable[[int, int, Hashable], int]


@dataclass
class Walk:
    """One item in the running block."""

    #: All noisy values, added up.
    score: int = 0
    #: What all users but the watched one gave.
    others: int = 0
    #: What the watched user gave or, where it is absent, would have given.
    watched: int = 0
    #: 0 is final until the next block.
    importance: int = FULL
    #: What a user would have given by now, if only importances counted.
    exposure: int = 0


@dataclass
class Account:
    """One user."""

    #: What is left of the square of the norm.
    left: int
    #: The number of the first release with a row of this user.
    first: int
    seen: set = field(default_factory=set)
    #: Pairs without a rank, in order of arrival.
    queue: list = field(default_factory=list)
    ranks: dict = field(default_factory=dict)
    #: What each item got from this user in the running block.
    given: dict = field(default_factory=lambda: defaultdict(int))


def evenly(left: int, age: int, remaining: int) -> int:
    """What a user may spend in a release: the same in all that remain."""
    del age
    return left // remaining


def falling(pace: list[int]) -> Callable[[int, int, int], int]:
    """Spending that falls with the age of a user like these numbers."""

    def spend(left: int, age: int, remaining: int) -> int:
        return left * pace[age - 1] // sum(pace[age - 1 : age - 1 + remaining])

    return spend


def power(releases: int) -> list[int]:
    """The numbers for spending that falls like the power 1.1 of the age."""
    return [int(age**-1.1 * 2**40) for age in range(1, releases + 1)]


def always(walk: Walk, plan: Plan, release: int, done: int) -> int:
    """No steering: every item has the full importance."""
    del walk, plan, release, done
    return FULL


def root(numerator: int, denominator: int, bits: int = 30) -> int:
    """The square root of a quotient, times a power of two."""
    return math.isqrt((numerator << 2 * bits) // denominator)


def part(numerator: int, denominator: int) -> int:
    """A quotient, at most 1, times 2^16."""
    return min((numerator << 16) // denominator, 1 << 16)


def on_course(walk: Walk, plan: Plan, release: int, done: int) -> int:
    """Pauses items that are too far behind, and spares those that come to the threshold anyway.

    `done` counts the steps of the block so far. All numbers are integers, the same on every machine.
    """
    start, length = plan.block(release)
    every = length * plan.rounds
    if done == every:
        return walk.importance
    last, age = plan.threshold(length), release - start + 1
    below = 3 * plan.unit * root(done * (every - done), every * plan.rounds) >> 30
    bound = last * done // every - below
    if walk.score < bound:
        return 0
    chances = part(walk.score - bound, max(below, 1)) ** 2 >> 24
    # In fifths of steps.
    goal = max(6 * done, 5 * age * plan.rounds)
    target = plan.threshold(1) * root(goal, 5 * plan.rounds) >> 30
    target += 2 * plan.unit * root(goal - 5 * done, 5 * plan.rounds) >> 30
    prospect = FULL
    if walk.score >= target:
        prospect = 0
    elif walk.score > 0:
        ahead = (goal - 5 * done) * FULL * plan.weighing(release)
        share = part((target - walk.score) * 5 * walk.exposure, ahead * walk.score)
        prospect = math.isqrt(math.isqrt(share**5)) >> 12
    return max(min(chances, prospect), 1)


@dataclass(frozen=True)
class Plan:
    """What is fixed before the first row is read."""

    #: The first release of each block.
    blocks: tuple[int, ...]
    releases: int
    rounds: int
    #: The square of the norm of a user, for life: squares of grid steps, for noise of one `unit` a release.
    norm: int
    #: By the number of releases of the block so far.
    threshold: Callable[[int], int]
    #: The most that a pair may have got in the block, by the number of releases so far and its rank (from 1).
    cap: Callable[[int, int], int]
    reach: int
    #: Standard deviation of the noise of a release, in grid steps.
    unit: int = 1
    #: Whether pairs wait for the next block.
    waits: bool = True
    pace: Callable[[int, int, int], int] = evenly
    importance: Callable[[Walk, Plan, int, int], int] = always
    #: About what users give at full importance, by the number of the release.
    weighing: Callable[[int], int] = lambda _: 1
    #: The order in which new pairs of a user queue up.
    priority: Callable[[Hashable, Hashable], Any] = lambda _, item: str(item)

    def block(self, release: int) -> tuple[int, int]:
        """The first release of the block of a release, and the number of releases of this block."""
        start = max(first for first in self.blocks if first <= release)
        return start, min([first for first in self.blocks if first > start] + [self.releases]) - start


class Series:
    """One run; every call of `release` is the next release."""

    def __init__(self, plan: Plan, noise: Noise, watched: Hashable = None, *, present: bool = True) -> None:
        """`present` says whether the watched user's weights are in the scores."""
        self.plan, self.noise, self.watched, self.present = plan, noise, watched, present
        self.number = 0
        self.accounts: dict[Hashable, Account] = {}
        #: Users whose rows are ignored for ever, whether they had any or not.
        self.forgotten: set[Hashable] = set()
        self.walks: dict[Hashable, Walk] = {}
        self.lists: list[frozenset] = []
        self.out: frozenset = frozenset()
        self.out_before: frozenset = frozenset()
        #: Pairs of release and item that the watched user's weight decides.
        self.differences: list[tuple[int, Hashable]] = []
        #: Every noisy value that was drawn.
        self.values: dict[tuple[int, int, Hashable], int] = {}
        #: What the watched user gave, by release, round and item.
        self.watched_weights: dict[tuple[int, int, Hashable], int] = {}

    def release(self, rows: Rows, forget: Iterable[Hashable] = ()) -> frozenset:
        """Reads the rows of the next release and returns its new items."""
        self.begin()
        for user in forget:
            self.forget(user)
        for user, items in rows.items():
            self.arrive(user, items)
        allowances = self.allowances()
        for number in range(self.plan.rounds):
            self.round(number, allowances)
        new = self.decide()
        self.out |= new
        self.lists.append(new)
        self.number += 1
        return new

    @property
    def age(self) -> int:
        """The number of releases of the block, this one included."""
        return self.number - self.plan.block(self.number)[0] + 1

    def begin(self) -> None:
        """At the start of a block: nothing of the scores and totals stays."""
        if self.number not in self.plan.blocks:
            return
        self.walks = {}
        self.out_before = self.out
        for account in self.accounts.values():
            account.given.clear()

    def forget(self, user: Hashable) -> None:
        """The user gives nothing any more, also if it comes later; what it gave stays in the block."""
        self.forgotten.add(user)
        self.accounts.pop(user, None)

    def arrive(self, user: Hashable, items: frozenset) -> None:
        """New pairs queue up, in the order of priorities (here: of their names)."""
        if user in self.forgotten:
            return
        account = self.accounts.setdefault(user, Account(self.plan.norm, self.number))
        new = sorted(items - account.seen, key=lambda item: self.plan.priority(user, item))
        account.seen.update(new)
        account.queue += new

    def rank(self, account: Account) -> None:
        """Pairs in the queue get the next ranks, unless their item was out before the block."""
        for item in account.queue:
            if item not in self.out_before and len(account.ranks) < self.plan.reach:
                account.ranks[item] = len(account.ranks) + 1
        account.queue.clear()

    def allowances(self) -> dict:
        """Ranks what may be ranked, and returns what each user may spend in this release."""
        allowed = {}
        for user, account in self.accounts.items():
            if not self.plan.waits or self.number in self.plan.blocks:
                self.rank(account)
            age, remaining = self.number - account.first + 1, self.plan.releases - self.number
            allowed[user] = self.plan.pace(account.left, age, remaining)
        return allowed

    def walk(self, item: Hashable) -> Walk:
        """The walk of an item since the start of the block, also of releases in which nobody held it."""
        if item not in self.walks:
            walk = self.walks[item] = Walk()
            for release in range(self.first_release_of_noise(), self.number):
                for number in range(self.plan.rounds):
                    self.observe(walk, item, release, number, 0)
        return self.walks[item]

    def first_release_of_noise(self) -> int:
        """The noise of an item that appears now begins here."""
        return self.plan.block(self.number)[0]

    def observe(self, walk: Walk, item: Hashable, release: int, number: int, weight: int) -> None:
        """One noisy value, and the importance that follows from all of them."""
        if not walk.importance:
            return
        value = weight + self.noise(release, number, item)
        self.values[release, number, item] = value
        walk.score += value
        walk.exposure += self.plan.weighing(release) * walk.importance
        done = (release - self.plan.block(release)[0]) * self.plan.rounds + number + 1
        walk.importance = self.plan.importance(walk, self.plan, release, done)

    def weights(self, account: Account, allowance: int) -> dict:
        """What a user gives in a round; the squares of a release add up to `allowance / rounds` at most.

        Never less than 0, also where totals were rounded up beyond the cap; 0 where all items are paused.
        """
        importances = {item: self.walk(item).importance for item in account.ranks if item not in self.out}
        squares = sum(importance**2 for importance in importances.values())
        norm = math.isqrt(allowance) // self.plan.rounds
        scale = math.isqrt((norm << 10) ** 2 // squares) if squares else 0
        weights = {}
        for item, importance in importances.items():
            cap = self.plan.cap(self.age, account.ranks[item]) - account.given[item]
            weights[item] = max(min(importance * scale >> 10, cap), 0)
        return weights

    def round(self, number: int, allowances: dict) -> None:
        """Every user gives, and every item that is not paused gets noise."""
        sums: dict = defaultdict(int)
        given = {user: self.weights(self.accounts[user], allowed) for user, allowed in allowances.items()}
        for user, weights in given.items():
            account = self.accounts[user]
            account.left -= self.plan.rounds * sum(weight**2 for weight in weights.values())
            for item, weight in weights.items():
                account.given[item] += weight
                self.book(user, number, item, weight)
                if user != self.watched or self.present:
                    sums[item] += weight
        for item, walk in self.walks.items():
            self.observe(walk, item, self.number, number, sums[item])

    def book(self, user: Hashable, number: int, item: Hashable, weight: int) -> None:
        """Keeps apart what the watched user gives."""
        walk = self.walks[item]
        if user != self.watched:
            walk.others += weight
            return
        walk.watched += weight
        self.watched_weights[self.number, number, item] = weight

    def decide(self) -> frozenset:
        """The new items: not paused, at the threshold, and not by noise alone."""
        threshold, new = self.plan.threshold(self.age), set()
        for item, walk in self.walks.items():
            if item in self.out or not walk.importance or walk.score < threshold:
                continue
            passes = walk.score - walk.others < threshold
            if passes != (walk.score - walk.others - walk.watched < threshold):
                self.differences.append((self.number, item))
            if passes:
                new.add(item)
        return frozenset(new)


def play(series: Series, stream: Stream) -> Series:
    """All releases of a stream."""
    for number in range(series.plan.releases):
        series.release(stream(number, list(series.lists)))
    return series


def without(stream: Stream, user: Hashable) -> Stream:
    """The neighbouring stream, without one user."""
    return lambda number, lists: {
        other: items for other, items in stream(number, lists).items() if other != user
    }
