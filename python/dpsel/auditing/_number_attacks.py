"""Attacks on items with numbers: releases as they ship, on disjoint copies of small tables.

The added user also has public items. Their numbers show how far it moves numbers, whatever else comes out.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._request import selection_request
from dpsel.accounting._privacy import uncharged
from dpsel.auditing._bounds import JointCounts
from dpsel.auditing._events import Samples, choose
from dpsel.auditing._exact import moved_numbers
from dpsel.auditing._neighbours import Neighbours
from dpsel.auditing._sampling import copies_at_once
from dpsel.auditing._scored import gaussian_epsilon
from dpsel.auditing._search import Claim, LowerBounds
from dpsel.release._wording import quantity
from dpsel.selection import select_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpsel.accounting import ApproxDP, Counts
    from dpsel.mechanisms import SelectionMechanism

__all__ = [
    "LEVELS",
    "CountedSampler",
    "CountedTables",
    "NumberAttack",
    "on_items_with_numbers",
    "on_numbers",
]

#: Log-likelihoods are compared in steps of this.
_STEP: Final = 1 / 64
#: How likely an item of others is to be released without the user: about even odds tell most.
LEVELS: Final = (0.3, 0.5, 0.7)
#: The part of all rows that the first tables get.
_FIRST: Final = 0.4
#: How many times the limits of items and rows a user exceeds.
_EXCESS: Final = 4


@dataclass(frozen=True, slots=True)
class CountedTables:
    """Neighbouring tables, the last items of which are public."""

    neighbours: Neighbours
    public: int

    @property
    def size(self) -> int:
        """Number of rows or public items, whichever cost more, with the added user."""
        return max(self.neighbours.size, self.public)

    @property
    def first_public(self) -> int:
        """The place of the first public item."""
        return self.neighbours.width - self.public


@dataclass(frozen=True, slots=True)
class NumberAttack:
    """Pairs of neighbouring tables, and what is claimed about releases with numbers on them."""

    sampler: CountedSampler
    claim: Claim
    tables: tuple[CountedTables, ...]

    def run(self, rows: int, alpha: float, keys: Iterator[bytes] | None = None) -> LowerBounds:
        """Return the largest lower bounds, too large with a chance of ``alpha`` at most.

        Tests pass the keys of all calls.
        """
        each, others = alpha / (2 * len(self.tables)), max(1, len(self.tables) - 1)
        # The first ones are the usual worst.
        parts = [_FIRST] + [(1 - _FIRST) / others] * (len(self.tables) - 1)
        shown = [
            self._test(replace(self.sampler, keys=keys), tables, int(part * rows), each)
            for tables, part in zip(self.tables, parts, strict=True)
        ]
        first = max(shown, key=lambda found: (found.refutes(self.claim), found.epsilon, found.delta))
        return LowerBounds(first.tables, first.epsilon, max(found.delta for found in shown), first.samples)

    def _test(self, sampler: CountedSampler, tables: CountedTables, rows: int, alpha: float) -> LowerBounds:
        """Choose events on a quarter of the rows, and count them on the others."""
        epsilon, delta = self.claim.epsilon, self.claim.delta
        first = sampler.draw(tables, rows // 4)
        for_delta, for_epsilon = choose(first, first, epsilon, delta)
        fresh = sampler.draw(tables, rows - rows // 4)
        return LowerBounds(
            tables.neighbours,
            epsilon=JointCounts(*astuple(for_epsilon.count(fresh))).least_epsilon(delta, alpha),
            delta=JointCounts(*astuple(for_delta.count(fresh))).least_delta(epsilon, alpha),
            samples=fresh.with_user.total(),
        )


def on_items_with_numbers(mechanism: SelectionMechanism, privacy: ApproxDP, counts: Counts) -> NumberAttack:
    """Return the attack on the claim itself, for users of one item that is not public.

    Others have the item, so that it comes out with about even odds, or nobody else has it.
    """
    sampler = CountedSampler.of(mechanism, privacy, counts)
    rows, public = counts.max_rows_per_item or 1, sampler.most
    held = tuple(item for item in range(1 + public) for _ in range(rows))
    request = selection_request(privacy, 1, mechanism, counts=counts).json
    needed = _core_calls.users_needed(request, 1, list(LEVELS))
    levels = sorted({max(1, users - 1) for users in needed if users is not None})
    beside = "a public one" if public == 1 else f"{public} public ones"
    tables = [
        CountedTables(
            Neighbours(f"an item of {quantity(level, 'other')}, {beside}", ((level, (0,)),), held), public
        )
        for level in levels
    ]
    alone = Neighbours(f"an item of nobody else, {beside}", (), held)
    return NumberAttack(
        sampler, Claim(privacy.epsilon, privacy.delta), (*tables, CountedTables(alone, public))
    )


def on_numbers(mechanism: SelectionMechanism, privacy: ApproxDP, counts: Counts) -> NumberAttack:
    """Return the attack on the numbers alone, whose claim is that of a normal number which the user moves.

    The user has as many public items and rows as count whole, or more of either.
    """
    sampler = CountedSampler.of(mechanism, privacy, counts)
    claim = Claim(gaussian_epsilon(sampler.moved, privacy.delta), privacy.delta)
    rows = counts.max_rows_per_item or 1
    shapes = [(sampler.most, rows), (_EXCESS * sampler.most, rows)]
    if counts.max_rows_per_item:
        shapes.append((sampler.most, _EXCESS * rows))
    return NumberAttack(sampler, claim, tuple(_public(*shape) for shape in shapes))


def _public(items: int, rows: int) -> CountedTables:
    of = "number of a public item" if items == 1 else f"numbers of {items} public items"
    name = f"the {of}" + (f", in {rows} rows each" if rows > 1 else "")
    held = tuple(item for item in range(items) for _ in range(rows))
    return CountedTables(Neighbours(name, (), held), items)


@dataclass(frozen=True, slots=True)
class CountedSampler:
    """Releases with numbers on disjoint copies of a gadget, of users of one item that is not public.

    Copies are independent, numbers as well as items. The outcome of a copy is the logarithm of how much
    likelier the user makes it, in steps; it is infinite if an item of nobody else comes out. A user of
    several rows and items counts as the mechanism of <https://dpsel.github.io/dpsel/algorithms/counts/> says.
    """

    mechanism: SelectionMechanism
    privacy: ApproxDP
    counts: Counts
    #: Items that count whole, and how far a user moves all numbers together.
    most: int
    moved: float
    keys: Iterator[bytes] | None = None

    @classmethod
    def of(cls, mechanism: SelectionMechanism, privacy: ApproxDP, counts: Counts) -> CountedSampler:
        """Return the sampler of a mechanism; users have one item that is not public."""
        most = counts.to_json(1)["max_counted_items"]
        return cls(mechanism, privacy, counts, most, moved_numbers(mechanism, privacy, 1, counts))

    @property
    def rows(self) -> int:
        """Rows of one item that count."""
        return self.counts.max_rows_per_item or 1

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise of a number."""
        return self.rows * math.sqrt(self.most) / self.moved

    def draw(self, tables: CountedTables, cost: int) -> Samples:
        """Return outcomes of as many copies as fit into ``cost`` rows."""
        copies = max(1, cost // tables.size)
        return Samples(
            self._outcomes(tables, copies, with_user=False), self._outcomes(tables, copies, with_user=True)
        )

    def _outcomes(self, tables: CountedTables, copies: int, *, with_user: bool) -> Counter[float]:
        at_once = copies_at_once(self.mechanism, copies, tables.size)
        users = tables.neighbours.users(at_once, with_user=with_user)
        found: Counter[float] = Counter()
        while copies > 0:
            number = min(at_once, copies)
            part = users[: len(users) // at_once * number]
            found.update(self._call(tables, part, number))
            copies -= number
        return found

    def _call(self, tables: CountedTables, users: list[Any], copies: int) -> list[float]:
        width, first = tables.neighbours.width, tables.first_public
        listed = [copy * width + item for copy in range(copies) for item in range(first, width)]
        items = select_partitions(
            # Without rows there would be no type of items.
            users or [(0, listed[:1])],
            privacy=uncharged(self.privacy),
            max_items_per_user=1,
            mechanism=self.mechanism,
            counts=self.counts,
            public_items=listed,
            insecure_test_key=next(self.keys) if self.keys else None,
        ).items
        numbers: list[dict[int, int]] = [{} for _ in range(copies)]
        for item, number, *_ in items:
            copy, place = divmod(item, width)
            numbers[copy][place] = number
        score = self._score(tables)
        return [score(each) for each in numbers]

    def _score(self, tables: CountedTables) -> Any:
        """Return what scores the numbers of one copy."""
        levels = dict(_levels(tables.neighbours.groups))
        odds = self._odds(max(levels.values(), default=0))
        held, shared = set(tables.neighbours.added), set(levels)
        own = held - shared - set(range(tables.first_public, tables.neighbours.width))

        def score(numbers: dict[int, int]) -> float:
            if any(item in numbers for item in own):
                return math.inf
            counted = [item for item in held if item in numbers]
            each = self.rows * min(1.0, math.sqrt(self.most / max(1, len(counted))))
            of_numbers = math.fsum(
                each * (numbers[item] - levels.get(item, 0) - each / 2) for item in counted
            )
            of_items = math.fsum(odds[item in numbers] for item in shared)
            return round((of_numbers / self.sigma**2 + of_items) / _STEP) * _STEP

        return score

    def _odds(self, level: int) -> tuple[float, float]:
        """Return the logarithms of how much likelier the user makes a missing item, and a released one."""
        if level == 0:
            return 0.0, 0.0
        request = selection_request(self.privacy, 1, self.mechanism, counts=self.counts).json
        before, after = _core_calls.keep_probabilities(request, 1, [level, level + 1])
        return math.log((1 - after) / (1 - before)), math.log(after / before)


def _levels(groups: Sequence[tuple[int, tuple[int, ...]]]) -> Iterator[tuple[int, int]]:
    """Yield each shared item and how many others have it."""
    return ((item, users) for users, items in groups for item in items)
