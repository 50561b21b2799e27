"""Steered selection: cumulative scores, importances that follow them, one publication."""

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
class ScoredRound:
    """One round from a report; the last one has a threshold, and caps as pairs (items, weight)."""

    scale: float
    share: int
    futility_bound: int
    expected_path: int
    target: int
    threshold: int | None = None
    caps: tuple[tuple[int, int], ...] = ()


def cap_of(items: int, caps: tuple[tuple[int, int], ...]) -> int:
    """The most that a user of `items` items gives to one."""
    return next(weight for size, weight in caps if size >= items)


def user_weights(items, importances: dict, cap: int) -> dict:
    """The weights of one user on its items that are not abandoned."""
    alive = {item: importances[item] for item in items if importances[item] > 0}
    squares = sum(importance * importance for importance in alive.values())
    scale = isqrt(UNIT**2 * 2**20 // squares) if squares else 0
    return {item: min(importance * scale >> 10, cap) for item, importance in alive.items()}


def histogram(kept: dict, caps: dict, importances: dict) -> dict:
    """The sums of one round's weights."""
    sums: dict = defaultdict(int)
    for user, items in kept.items():
        for item, weight in user_weights(items, importances, caps[user]).items():
            sums[item] += weight
    return sums


def importance_of(score: int, exposure: int, left: int, round_: ScoredRound) -> int:
    """The importance in the next round: 0 abandons the item."""
    if score < round_.futility_bound:
        return 0
    way = max(round_.expected_path - round_.futility_bound, 1)
    prospect = min(score - round_.futility_bound, way) * ONE // way
    score = max(score, 1)
    missing = max(round_.target - score, 0)
    remaining = min(missing * exposure * ONE * 4 // (FULL * max(left, 1) * score * 5), ONE)
    return min(max(min(prospect**2 * FULL // ONE**2, isqrt(remaining**3) * FULL // isqrt(ONE**3)), 1), FULL)


def select(
    kept: dict,
    rounds: list[ScoredRound],
    key: bytes,
    seen: list[dict] | None = None,
    importances_of_rounds: list[dict] | None = None,
):
    """The released items with their scores; histograms and importances of every round go into the lists."""
    table = rounds[-1].caps
    caps = {user: cap_of(len(items), table) for user, items in kept.items() if items}
    held = {item for items in kept.values() for item in items}
    importances = dict.fromkeys(held, FULL)
    scores, exposure = dict.fromkeys(held, 0), dict.fromkeys(held, 0)
    left = SHARES
    for number, round_ in enumerate(rounds):
        sums = histogram({user: items for user, items in kept.items() if items}, caps, importances)
        if seen is not None:
            seen.append(dict(sums))
        if importances_of_rounds is not None:
            importances_of_rounds.append(dict(importances))
        left -= round_.share
        for item in held:
            if importances[item] == 0:
                continue
            word = prf.noise_word(key, number, item[1])
            noisy = sums[item] + noise("gaussian", round_.scale, word)
            scores[item] += noisy * round_.share // SHARES
            exposure[item] += round_.share * importances[item]
            if round_.threshold is None:
                importances[item] = importance_of(scores[item], exposure[item], left, round_)
    threshold = rounds[-1].threshold
    return {item[1]: scores[item] for item in held if importances[item] and scores[item] >= threshold}
