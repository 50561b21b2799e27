"""What would a look at the slots that Matching fills choose? The score of `docs/algorithms/matching_or.md`.

`python -m benches.auto FOLDER --look` prints a line for each data set and epsilon. The limit is the least of
`LIMITS` that is no smaller than the mean list. The columns:

- filled: the items that `Matching` fills over those that many hold, both softly;
- the items of `Matching(screening=True)` over those of `Steered(reach=3)`;
- chance: how likely the look chooses the former;
- the expected items of that choice, and those of "auto" as it is, over those of the best.

A look for a share of epsilon is taken to cost the same share of the items. Measured: two per cent of epsilon
are 1.5 per cent of the items of `Steered` and 2.1 of `Matching`, on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import dpsel
from benches import tables
from benches.releases import DELTAS, Data, Figures
from dpsel._request._auto import resolve
from dpsel._request._task_requests import selection_request

if TYPE_CHECKING:
    from collections.abc import Iterable

LIMITS = (3, 10, 30, 100, 300)
#: Below this limit Steered keeps three times as many items and wins on short lists as well.
LEAST_LIMIT = 4
#: `Matching` is chosen where more is filled than held, by so many scales of the noise.
MARGIN = 1.0
#: The most items of a user that the look sees. Users of so many fill no slot.
SEEN = 16
#: The part of epsilon of the look, at an epsilon of 1.
SHARE = 0.005
SHORT, LONG = dpsel.Matching(screening=True), dpsel.Steered(reach=3)
RIVALS = (SHORT, dpsel.Matching(), LONG, dpsel.Sips(release="curve"))


@dataclass(frozen=True)
class Look:
    """The numbers of a look without noise, both in items, and the scale of the noise in the score."""

    filled: float
    held: float
    scale: float

    def chance(self) -> float:
        """How likely the score with noise is above the margin."""
        above = (self.filled - self.held) / self.scale - MARGIN
        return 1 - math.exp(-above) / 2 if above > 0 else math.exp(above) / 2


def limit_of(data: Data) -> int:
    mean = len(data.table) / data.users
    return next((limit for limit in LIMITS if limit >= mean), LIMITS[-1])


def look_at(data: Data, epsilon: float, limit: int) -> Look:
    """Levels with a quota of slots for each item, and holders, both of kept lists."""
    users, items = kept(data, SEEN)
    quota = quota_of(epsilon, limit)
    few = np.bincount(users)[users] < SEEN
    levels = filled_slots(users[few], items[few], quota)
    held = np.clip((np.bincount(items) - max(quota / 8, 1)) / (6 * quota), 0, 1).sum()
    filled = np.clip((levels / quota - 0.25) / 0.75, 0, 1).sum()
    return Look(float(filled), float(held), SEEN / 6 / (quota * share_of(epsilon) * epsilon))


def share_of(epsilon: float) -> float:
    return SHARE / math.sqrt(epsilon)


def quota_of(epsilon: float, limit: int) -> int:
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=DELTAS[epsilon])
    first = selection_request(privacy, limit, SHORT, with_weights=False, counts=None).calibrate()["rounds"][0]
    return int(first["weighting"]["matching"]["quota"])


def kept(data: Data, limit: int) -> tuple[Any, Any]:
    """Users and items of rows, with random items of users of more than the limit."""
    users, items = (data.table[name].to_numpy().astype(np.int64) for name in ("user", "item"))
    order = np.lexsort((np.random.default_rng(1).random(len(users)), users))
    users, items = users[order], items[order]
    first = np.flatnonzero(np.r_[True, users[1:] != users[:-1]])
    place = np.arange(len(users)) - np.repeat(first, np.diff(np.r_[first, len(users)]))
    return users[place < limit], items[place < limit]


def filled_slots(users: Any, items: Any, quota: int) -> Any:
    """The level of each item. Slots are offered item by item, in a random order."""
    many = int(items.max(initial=-1)) + 1
    holders = users[np.argsort(items, kind="stable")].tolist()
    ends = np.searchsorted(np.sort(items), np.arange(many + 1)).tolist()
    slots = Slots(holders, ends, [-1] * (int(users.max(initial=-1)) + 1), ends[:-1], bytearray(many))
    levels = np.zeros(many, dtype=np.int64)
    for item in np.random.default_rng(1).permutation(many).tolist():
        while levels[item] < quota and slots.fill(item):
            levels[item] += 1
    return levels


@dataclass
class Slots:
    """Which item's slot each user fills, and where each item's free users begin."""

    holders: list[int]
    ends: list[int]
    fills: list[int]
    next_free: list[int]
    closed: bytearray

    def free_user(self, item: int) -> int:
        at, end = self.next_free[item], self.ends[item + 1]
        while at < end and self.fills[self.holders[at]] >= 0:
            at += 1
        self.next_free[item] = at
        return self.holders[at] if at < end else -1

    def fill(self, item: int) -> bool:
        """Fill one more slot of the item, if users can move so that all others stay filled."""
        if self.closed[item]:
            return False
        came: dict[int, tuple[int, int]] = {item: (-1, -1)}
        reached = [item]
        for each in reached:
            if (free := self.free_user(each)) >= 0:
                self.move(free, each, came)
                return True
            for user in self.holders[self.ends[each] : self.ends[each + 1]]:
                other = self.fills[user]
                if other not in came and not self.closed[other]:
                    came[other] = (each, user)
                    reached.append(other)
        for each in reached:
            self.closed[each] = 1
        return False

    def move(self, user: int, item: int, came: dict[int, tuple[int, int]]) -> None:
        """Give the free user a slot of the item, and each user before it on the path the slot before."""
        while user >= 0:
            self.fills[user] = item
            item, user = came[item]


def table(figures: Figures, sets: Iterable[Data], epsilons: Iterable[float]) -> str:
    """Measure what is missing, and one line for each set and epsilon."""
    lines, shares = [], []
    epsilons = list(epsilons)
    for data in sets:
        limit = limit_of(data)
        for epsilon in epsilons:
            auto = resolve("auto", dpsel.ApproxDP(epsilon=epsilon, delta=DELTAS[epsilon]), limit)[0]
            for mechanism in (*RIVALS, auto):
                figures.measure(data, epsilon, limit, mechanism)
            sizes = {repr(each): figures.mean_of(data.name, epsilon, limit, each) or 0 for each in RIVALS}
            best, look = max(*sizes.values(), 1), look_at(data, epsilon, limit)
            chance = look.chance() if limit >= LEAST_LIMIT else 0.0
            price = 1 - share_of(epsilon) if limit >= LEAST_LIMIT else 1.0
            short, long = sizes[repr(SHORT)], sizes[repr(LONG)]
            expected = price * (chance * short + (1 - chance) * long) / best
            today = (figures.mean_of(data.name, epsilon, limit, auto) or 0) / best
            shares.append(expected)
            ratios = (look.filled / max(look.held, 1), short / max(long, 1), chance, expected, today)
            lines.append((data.name, limit, f"{epsilon:g}", *(f"{ratio:.2f}" for ratio in ratios)))
    head = ("data", "limit", "ε", "filled", "Matching / Steered", "chance", "look / best", "today / best")
    mean = math.exp(sum(map(math.log, shares)) / len(shares)) if shares else math.nan
    return f"{tables.markdown(head, lines)}\n\ngeometric mean {mean:.3f}, worst {min(shares, default=1):.3f}"
