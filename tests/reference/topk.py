"""The laws of the top-k mechanisms by enumeration: short, slow, and written from the definitions.

A law maps each outcome (a tuple of positions, in order; sorted for sets) to its probability.
"""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import exp, prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction

Law = dict[tuple[int, ...], float]


def _normalised(weights: dict[tuple[int, ...], float]) -> Law:
    total = sum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def joint(counts: list[int], k: int, rate: float) -> Law:
    """Weight e^-(rate loss), loss = the largest shortfall of a place against the sorted counts."""
    best = sorted(counts, reverse=True)

    def loss(sequence: tuple[int, ...]) -> int:
        return max(best[place] - counts[item] for place, item in enumerate(sequence))

    return _normalised({s: exp(-rate * loss(s)) for s in permutations(range(len(counts)), k)})


def joint_set(counts: list[int], k: int, rate: float) -> Law:
    """Weight e^-(rate gap), gap = what the worst item taken lacks to the best one left out."""

    def gap(taken: tuple[int, ...]) -> int:
        out = [count for item, count in enumerate(counts) if item not in taken]
        return max(0, max(out) - min(counts[item] for item in taken)) if out else 0

    return _normalised({s: exp(-rate * gap(s)) for s in combinations(range(len(counts)), k)})


def _peeled(counts: list[int], k: int, pick) -> Law:
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


def _largest_noisy(counts: list[int], k: int, noise: dict[tuple[int, ...], float]) -> Law:
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

    def extend(found: tuple[int, ...], probability: float) -> None:
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


def sequences_within(counts: list[int], k: int, level: int) -> int:
    """The product formula for the number of sequences of loss at most `level`."""
    best = sorted(counts, reverse=True)
    at_least = [sum(count >= best[place] - level for count in counts) for place in range(k)]
    return prod(number - place for place, number in enumerate(at_least))


def level_law(counts: list[int], k: int, q: Fraction) -> dict[int, Fraction]:
    """The law of the level in exact fractions: M(l) q^l, the last level with all of the tail."""
    last = max(counts) - min(counts)
    weights = {level: sequences_within(counts, k, level) * q**level for level in range(last)}
    weights[last] = sequences_within(counts, k, last) * q**last / (1 - q)
    total = sum(weights.values())
    return {level: weight / total for level, weight in weights.items()}
