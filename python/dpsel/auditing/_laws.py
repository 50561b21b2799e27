"""The laws of the top-k mechanisms by enumeration: short, slow, and written from the definitions.

A law maps each outcome (a tuple of positions, in order; sorted for sets) to its probability. The tests hold
the draws of the core against these laws, and the audit looks for the epsilon and delta that the laws need.
"""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import exp, prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Outcome: TypeAlias = tuple[int, ...]
Law: TypeAlias = dict[Outcome, float]


def _normalised(weights: Law) -> Law:
    total = sum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def joint(counts: list[int], k: int, rate: float) -> Law:
    """Weight e^-(rate loss), loss = the largest shortfall of a place against the sorted counts."""
    best = sorted(counts, reverse=True)

    def loss(sequence: Outcome) -> int:
        return max(best[place] - counts[item] for place, item in enumerate(sequence))

    return _normalised({s: exp(-rate * loss(s)) for s in permutations(range(len(counts)), k)})


def joint_set(counts: list[int], k: int, rate: float) -> Law:
    """Weight e^-(rate gap), gap = what the worst item taken lacks to the best one left out."""

    def gap(taken: Outcome) -> int:
        out = [count for item, count in enumerate(counts) if item not in taken]
        return max(0, max(out) - min(counts[item] for item in taken)) if out else 0

    return _normalised({s: exp(-rate * gap(s)) for s in combinations(range(len(counts)), k)})


def _peeled(counts: list[int], k: int, pick: Callable[[list[int]], list[float]]) -> Law:
    law: Law = {(): 1.0}
    for _ in range(k):
        longer: Law = {}
        for outcome, probability in law.items():
            left = [item for item in range(len(counts)) if item not in outcome]
            for item, chance in zip(left, pick([counts[item] for item in left]), strict=True):
                longer[(*outcome, item)] = probability * chance
        law = longer
    return law


def exponential(counts: list[int], rate: float) -> list[float]:
    """One pick with weight e^(rate count)."""
    weights = [exp(rate * (count - max(counts))) for count in counts]
    return [weight / sum(weights) for weight in weights]


def permute_and_flip(counts: list[int], rate: float) -> list[float]:
    """In random order, the first whose coin of bias e^-(rate gap) shows heads: over all orders and coins."""
    bias = [exp(rate * (count - max(counts))) for count in counts]
    law = [0.0] * len(counts)
    orders = list(permutations(range(len(counts))))
    for order in orders:
        missed = 1.0
        for item in order:
            law[item] += missed * bias[item] / len(orders)
            missed *= 1 - bias[item]
    return law


def gumbel_peel(counts: list[int], k: int, rate: float) -> Law:
    """Exponential mechanisms among the items that are left."""
    return _peeled(counts, k, lambda left: exponential(left, rate))


def permute_flip_peel(counts: list[int], k: int, rate: float) -> Law:
    """Permute-and-flip among the items that are left."""
    return _peeled(counts, k, lambda left: permute_and_flip(left, rate))


def permute_flip_joint(counts: list[int], k: int, rate: float) -> Law:
    """Every sequence has a coin of bias e^-(rate loss); uniform among those that show heads."""
    weights = joint(counts, k, rate)
    bias = {sequence: weight / max(weights.values()) for sequence, weight in weights.items()}
    law: Law = {}
    for sequence, own in bias.items():
        # Item h: the probability that h of the other coins show heads.
        heads = [1.0]
        for p in (p for other, p in bias.items() if other != sequence):
            heads = [a * (1 - p) + b * p for a, b in zip([*heads, 0.0], [0.0, *heads], strict=True)]
        law[sequence] = own * sum(chance / (h + 1) for h, chance in enumerate(heads))
    return law


def _largest_noisy(counts: list[int], k: int, noise: Law) -> Law:
    law: Law = {}
    for shift, probability in noise.items():
        noisy = [count + z for count, z in zip(counts, shift, strict=True)]
        order = tuple(sorted(range(len(counts)), key=lambda item: (-noisy[item], item))[:k])
        law[order] = law.get(order, 0.0) + probability
    return law


def laplace_top_k(counts: list[int], k: int, rate: float, reach: int) -> Law:
    """Discrete Laplace noise, cut off at `reach`, where hardly any mass lies."""
    values = range(-reach, reach + 1)
    noise = {z: prod(exp(-rate * abs(each)) for each in z) for z in product(values, repeat=len(counts))}
    return _largest_noisy(counts, k, _normalised(noise))


def gamma(counts: list[int], k: int, rate: float, reach: int) -> Law:
    """Noise of weight e^-(rate max |z|), cut off at `reach`."""
    values = range(-reach, reach + 1)
    noise = {z: exp(-rate * max(map(abs, z))) for z in product(values, repeat=len(counts))}
    return _largest_noisy(counts, k, _normalised(noise))


def limit_domain(counts: list[int], k: int, rate: float, candidates: int, threshold: int) -> Law:
    """Exponential mechanisms among the largest counts and a stop, until the stop or k items."""
    order = sorted((i for i, c in enumerate(counts) if c > 0), key=lambda item: (-counts[item], item))
    last = counts[order[candidates]] if len(order) > candidates else 0
    near = order[:candidates]
    law: Law = {}

    def extend(found: Outcome, probability: float) -> None:
        left = [item for item in near if item not in found]
        if len(found) == k or not near:
            law[found] = law.get(found, 0.0) + probability
            return
        chances = exponential([*(counts[item] for item in left), last + threshold], rate)
        law[found] = law.get(found, 0.0) + probability * chances[-1]
        for item, chance in zip(left, chances, strict=False):
            extend((*found, item), probability * chance)

    extend((), 1.0)
    return law


#: Name of a mechanism -> its law from counts, k, a calibration, and where to cut off noise.
LAWS: Final[dict[str, Callable[[list[int], int, dict[str, Any], int], Law]]] = {
    "joint": lambda counts, k, found, _reach: joint(counts, k, found["rate"]),
    "joint_set": lambda counts, k, found, _reach: joint_set(counts, k, found["rate"]),
    "gumbel_peel": lambda counts, k, found, _reach: gumbel_peel(counts, k, found["rate"]),
    "permute_flip_joint": lambda counts, k, found, _reach: permute_flip_joint(counts, k, found["rate"]),
    "permute_flip_peel": lambda counts, k, found, _reach: permute_flip_peel(counts, k, found["rate"]),
    "gamma": lambda counts, k, found, reach: gamma(counts, k, found["rate"], reach),
    "laplace_top_k": lambda counts, k, found, reach: laplace_top_k(counts, k, found["rate"], reach),
    "limit_domain": lambda counts, k, found, _reach: limit_domain(
        counts, k, found["rate"], found["candidates"], found["threshold"]
    ),
}
