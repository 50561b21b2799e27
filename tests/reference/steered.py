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
class UserSize:
    """What a user of at most `items` items gives: a norm over all rounds, and a cap for each item."""

    items: int
    norm: int
    cap: int


@dataclass(frozen=True)
class ScoredRound:
    """One round from a report; the last one has a threshold and sizes."""

    scale: float
    share: int
    futility_bound: int
    expected_path: int
    target: int
    settled_bound: int
    threshold: int | None = None
    #: Whether a released item's noise has to be below the threshold.
    is_checked: bool = False
    sizes: tuple[UserSize, ...] = ()


def size_of(items: int, sizes: tuple[UserSize, ...]) -> UserSize:
    """The norm and the cap of a user of `items` items."""
    return next(size for size in sizes if size.items >= items)


def user_weights(items, importances: dict, norm: int = UNIT) -> dict:
    """The weights of one user on its items that are neither abandoned nor settled, without a cap."""
    alive = {item: importances[item] for item in items if importances[item]}
    squares = sum(importance * importance for importance in alive.values())
    scale = isqrt(norm**2 * 2**20 // squares) if squares else 0
    return {item: importance * scale >> 10 for item, importance in alive.items()}


def step_of(cap: int) -> int:
    """Drifts are counted in powers of two of which the cap has at most 2^15."""
    return 2 ** max(cap.bit_length() - 15, 0)


def capped_weights(items, importances: dict, size: UserSize, share: int, drifts: dict) -> dict:
    """The weights of one user in a round; `drifts` has what it gave to each item, in steps, and grows."""
    weights = user_weights(items, importances, size.norm * share // SHARES)
    if size.cap >= size.norm:
        return weights
    step = step_of(size.cap)
    for item, weight in weights.items():
        weights[item] = min(weight, max(size.cap - drifts.get(item, 0) * step, 0))
        drifts[item] = drifts.get(item, 0) + -(-weights[item] // step)
    return weights


def histogram(kept: dict, sizes: tuple[UserSize, ...], share: int, importances: dict, drifts: dict) -> dict:
    """The sums of one round's weights; `drifts` has a dictionary for each user, and grows."""
    sums: dict = defaultdict(int)
    for user, items in kept.items():
        if not items:
            continue
        size, given = size_of(len(items), sizes), drifts.setdefault(user, {})
        for item, weight in capped_weights(items, importances, size, share, given).items():
            sums[item] += weight
    return sums


def position(score: int, round_: ScoredRound) -> int:
    """Where a score stands between futility bound and expected path, in parts of `ONE`."""
    way = max(round_.expected_path - round_.futility_bound, 1)
    return min(score - round_.futility_bound, way) * ONE // way


def allowed_below(importance: int | None, score: int, round_: ScoredRound) -> int:
    """The importance that an item allows the items below it, by its own prospects."""
    if importance is None:
        return 0
    return max(position(score, round_) ** 4 * FULL // ONE**4, 1) if importance else FULL


def limited(importances: dict, allowed: dict, above) -> dict:
    """The importances after those of the items above each item limit it."""
    limits = {item: min((allowed[other] for other in above(item)), default=FULL) for item in importances}
    return {
        item: None if importance is None or not limits[item] else min(importance, limits[item])
        for item, importance in importances.items()
    }


def importance_of(score: int, exposure: int, left: int, round_: ScoredRound) -> int | None:
    """The importance in the next round: 0 for settled items, none for abandoned ones."""
    if score < round_.futility_bound:
        return None
    if score >= round_.settled_bound:
        return 0
    prospect = position(score, round_)
    score = max(score, 1)
    missing = max(round_.target - score, 0)
    remaining = min(missing * exposure * ONE * 4 // (FULL * max(left, 1) * score * 5), ONE)
    return min(max(min(prospect**2 * FULL // ONE**2, isqrt(remaining**3) * FULL // isqrt(ONE**3)), 1), FULL)


@dataclass(frozen=True)
class Before:
    """What a round starts from: the importance of each item, and for each user its drifts."""

    importances: dict
    drifts: dict


def select(
    kept: dict,
    rounds: list[ScoredRound],
    key: bytes,
    seen: list[dict] | None = None,
    pasts: list[Before] | None = None,
    above=lambda _item: (),
):
    """The released items with their scores; histograms and pasts of every round go into the lists.

    `above` says which items stand above an item.
    """
    sizes = rounds[-1].sizes
    held = {item for items in kept.values() for item in items}
    importances = dict.fromkeys(held, FULL)
    drifts: dict = {}
    given, noises, exposure = dict.fromkeys(held, 0), dict.fromkeys(held, 0), dict.fromkeys(held, 0)
    left = SHARES
    for number, round_ in enumerate(rounds):
        if pasts is not None:
            pasts.append(Before(dict(importances), {user: dict(each) for user, each in drifts.items()}))
        sums = histogram(kept, sizes, round_.share, importances, drifts)
        if seen is not None:
            seen.append(dict(sums))
        left -= round_.share
        for item in held:
            if importances[item] is None:
                continue
            word = prf.noise_word(key, number, item[1])
            given[item] += sums[item]
            noises[item] += noise("gaussian", round_.scale, word)
            exposure[item] += round_.share * importances[item]
            if round_.threshold is None and importances[item]:
                score = given[item] + noises[item]
                importances[item] = importance_of(score, exposure[item], left, round_)
        if round_.threshold is None:
            scores = {item: given[item] + noises[item] for item in held}
            allowed = {item: allowed_below(importances[item], scores[item], round_) for item in held}
            importances = limited(importances, allowed, above)
    last = rounds[-1]
    return {
        item[1]: given[item] + noises[item]
        for item in held
        if importances[item] is not None
        and given[item] + noises[item] >= last.threshold
        and not (last.is_checked and noises[item] >= last.threshold)
    }
