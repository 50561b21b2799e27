"""The law of a top-k that first finds its items: for users of one item, and where both parts show most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import compress, product
from typing import TYPE_CHECKING, Any, Final

from dpsel._request import top_k_request
from dpsel.auditing._exact import Needed, divergence, epsilon_for
from dpsel.auditing._laws import LAWS
from dpsel.release._wording import quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel.accounting import ApproxDP
    from dpsel.auditing._laws import Law
    from dpsel.mechanisms import TopKMechanism

__all__ = ["SeldomItem", "law_of_discovery", "worst_of_both", "worst_of_discovery", "worst_of_picks"]

_UNIT: Final = 1 << 30
_CHANCES: Final = (1e-5, 1e-4, 0.001, 0.02, 0.2, 0.5, 0.8, 0.98)
#: Items that are found for certain, and how far above the last one the others are, in steps of 1 / epsilon.
_CERTAIN: Final = 16
_FAR: Final = 9.0
#: Items that are likelier than this are not seldom.
_LIKELY: Final = 0.5
#: How likely an item that both parts seldom give is to be found, in multiples of delta; the items beside it.
_SELDOM: Final = (10, 30, 100, 300, 500, 1000, 2000, 4000, 10_000)
_BESIDE: Final = (5, 10, 15, 20, 25, 30, 40, 60)
#: A holder who lost so many items or fewer to a release counts as one who has that many less.
_LOST: Final = 10


def worst_of_discovery(mechanism: TopKMechanism, privacy: ApproxDP, k: int, bound: int) -> Needed:
    """Return the epsilon and delta of the worst tables of a family.

    A user of one item is added to n others of this item. There are no more items, or two that have about as
    many users.
    """
    law = law_of_discovery(mechanism, privacy, k, bound)
    rounds = _rounds(mechanism, privacy, k, bound)["discovery"]["rounds"]
    levels = sorted({max(0, _users_for(rounds, chance) + step) for chance in _CHANCES for step in (-1, 0)})
    tables = [[0], *([n] for n in levels), *([n, m, m] for n in levels for m in (n - 1, n, n + 1) if m > 0)]
    pairs = [(counts, law(counts), law([counts[0] + 1, *counts[1:]])) for counts in tables]

    def needed(pair: tuple[list[int], Law, Law], epsilon: float) -> float:
        _, before, after = pair
        return max(divergence(before, after, epsilon), divergence(after, before, epsilon))

    worst = max(pairs, key=lambda pair: needed(pair, privacy.epsilon))
    least = max(epsilon_for(lambda eps, pair=pair: needed(pair, eps), privacy.delta) for pair in pairs)  # type: ignore[misc]
    return Needed(f"counts {worst[0]}", least, needed(worst, privacy.epsilon))


def worst_of_picks(mechanism: TopKMechanism, privacy: ApproxDP, k: int, bound: int) -> Needed:
    """Return the epsilon that the picks among items need that are found for certain.

    One item is far below the others, and the user raises it and one of these. See ``_far_pairs`` of top-k.
    """
    law = law_of_discovery(mechanism, privacy, k, bound)
    low = _users_for(_rounds(mechanism, privacy, k, bound)["discovery"]["rounds"], 1.0)
    high = low + math.ceil(_FAR / privacy.epsilon)
    before, after = (
        law([high] * (_CERTAIN - 1) + [low]),
        law([high + 1] + [high] * (_CERTAIN - 2) + [low + 1]),
    )

    def needed(epsilon: float) -> float:
        return max(divergence(before, after, epsilon), divergence(after, before, epsilon))

    tables = f"counts {low} and {_CERTAIN - 1} times {high}"
    return Needed(tables, epsilon_for(needed, privacy.delta), needed(privacy.epsilon))


@dataclass(frozen=True, slots=True)
class SeldomItem:
    """Tables on which one item is seldom found, and seldom picked if it is found.

    Its ``holders`` have ``bound`` items each, the others of which nobody else has. So its weight is small and
    its count is not: the picks count all rows. Each of ``beside`` items has ``users`` users, who have nothing
    else, and is found for certain. The added user has the item alone. One item is picked.
    """

    holders: int
    bound: int
    beside: int
    users: int

    def chances(self, rounds: list[dict[str, Any]], rate: float) -> tuple[float, float]:
        """Return how likely the item is at most without the user, and at least with it.

        If other items of its holders come out in a round, they give it more weight in the next one. So that
        they may is in the bounds.
        """
        fewer = max(1, self.bound - _LOST)
        alone = (self.bound - 1) * _found(rounds, 1 / math.sqrt(fewer))
        # Some holder loses an item; some holder loses more than the constant.
        some, many = self.holders * alone, self.holders * alone ** (_LOST + 1)
        missing = self.beside * (1 - _found(rounds, self.users))
        found = _found(rounds, self.holders / math.sqrt(self.bound))
        freer = _found(rounds, self.holders / math.sqrt(fewer))
        before = found * self._picked(rate, 0) + some * freer + many + missing
        after = _found(rounds, self.holders / math.sqrt(self.bound) + 1) * self._picked(rate, 1)
        return before, (1 - some) * after

    def _picked(self, rate: float, more: int) -> float:
        return 1 / (1 + self.beside * math.exp(rate * (self.users - self.holders - more)))


def worst_of_both(mechanism: TopKMechanism, privacy: ApproxDP, bound: int) -> Needed:
    """Return what is needed on the worst tables with an item that both parts seldom give."""
    calibration = _rounds(mechanism, privacy, 1, bound)
    rounds, rate = calibration["discovery"]["rounds"], calibration["rate"]
    certain = _users_for(rounds, 1.0)
    levels = sorted(
        {
            _users_for(rounds, times * privacy.delta, 1 / math.sqrt(bound))
            for times in _SELDOM
            if times * privacy.delta < _LIKELY
        }
    )
    family = [
        SeldomItem(holders, bound, beside, max(certain, holders)) for holders in levels for beside in _BESIDE
    ]
    chances = {each: each.chances(rounds, rate) for each in family}

    def needed(table: SeldomItem, epsilon: float) -> float:
        before, after = chances[table]
        return max(0.0, after - math.exp(epsilon) * before)

    least = {each: epsilon_for(lambda eps, each=each: needed(each, eps), privacy.delta) for each in family}  # type: ignore[misc]
    worst = max(family, key=lambda each: least[each])
    holders, beside = quantity(worst.holders, "user"), f"{worst.beside} of {quantity(worst.users, 'user')}"
    tables = f"{holders} of {quantity(bound, 'item')}, {beside} beside"
    return Needed(tables, least[worst], max(needed(each, privacy.epsilon) for each in family))


def law_of_discovery(
    mechanism: TopKMechanism, privacy: ApproxDP, k: int, bound: int
) -> Callable[[list[int]], Law]:
    """Return the law of the places that are picked, as a function of the numbers of users.

    The selection finds items independently of each other, and of what is picked of them.
    """
    calibration = _rounds(mechanism, privacy, k, bound)
    picks = LAWS["joint" if mechanism.ordered else "joint_set"]

    def law(counts: list[int]) -> Law:
        found: Law = {}
        chances = [_found(calibration["discovery"]["rounds"], count) for count in counts]
        for mask in product(*(_ways(chance) for chance in chances)):
            chance = math.prod(p if one else 1 - p for p, one in zip(chances, mask, strict=True))
            places = list(compress(range(len(counts)), mask))
            here = [counts[place] for place in places]
            picked = picks(here, min(k, len(here)), calibration, 0) if here else {(): 1.0}
            for outcome, part in picked.items():
                named = tuple(places[position] for position in outcome)
                found[named] = found.get(named, 0.0) + chance * part
        return found

    return law


def _ways(chance: float) -> tuple[bool, ...]:
    """Return whether an item is found, in all ways that are possible."""
    return tuple(found for found, p in ((False, 1 - chance), (True, chance)) if p > 0)


def _rounds(mechanism: TopKMechanism, privacy: ApproxDP, k: int, bound: int) -> dict[str, Any]:
    return top_k_request(k, privacy, mechanism, bound=bound).calibrate()


def _found(rounds: list[dict[str, Any]], weight: float) -> float:
    """Return the probability that the selection finds an item of this weight; a user of one item gives 1."""
    if weight == 0:
        return 0.0
    missed = (
        math.erfc((weight - each["threshold"] / _UNIT) / each["noise"]["sigma"] / math.sqrt(2)) / 2
        for each in rounds
    )
    return 1 - math.prod(missed)


def _users_for(rounds: list[dict[str, Any]], chance: float, each: float = 1.0) -> int:
    """Return how many users, who give so much each, an item needs to be found with this probability."""
    users = 1
    while _found(rounds, users * each) < chance:
        users *= 2
    low = users // 2
    while users - low > 1:
        middle = (low + users) // 2
        low, users = (middle, users) if _found(rounds, middle * each) < chance else (low, middle)
    return users
