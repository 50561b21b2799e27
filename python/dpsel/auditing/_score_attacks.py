"""Attacks on mechanisms whose rounds add up to a score: they look at the published scores too.

Every attack runs releases as they ship, on disjoint copies of small tables.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from dpsel.accounting import ApproxDP
from dpsel.accounting._privacy import uncharged
from dpsel.auditing._bounds import JointCounts
from dpsel.auditing._events import Samples, choose
from dpsel.auditing._neighbours import Neighbours
from dpsel.auditing._sampling import copies_at_once
from dpsel.auditing._scored import gaussian_epsilon, scored
from dpsel.auditing._search import Claim, LowerBounds
from dpsel.mechanisms._base import item_bound
from dpsel.release._wording import quantity
from dpsel.selection import select_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpsel.accounting import Privacy
    from dpsel.auditing._sampling import Sampler
    from dpsel.auditing._scored import Scored
    from dpsel.mechanisms import SelectionMechanism

__all__ = ["Attack", "ScoreSampler", "attacks", "on_one_item", "on_users"]

#: A claim with a delta that samples can see. Where the limit is large, little of delta is for items of nobody
#: else, so scores of shared items need nearly all of it.
LOOSE: Final = ApproxDP(epsilon=1.0, delta=0.1)
LOOSE_BOUND: Final = 1000
#: A claim whose delta is mostly for items of nobody else, if users have one item. Then samples are cheapest.
ALONE: Final = ApproxDP(epsilon=4.0, delta=0.1)
ALONE_BOUND: Final = 1
#: Little noise, so that few samples show how far a user moves one item; and users who are capped.
CLEAR: Final = ApproxDP(epsilon=7.0, delta=0.1)
CLEAR_BOUND: Final = 100

#: Small tables have at most so many times the copies of the neighbours.
_MOST_COPIES: Final = 30
#: Scores are compared in steps of this many standard deviations.
_STEP: Final = 1 / 16


@dataclass(frozen=True, slots=True)
class Attack:
    """Pairs of neighbouring tables, and what is claimed about them.

    ``tables`` come with the part of all rows that they get; ``rounds`` are those of the releases.
    """

    mechanism: SelectionMechanism
    privacy: Privacy
    bound: int
    claim: Claim
    tables: Sequence[tuple[Neighbours, float]]
    rounds: Scored

    def run(self, rows: int, alpha: float, keys: Iterator[bytes] | None = None) -> LowerBounds:
        """Return the largest lower bounds, too large with a chance of ``alpha`` at most.

        Tests pass the keys of all calls.
        """
        sampler = self.sampler(keys)
        each = alpha / (2 * len(self.tables))
        shown = [self._test(sampler, tables, int(part * rows), each) for tables, part in self.tables]
        first = max(shown, key=lambda found: (found.refutes(self.claim), found.delta, found.epsilon))
        return replace(first, epsilon=max(found.epsilon for found in shown))

    def sampler(self, keys: Iterator[bytes] | None) -> Sampler:
        """Return what draws outcomes on the tables."""
        return ScoreSampler(self.mechanism, self.privacy, self.bound, self.rounds, keys)

    def _test(self, sampler: Sampler, tables: Neighbours, rows: int, alpha: float) -> LowerBounds:
        """Choose events on a quarter of the rows, and count them on the others."""
        epsilon, delta = self.claim.epsilon, self.claim.delta
        first = sampler.draw(tables, rows // 4)
        for_delta, for_epsilon = choose(first, first, epsilon, delta)
        fresh = sampler.draw(tables, rows - rows // 4)
        return LowerBounds(
            tables,
            epsilon=JointCounts(*astuple(for_epsilon.count(fresh))).least_epsilon(delta, alpha),
            delta=JointCounts(*astuple(for_delta.count(fresh))).least_delta(epsilon, alpha),
            samples=fresh.with_user.total(),
        )


def attacks(mechanism: SelectionMechanism, privacy: ApproxDP | None, bound: int | None) -> Iterator[Attack]:
    """Return attacks on the whole claim, and on the most that a user may add to the score of one item."""
    yield on_users(mechanism, privacy or LOOSE, bound or LOOSE_BOUND)
    if bound is None:
        yield on_users(mechanism, privacy or ALONE, ALONE_BOUND)
    if attack := on_one_item(mechanism, privacy or CLEAR, bound or CLEAR_BOUND):
        yield attack


def on_users(mechanism: SelectionMechanism, privacy: ApproxDP, bound: int) -> Attack:
    """Return the attack on the claim itself."""
    rounds = scored(mechanism, privacy, bound)
    claim = Claim(privacy.epsilon, privacy.delta)
    tables = _of_users(rounds, item_bound(mechanism, bound))
    return Attack(mechanism, privacy, bound, claim, tables, rounds)


def on_one_item(mechanism: SelectionMechanism, privacy: ApproxDP, bound: int) -> Attack | None:
    """Return the attack on the most that a user of all items that it may keep adds to the score of one.

    The claim is that of a normal number that moves by the cap. ``None`` if the cap is a user's whole weight.
    """
    rounds = scored(mechanism, privacy, bound)
    kept = item_bound(mechanism, bound)
    size = rounds.size(kept)
    if size.cap >= size.norm:
        return None
    claim = Claim(gaussian_epsilon(size.cap / rounds.sigma, privacy.delta), privacy.delta)
    return Attack(
        mechanism, privacy, bound, claim, ((_of_one_item(rounds, kept, claim.epsilon), 1.0),), rounds
    )


def _of_users(rounds: Scored, bound: int) -> tuple[tuple[Neighbours, float], ...]:
    """Return tables in which a user moves shared scores, or has items of nobody else."""
    items = "an item" if bound == 1 else f"{bound} items"
    shared, alone = _shared(rounds.level, 1), Neighbours(f"{items} of nobody else", (), tuple(range(bound)))
    repeated = Neighbours("an item of nobody else in 9 rows", (), (0,) * 9)
    too_many = Neighbours("more items of nobody else than the limit", (), tuple(range(4 * bound)))
    if bound == 1:
        return ((shared, 0.08), (alone, 0.12), (repeated, 0.03), (too_many, 0.03))
    several = _shared(rounds.level, min(4, bound))
    return ((shared, 0.76), (several, 0.07), (alone, 0.12), (repeated, 0.02), (too_many, 0.02))


def _shared(level: int, number: int) -> Neighbours:
    items = tuple(range(number))
    of_whom = "score of an item" if number == 1 else f"scores of {number} items"
    return Neighbours(
        f"the {of_whom} of {quantity(level, 'other')}", tuple((level, (item,)) for item in items), items
    )


def _of_one_item(rounds: Scored, bound: int, epsilon: float) -> Neighbours:
    """Return tables in which a user of many items spends as much as it may on one.

    All other items of the user are in such demand that they need no weight. They are the same in all copies,
    so copies can influence each other through them. But whatever happens there, the user moves the score by
    the cap at most if the claim holds. So the numbers of events are no further apart than those of
    independent copies of a score that is moved by the cap, for which the bounds hold.
    """
    moved = rounds.size(bound).cap
    # Where the laws of the score with and without the user are e^epsilon apart, it must be published.
    apart = rounds.sigma**2 * epsilon / moved + moved / 2
    fewest = max(1, math.ceil((rounds.threshold - apart) / rounds.size(1).cap))
    name = f"the score of an item of {quantity(fewest, 'other')}, and a user of {quantity(bound, 'item')}"
    return Neighbours(name, ((fewest, (0,)),), (0,), common=bound - 1)


@dataclass(frozen=True, slots=True)
class ScoreSampler:
    """Releases with scores on disjoint copies of a gadget; the cost is in rows.

    The outcome of a copy is the sum of the scores of the added user's shared items, in steps; it is infinite
    if an item of nobody else comes out. An item that does not come out counts as if it had the threshold.
    """

    mechanism: SelectionMechanism
    privacy: Privacy
    max_items_per_user: int
    rounds: Scored
    keys: Iterator[bytes] | None = None

    def draw(self, tables: Neighbours, cost: int) -> Samples:
        """Return outcomes of as many copies as fit into ``cost`` rows, counted for either table alone."""
        copies = max(1, cost // (tables.size + tables.common))
        without = tables.size - len(tables.added)
        # Any number of copies of the empty table are an empty table.
        more = min(_MOST_COPIES * copies, cost // without if without else _MOST_COPIES * copies)
        return Samples(
            self._outcomes(tables, max(copies, more), with_user=False),
            self._outcomes(tables, copies, with_user=True),
        )

    def _outcomes(self, tables: Neighbours, copies: int, *, with_user: bool) -> Counter[float]:
        size = (tables.size + tables.common) if with_user else tables.size - len(tables.added)
        at_once = copies_at_once(self.mechanism, copies, size)
        users = tables.users(at_once, with_user=with_user)
        found: Counter[float] = Counter()
        while copies > 0:
            number = min(at_once, copies)
            part = users if number == at_once else tables.users(number, with_user=with_user)
            found.update(self._call(tables, part, number))
            copies -= number
        return found

    def _call(self, tables: Neighbours, users: list[Any], copies: int) -> list[float]:
        items = select_partitions(
            users,
            privacy=uncharged(self.privacy),
            max_items_per_user=self.max_items_per_user,
            mechanism=self.mechanism,
            with_weights=True,
            insecure_test_key=next(self.keys) if self.keys else None,
        ).items
        width, threshold = tables.width, self.rounds.threshold
        shared = {item for _, held in tables.groups for item in held}
        looked_at, above = shared & set(tables.added), [0.0] * copies
        for item, score in items:
            copy, place = divmod(item, width)
            if copy < copies and place in looked_at:
                above[copy] += score - threshold
            elif copy < copies and place not in shared:
                above[copy] = math.inf
        step = _STEP * self.rounds.sigma
        return [each if each == math.inf else round(each / step) * step for each in above]
