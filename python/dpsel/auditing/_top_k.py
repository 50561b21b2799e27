"""The audit of a top-k: the enumerated laws at the shipped rates, and draws of the core."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from dpsel._request import top_k_request
from dpsel.auditing._exact import Needed, divergence, epsilon_for
from dpsel.auditing._laws import LAWS
from dpsel.auditing._noisy_laws import laplace_top_k_by_sums

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpsel.accounting import Privacy
    from dpsel.auditing._laws import Law
    from dpsel.mechanisms import TopKMechanism

__all__ = ["K", "count_pairs", "worst_of_swaps", "worst_of_top_k"]

#: How many items are picked in an audit.
K: Final = 2
#: Noise on all counts is enumerated for few items, and further than double precision sees.
_NOISY: Final = {"gamma", "laplace_top_k"}
_REACH: Final = 60
_HIGHEST: Final = 4
#: Numbers of items in tables of which one count is far below all others: as many as are quick to compute.
_FAR_ITEMS: Final = {
    "joint": 8,
    "joint_set": 8,
    "permute_flip_joint": 5,
    "gumbel_peel": 4,
    "permute_flip_peel": 4,
}
#: How far that is, in steps of 1 / epsilon.
_FAR: Final = 20.0
#: A user raises two low counts; one of them comes out at all if its noise exceeds that of three high ones.
_HIGH_ITEMS: Final = 3

CountPair = tuple[list[int], list[int]]


def count_pairs(
    mechanism: TopKMechanism, privacy: Privacy, bound: int | None, *, k: int = K
) -> Iterator[CountPair]:
    """Return small lists of counts, each with the list after one more user of at most ``bound`` items."""
    items = 2 if mechanism.name in _NOISY else 4
    # Where an answer can stop, the counts matter that compete with the stop.
    offset = _calibration(mechanism, privacy, bound, k=k).get("threshold", 0)
    steps = (0, 1, 2, offset - 1, offset, offset + 1) if offset else range(_HIGHEST + 1)
    for counts in combinations_with_replacement(sorted(set(steps), reverse=True), items):
        for change in product((0, 1), repeat=items):
            if 0 < sum(change) <= (bound or items):
                yield list(counts), [count + one for count, one in zip(counts, change, strict=True)]


def _far_pairs(mechanism: TopKMechanism, epsilon: float, bound: int | None) -> Iterator[CountPair]:
    """Return counts that are equal but for one, which the user raises together with one of the others.

    Answers without the lowest item are nearly certain, and stay so. Those with it are rare, and the user
    makes them likelier in two ways.
    """
    items, high = _FAR_ITEMS.get(mechanism.name, 0), ceil(_FAR / epsilon)
    if items:
        counts = [high] * (items - 1) + [0]
        first = int(bound is None or bound > 1)
        yield counts, [high + first, *counts[1:-1], 1]
    if mechanism.name == "laplace_top_k":
        raised = [1 if bound is None or bound > item else 0 for item in range(K)]
        yield [0] * K + [high] * _HIGH_ITEMS, raised + [high] * _HIGH_ITEMS


def _stop_pairs(calibration: dict[str, Any]) -> Iterator[CountPair]:
    """Return equal counts of all candidates, and one item more, which the user raises and the stop with it.

    Every pick is then between candidates and a stop that is one user higher.
    """
    for gap in range(1, calibration["threshold"] + 2):
        counts = [1 + gap] * calibration["candidates"]
        yield [*counts, 1], [*counts, 2]


def worst_of_top_k(
    mechanism: TopKMechanism,
    privacy: Privacy,
    epsilon: float,
    delta: float,
    bound: int | None = None,
    *,
    k: int = K,
) -> tuple[Needed, list[CountPair]]:
    """Return the epsilon and delta of the worst pair of counts, and the few worst pairs."""
    laws: dict[tuple[int, ...], Law] = {}
    calibration = _calibration(mechanism, privacy, bound, k=k)

    def law(counts: list[int]) -> Law:
        key = tuple(counts)
        if key not in laws:
            laws[key] = _law(mechanism, counts, k, calibration)
        return laws[key]

    def needed(pair: CountPair, eps: float) -> float:
        before, after = law(pair[0]), law(pair[1])
        return max(divergence(before, after, eps), divergence(after, before, eps))

    pairs = [*count_pairs(mechanism, privacy, bound, k=k), *_far_pairs(mechanism, epsilon, bound)]
    if mechanism.name == "limit_domain":
        pairs += _stop_pairs(calibration)
    worst = max(pairs, key=lambda pair: needed(pair, epsilon))
    least = 0.0
    for pair in pairs:
        if needed(pair, least) > delta:
            least = epsilon_for(lambda eps, pair=pair: needed(pair, eps), delta)  # type: ignore[misc]
            worst = pair if needed(worst, epsilon) <= 0 else worst
    # Far below the claim a divergence is above 0, and large where samples can show it.
    shown = sorted(pairs, key=lambda pair: needed(pair, 0.5 * epsilon), reverse=True)[:3]
    shown.append(max(pairs, key=lambda pair: needed(pair, 0.75 * epsilon)))
    return Needed(f"counts {worst[0]} and {worst[1]}", least, needed(worst, epsilon)), shown


def worst_of_swaps(mechanism: TopKMechanism, privacy: Privacy, delta: float) -> Needed:
    """Return the epsilon of two counts of which a user that is replaced raises one and lowers the other."""
    calibration = top_k_request(K, privacy, mechanism, neighbours="swap").calibrate()
    needed, tables = 0.0, ""
    for high in range(1, _HIGHEST + 1):
        counts, after = [0, high], [1, high - 1]
        before, swapped = (_law(mechanism, each, K, calibration) for each in (counts, after))
        for likely, rare in ((before, swapped), (swapped, before)):
            if divergence(likely, rare, needed) > delta:
                needed = epsilon_for(lambda eps, p=likely, q=rare: divergence(p, q, eps), delta)  # type: ignore[misc]
                tables = f"counts {counts} and {after}"
    return Needed(tables, needed, 0.0)


def _law(mechanism: TopKMechanism, counts: list[int], k: int, calibration: dict[str, Any]) -> Law:
    if mechanism.name == "laplace_top_k":
        return laplace_top_k_by_sums(counts, min(k, len(counts)), calibration["rate"])
    return LAWS[mechanism.name](counts, k, calibration, _REACH)


def _calibration(
    mechanism: TopKMechanism, privacy: Privacy, bound: int | None, *, k: int = K
) -> dict[str, Any]:
    return top_k_request(k, privacy, mechanism, bound=bound).calibrate()
