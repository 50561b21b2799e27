"""The audit of a top-k that sorts noisy counts: all counts of what was selected, in order.

The answer of all items with their counts is a selection with counts, sorted. So it shows the most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._request import selection_request, top_k_request
from dpsel.accounting import Counts
from dpsel.accounting._privacy import uncharged
from dpsel.auditing._exact import TOLERANCE, Needed, epsilon_for, excess
from dpsel.auditing._neighbours import Neighbours
from dpsel.auditing._number_attacks import LEVELS, CountedSampler, CountedTables, NumberAttack
from dpsel.auditing._published_scores import Published, levels_of
from dpsel.auditing._scored import rounds_of
from dpsel.auditing._search import Claim
from dpsel.mechanisms import SelectAndCount, Steered
from dpsel.release._wording import quantity
from dpsel.top_k import select_top_k

if TYPE_CHECKING:
    from dpsel.accounting import ApproxDP
    from dpsel.auditing._exact import Curve

__all__ = ["on_sorted_counts", "worst_of_sorted_counts"]

#: More than there are.
_ALL: Final = 10_000_000
#: A share at which counts of one item show most.
_SHARE: Final = 0.8
#: How far beyond the threshold the users lift the item, in standard deviations of a score.
_LIFTS: Final = (-3.0, -2.0, -1.0)


def worst_of_sorted_counts(mechanism: SelectAndCount, privacy: ApproxDP, bound: int) -> Needed:
    """Return what a user of one item needs, which some others have and nothing else.

    The item comes out with its count or not at all. One item counts whole here, so that all of the noise is
    about it.
    """
    asked = replace(mechanism, max_counted_items=1)
    found = top_k_request(1, privacy, asked, bound=bound).calibrate()["discovery"]
    rounds, moved = rounds_of(found["rounds"]), 1 / float(found["counts"]["noise"]["sigma"])

    def shared(users: int) -> Curve:
        fewer, more = (1 - Published(rounds, number).outcomes[-1] for number in (users, users + 1))

        def curve(epsilon: float) -> float:
            there = excess(more, fewer, epsilon, moved) + excess(1 - more, 1 - fewer, epsilon, 0.0)
            back = excess(fewer, more, epsilon, moved) + excess(1 - fewer, 1 - more, epsilon, 0.0)
            return max(there, back)

        return curve

    curves = [shared(users) for users in levels_of(rounds, _LIFTS) if users > 0]
    return Needed(
        "1 item of some others",
        max(epsilon_for(curve, privacy.delta + TOLERANCE) for curve in curves),
        max(curve(privacy.epsilon) for curve in curves),
    )


def on_sorted_counts(mechanism: SelectAndCount, privacy: ApproxDP) -> NumberAttack:
    """Return the attack on the claim, for users of one item, which others have or nobody else."""
    asked = replace(mechanism, share=_SHARE, max_counted_items=1)
    counts = Counts(share=asked.share, max_counted_items=1)
    sampler = SortedSampler.of(Steered(), privacy, counts)
    request = selection_request(privacy, 1, Steered(), counts=counts).json
    needed = _core_calls.users_needed(request, 1, list(LEVELS))
    levels = sorted({max(1, users - 1) for users in needed if users is not None})
    shared = [
        Neighbours(f"an item of {quantity(level, 'other')}", ((level, (0,)),), (0,)) for level in levels
    ]
    pairs = [*shared, Neighbours("an item of nobody else", (), (0,))]
    tables = tuple(CountedTables(each, 0) for each in pairs)
    return NumberAttack(sampler, Claim(privacy.epsilon, privacy.delta), tables)


@dataclass(frozen=True, slots=True)
class SortedSampler(CountedSampler):
    """As its base, for a top-k of all items that are found."""

    def _call(self, tables: CountedTables, users: list[Any], copies: int) -> list[float]:
        width = tables.neighbours.width
        release = select_top_k(
            # Without rows there would be no type of items. This one is of no copy.
            users or [(0, [copies * width])],
            k=_ALL,
            privacy=uncharged(self.privacy),
            max_items_per_user=1,
            mechanism=SelectAndCount(share=self.counts.share, max_counted_items=self.most),
            counts="free",
            insecure_test_key=next(self.keys) if self.keys else None,
        )
        numbers: list[dict[int, int]] = [{} for _ in range(copies + 1)]
        for item, number in zip(release.items, release.counts or [], strict=True):
            copy, place = divmod(item, width)
            numbers[copy][place] = number
        score = self._score(tables)
        return [score(each) for each in numbers[:copies]]
