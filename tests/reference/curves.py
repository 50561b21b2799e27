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


def largest(allowed: Callable[[mpf], bool], low: mpf) -> mpf:
    """The largest probability of at least `low` that is allowed, by halving."""
    if allowed(mpf(1)):
        return mpf(1)
    high = mpf(1)
    for _ in range(140):
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


def pair(curve: dict, change: mpf) -> Callable[[mpf, mpf], bool]:
    """The constraint of a curve for a change of weight."""
    if curve["kind"] == "l1":
        return lambda q, p: l1_pair(q, p, mpf(curve["epsilon"]) * change, mpf(curve["delta"]) * change)
    norm = mpf(curve.get("norm", UNIT)) / UNIT
    alpha, square = mpf(curve["alpha"]), (change / norm) ** 2
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


def words_at(spec: dict, words: list[int], weight: int) -> int:
    """How many of the 2^128 words release an item of this weight, from the entries of a table."""
    quantum = spec["quantum"]
    at, beyond = divmod(weight, quantum)
    if spec["curve"]["kind"] != "l2_continuous":
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
