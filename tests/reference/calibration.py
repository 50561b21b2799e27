"""Noise scales, thresholds and conversions in 60-digit arithmetic, written from the formulas, slowly.

Nothing here is shared with the Rust code. Formulas: Balle and Wang 2018 (Gaussian noise), Dong, Roth and Su
2022 (composition), Swanberg, Desfontaines and Haney 2023 (Algorithms 2 and 3, Corollary 9), and
docs/algorithms/accounting.md for one thresholded round.
"""

from __future__ import annotations

from functools import cache
from math import isqrt
from typing import TYPE_CHECKING

from mpmath import erfc, exp, expm1, log, log1p, mp, mpf, sqrt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

mp.dps = 60

UNIT = 2**30


def weight(weighting: str, items: int) -> int:
    """Integer units that a user of this many items gives to each."""
    if weighting == "count":
        return UNIT
    if weighting == "equal_l1":
        return UNIT // items
    return isqrt(UNIT * UNIT // items)


def normal_tail(z: mpf) -> mpf:
    """P[Z >= z]."""
    return erfc(z / sqrt(mpf(2))) / 2


def noise_tail(noise: dict, units: int) -> mpf:
    """P[N >= units] of the noise of a calibration, rounded down to grid steps."""
    x = mpf(units) / UNIT
    if noise["kind"] == "gaussian":
        return normal_tail(x / mpf(noise["sigma"]))
    x /= mpf(noise["scale"])
    return exp(-x) / 2 if x >= 0 else 1 - exp(x) / 2


def hockey_stick(epsilon: mpf, mu: mpf) -> mpf:
    """The smallest delta of a Gaussian whose mean moves by mu standard deviations."""
    epsilon, mu = mpf(epsilon), mpf(mu)
    if mu == 0:
        return max(mpf(0), -expm1(epsilon))
    with mp.extradps(40):
        return normal_tail(epsilon / mu - mu / 2) - exp(epsilon) * normal_tail(epsilon / mu + mu / 2)


def solve_increasing(f: Callable[[mpf], mpf], low: mpf, high: mpf) -> mpf:
    """The zero of an increasing function between two positive numbers, by halving on a logarithmic scale."""
    low, high = log(mpf(low)), log(mpf(high))
    for _ in range(90):
        middle = (low + high) / 2
        if f(exp(middle)) > 0:
            high = middle
        else:
            low = middle
    return exp((low + high) / 2)


@cache
def largest_mu(epsilon: float, delta: mpf) -> mpf:
    """The mu at which Gaussian noise is exactly (epsilon, delta)-DP."""
    return solve_increasing(lambda mu: hockey_stick(epsilon, mu) - mpf(delta), mpf(10) ** -15, mpf(1000))


def user_sizes(bound: int) -> Iterator[int]:
    """Numbers of items to look at: all of them up to 30, then a grid that keeps both ends."""
    yield from range(1, min(bound, 30) + 1)
    size = mpf(30)
    while size * mpf("1.2") < bound:
        size *= mpf("1.2")
        yield int(size)
    if bound > 30:
        yield from (bound - 2, bound - 1, bound)


def novel_release(noise: dict, weighting: str, bound: int, threshold: int) -> mpf:
    """The largest probability that some item of one user alone is released."""

    def at(t: int) -> mpf:
        return -expm1(t * log1p(-noise_tail(noise, threshold - weight(weighting, t))))

    return max(at(t) for t in user_sizes(bound))


def single_round_delta(noise: dict, weighting: str, bound: int, threshold: int, epsilon: float) -> mpf:
    """The exact delta of one Gaussian round over a grid of users with k items, t of them novel."""
    worst = mpf(0)
    for k in {1, 2, 3, bound // 2, bound - 1, bound} & set(range(1, bound + 1)):
        q = noise_tail(noise, threshold - weight(weighting, k))
        for t in {0, 1, 2, 3, k // 100, k // 10, k // 3, k // 2, k - 2, k - 1, k} & set(range(k + 1)):
            log_p = t * log1p(-q)
            mu = sqrt(mpf(k - t)) * weight(weighting, k) / UNIT / mpf(noise["sigma"])
            with_user = -expm1(log_p) + exp(log_p) * hockey_stick(mpf(epsilon) - log_p, mu)
            worst = max(worst, with_user, hockey_stick(mpf(epsilon) + log_p, mu))
    return worst


def shares(rounds: int, ratio: float) -> list[mpf]:
    """Each round's share of the budget (Algorithm 3 of DP-SIPS)."""
    powers = [mpf(ratio) ** (rounds - 1 - j) for j in range(rounds)]
    return [power / sum(powers) for power in powers]


def composed_delta(calibration: dict, bound: int, epsilon: float) -> mpf:
    """The delta of several Gaussian rounds: thresholds that fail, and the composed noise otherwise."""
    rounds = calibration["rounds"]
    mu = sqrt(sum(1 / mpf(r["noise"]["sigma"]) ** 2 for r in rounds))
    safe = mpf(1)
    for r in rounds:
        safe *= 1 - novel_release(r["noise"], r["weighting"], bound, r["threshold"])
    return (1 - safe) + safe * hockey_stick(epsilon, mu)


def zcdp_delta(rho: float, delta: float, epsilon: float) -> tuple[mpf, mpf]:
    """(delta, alpha) of Corollary 9: the logarithm's derivative in alpha increases; find its zero."""
    rho, epsilon = mpf(rho), mpf(epsilon)

    def slope(gap: mpf) -> mpf:
        alpha = 1 + gap
        return (2 * alpha - 1) * rho - epsilon + log(1 - 1 / alpha)

    gap = solve_increasing(slope, mpf(10) ** -30, mpf(10) ** 30)
    alpha = 1 + gap
    extra = exp(gap * (alpha * rho - epsilon)) / gap * (1 - 1 / alpha) ** alpha
    return mpf(delta) + (1 - mpf(delta)) * extra, alpha
