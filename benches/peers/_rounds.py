"""Noise and threshold of each DP-SIPS round in ordinary floating point, for the peers and as a cross-check."""

from __future__ import annotations

from math import expm1, log1p, sqrt
from statistics import NormalDist
from typing import NamedTuple

from benches.parameters import DELTA, MAX_ITEMS_PER_USER, RATIO, RHO, ROUNDS


class Round(NamedTuple):
    """One round: add N(0, sigma^2) to each item's weight, release what reaches the threshold."""

    sigma: float
    threshold: float


def sips_rounds() -> list[Round]:
    """The calibration of the DP-SIPS paper (Algorithm 3, Theorem 3): later rounds get geometrically more."""
    shares = [RATIO ** (ROUNDS - 1 - j) for j in range(ROUNDS)]
    return [_round(RHO * share / sum(shares), DELTA * share / sum(shares)) for share in shares]


def _round(rho: float, delta: float) -> Round:
    sigma = 1 / sqrt(2 * rho)
    threshold = max(_threshold(sigma, delta, t) for t in range(1, MAX_ITEMS_PER_USER + 1))
    return Round(sigma, threshold)


def _threshold(sigma: float, delta: float, novel: int) -> float:
    """1/sqrt(t) + sigma PhiInv((1 - delta)^(1/t)): some of t items held by one user alone appear with probability delta."""
    tail = -expm1(log1p(-delta) / novel)
    return 1 / sqrt(novel) - sigma * NormalDist().inv_cdf(tail)
