"""Release curves in plain Python: the largest table on a coarse grid, and what a user can be seen by.

Nothing here is shared with the Rust code: pairs are solved by bisection in 60-digit arithmetic on the
defining inequalities, and divergences of many items are convolved.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mpmath import exp, log, mpf

if TYPE_CHECKING:
    from collections.abc import Callable

UNIT = 2**30


def largest(allowed: Callable[[mpf], bool], low: mpf, halvings: int = 140) -> mpf:
    """The largest probability of at least `low` that is allowed, by halving."""
    if allowed(mpf(1)):
        return mpf(1)
    high = mpf(1)
    for _ in range(halvings):
        middle = (low + high) / 2
        if allowed(middle):
            low = middle
        else:
            high = middle
    return low


def renyi_pair(q: mpf, p: mpf, alpha: mpf, divergence: mpf, delta: mpf) -> bool:
    """Whether Bern(p) and Bern(q) are delta-approximately (alpha, divergence)-close in both directions."""
    if p - q <= delta:
        return True
    above, below = (p - delta) / (1 - delta), q / (1 - delta)
    if below <= 0 or above >= 1:
        return False
    limit = exp((alpha - 1) * divergence)

    def moment(a: mpf, b: mpf) -> mpf:
        return a**alpha * b ** (1 - alpha) + (1 - a) ** alpha * (1 - b) ** (1 - alpha)

    return moment(above, below) <= limit and moment(below, above) <= limit


def l1_pair(q: mpf, p: mpf, epsilon: mpf, delta: mpf) -> bool:
    """Whether Bern(p) and Bern(q), q <= p, are (epsilon, delta)-indistinguishable."""
    return p <= exp(epsilon) * q + delta and 1 - q <= exp(epsilon) * (1 - p) + delta


def one_unit_pair(q: mpf, p: mpf, curve: dict) -> bool:
    """Whether Bern(p) and Bern(q), q <= p, are close with an epsilon for each direction."""
    adding, removing, delta = (mpf(curve[name]) for name in ("adding", "removing", "delta"))
    return p <= exp(adding) * q + delta and 1 - q <= exp(removing) * (1 - p) + delta


def divergence_beside(curve: dict, approximation: mpf) -> mpf:
    """The largest divergence that converts, beside an approximation, to the (epsilon, delta) of a region."""
    alpha = mpf(curve["alpha"])
    left = (mpf(curve["delta"]) - approximation) / (1 - approximation)
    factor = (alpha - 1) * log(alpha - 1) - alpha * log(alpha)
    return mpf(curve["epsilon"]) + (log(left) - factor) / (alpha - 1)


def largest_approximation(curve: dict) -> mpf:
    """The approximation of a region beside which nothing is left for a divergence."""
    alone = converted(curve["alpha"], mpf(0), curve["epsilon"])
    return (mpf(curve["delta"]) - alone) / (1 - alone)


def region_pair(q: mpf, p: mpf, curve: dict, square: mpf) -> bool:
    """Whether Bern(p) and Bern(q) are close at some point of a region, times the square.

    Looks for the approximation by steps that halve; nothing is known of the points that the program takes.
    """
    if p - q <= largest_approximation(curve) * square:
        return True
    alpha, delta = mpf(curve["alpha"]), mpf(curve["delta"])

    def excess(logarithm: mpf) -> mpf:
        approximation = delta * (1 - exp(logarithm))
        most = divergence_beside(curve, approximation)
        return needed(q, p, alpha, approximation * square) - most * square if most > 0 else mpf("inf")

    best, least, width = mpf(0), excess(mpf(0)), mpf(1)
    for step in range(1, 12):
        if least <= 0:
            return True
        here = excess(-step * width)
        best, least = (-step * width, here) if here < least else (best, least)
    while least > 0 and width > 1e-6:
        width /= 2
        for logarithm in (best - width, min(mpf(0), best + width)):
            here = excess(logarithm)
            best, least = (logarithm, here) if here < least else (best, least)
    return least <= 0


def needed(q: mpf, p: mpf, alpha: mpf, delta: mpf) -> mpf:
    """The divergence with which Bern(p) and Bern(q) are delta-approximately close in both directions."""
    if p - q <= delta:
        return mpf(0)
    above, below = (p - delta) / (1 - delta), q / (1 - delta)
    if below <= 0 or above >= 1:
        return mpf("inf")
    left, rest = (1 - p) / (1 - delta), (1 - q - delta) / (1 - delta)
    forwards = above**alpha * below ** (1 - alpha) + left**alpha * rest ** (1 - alpha)
    backwards = below**alpha * above ** (1 - alpha) + rest**alpha * left ** (1 - alpha)
    return log(max(forwards, backwards)) / (alpha - 1)


def pair(curve: dict, change: mpf) -> Callable[[mpf, mpf], bool]:
    """The constraint of a curve for a change of weight."""
    if curve["kind"] == "l1":
        return lambda q, p: l1_pair(q, p, mpf(curve["epsilon"]) * change, mpf(curve["delta"]) * change)
    if curve["kind"] == "one_unit":
        return lambda q, p: one_unit_pair(q, p, curve)
    norm = mpf(curve.get("norm", UNIT)) / UNIT
    alpha, square = mpf(curve["alpha"]), (change / norm) ** 2
    if curve["kind"] in ("l2_region", "l2_continuous_region"):
        return lambda q, p: region_pair(q, p, curve, square)
    return lambda q, p: renyi_pair(
        q, p, alpha, mpf(curve["divergence"]) * square, mpf(curve["delta"]) * square
    )


def table(spec: dict) -> list[mpf]:
    """The largest table, without any rounding, up to the last probability below 1."""
    quantum = spec["quantum"]
    changes = [mpf(m * quantum) / UNIT for m in range(UNIT // quantum + 1)]
    pairs = [pair(spec["curve"], change) for change in changes]
    entries = [mpf(0)]
    while entries[-1] < 1:
        here = len(entries)
        entries.append(
            min(
                largest(partial(pairs[m], entries[here - m]), entries[here - m])
                for m in range(1, min(here, len(changes) - 1) + 1)
            )
        )
    return entries[:-1]


def is_continuous(curve: dict) -> bool:
    """Whether weights are multiples of nothing."""
    return curve["kind"] in ("l2_continuous", "l2_continuous_region")


def words_at(spec: dict, words: list[int], weight: int) -> int:
    """How many of the 2^128 words release an item of this weight, from the entries of a table."""
    quantum = spec["quantum"]
    at, beyond = divmod(weight, quantum)
    if not is_continuous(spec["curve"]):
        return words[at] if at < len(words) else 2**128
    if at == 0:
        return words[1] * beyond**2 // quantum**2
    if at + 1 >= len(words):
        return words[-1]
    return words[at] + (words[at + 1] - words[at]) * beyond // quantum


def divergence(groups: list[tuple[int, mpf, mpf]], epsilon: float) -> tuple[mpf, mpf]:
    """The exact hockey-stick divergences, both ways, of independent items: (number, p, q) for each group."""
    laws = [(mpf(1), mpf(1))]
    for number, p, q in groups:
        binomials = [mpf(1)]
        for j in range(number):
            binomials.append(binomials[-1] * (number - j) / (j + 1))
        group = [
            (b * p**j * (1 - p) ** (number - j), b * q**j * (1 - q) ** (number - j))
            for j, b in enumerate(binomials)
        ]
        laws = [(a * c, b * d) for a, b in laws for c, d in group]
    factor = exp(mpf(epsilon))
    return sum(max(0, a - factor * b) for a, b in laws), sum(max(0, b - factor * a) for a, b in laws)


def converted(alpha: float, total_divergence: mpf, epsilon: float) -> mpf:
    """The delta to which a Renyi divergence of one order converts."""
    alpha = mpf(alpha)
    return exp((alpha - 1) * (total_divergence - mpf(epsilon)) + alpha * log(1 - 1 / alpha) - log(alpha - 1))
