"""Steered selection: evidence over rounds, factors that follow it, one publication."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import isqrt

from . import prf
from .noise import UNIT, noise

SHARES = 1 << 20
FULL = 256
ONE = 1 << 16


@dataclass(frozen=True)
class EvidenceRound:
    """One round from a report; the last one has a threshold, and caps as pairs (items, weight)."""

    scale: float
    share: int
    abandon: int
    course: int
    aim: int
    threshold: int | None = None
    caps: tuple[tuple[int, int], ...] = ()


def cap_of(items: int, caps: tuple[tuple[int, int], ...]) -> int:
    """The most that a user of so many items gives to one."""
    return next(weight for size, weight in caps if size >= items)


def user_weights(items, factors: dict, cap: int) -> dict:
    """What one user gives to each of its items that is not out."""
    alive = {item: factors[item] for item in items if factors[item] > 0}
    squares = sum(factor * factor for factor in alive.values())
    scale = isqrt(UNIT**2 * 2**20 // squares) if squares else 0
    return {item: min(factor * scale >> 10, cap) for item, factor in alive.items()}


def histogram(kept: dict, caps: dict, factors: dict) -> dict:
    """The sums of one round's weights."""
    sums: dict = defaultdict(int)
    for user, items in kept.items():
        for item, weight in user_weights(items, factors, caps[user]).items():
            sums[item] += weight
    return sums


def factor(evidence: int, exposure: int, left: int, round_: EvidenceRound) -> int:
    """The factor for the next round: 0 gives the item up."""
    if evidence < round_.abandon:
        return 0
    way = max(round_.course - round_.abandon, 1)
    chance = min(evidence - round_.abandon, way) * ONE // way
    evidence = max(evidence, 1)
    missing = max(round_.aim - evidence, 0)
    need = min(missing * exposure * ONE * 4 // (FULL * max(left, 1) * evidence * 5), ONE)
    return min(max(min(chance**2 * FULL // ONE**2, isqrt(need**3) * FULL // isqrt(ONE**3)), 1), FULL)


def select(
    kept: dict,
    rounds: list[EvidenceRound],
    key: bytes,
    seen: list[dict] | None = None,
    factors_of_rounds: list[dict] | None = None,
):
    """The released items with their evidence; histograms and factors of every round go into the lists."""
    table = rounds[-1].caps
    caps = {user: cap_of(len(items), table) for user, items in kept.items() if items}
    held = {item for items in kept.values() for item in items}
    factors = dict.fromkeys(held, FULL)
    evidence, exposure = dict.fromkeys(held, 0), dict.fromkeys(held, 0)
    left = SHARES
    for number, round_ in enumerate(rounds):
        sums = histogram({user: items for user, items in kept.items() if items}, caps, factors)
        if seen is not None:
            seen.append(dict(sums))
        if factors_of_rounds is not None:
            factors_of_rounds.append(dict(factors))
        left -= round_.share
        for item in held:
            if factors[item] == 0:
                continue
            word = prf.noise_word(key, number, item[1])
            noisy = sums[item] + noise("gaussian", round_.scale, word)
            evidence[item] += noisy * round_.share // SHARES
            exposure[item] += round_.share * factors[item]
            if round_.threshold is None:
                factors[item] = factor(evidence[item], exposure[item], left, round_)
    threshold = rounds[-1].threshold
    return {item[1]: evidence[item] for item in held if factors[item] and evidence[item] >= threshold}
