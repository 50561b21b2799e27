"""Every mechanism: rounds of bounding, weighing, deciding and taking out what was released."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from math import isqrt

from . import prf, sequential, steered
from .noise import UNIT, at_least, noise

Rows = Iterable[tuple[Hashable, Hashable]]

#: Steps of the noisy weights that policies publish, in grid steps.
STEP = UNIT >> 20


@dataclass(frozen=True)
class Round:
    """Scale (units of weight), threshold (grid steps) and weighting of one round, from a report."""

    scale: float
    threshold: int
    weighting: object = None


@dataclass(frozen=True)
class Definition:
    """What a mechanism is, apart from its calibration."""

    weight: Callable[[int], int]
    noise: str
    #: Weights from (bounded sets, parameters in the report, key), if users come one after the other.
    policy: Callable[[dict, dict, bytes], dict] | None = None


def count_weight(_k: int) -> int:
    return UNIT


def l1_weight(k: int) -> int:
    return UNIT // k


def l2_weight(k: int) -> int:
    return isqrt(UNIT * UNIT // k)


DEFINITIONS = {
    "count_laplace": Definition(count_weight, "laplace"),
    "count_gaussian": Definition(count_weight, "gaussian"),
    "weighted_laplace": Definition(l1_weight, "laplace"),
    "weighted_gaussian": Definition(l2_weight, "gaussian"),
    "policy_laplace": Definition(l1_weight, "laplace", sequential.descent_l1),
    "policy_gaussian": Definition(l2_weight, "gaussian", sequential.descent_l2),
    "sips": Definition(l2_weight, "gaussian"),
}


def sets_of(rows: Rows) -> dict[Hashable, set[Hashable]]:
    """Each user's distinct items; null items are dropped, null users are an error of the input.

    Keys are tagged with their type, because Python thinks that True == 1.
    """
    sets = defaultdict(set)
    for user, item in rows:
        if item is not None:
            sets[type(user), user].add((type(item), item))
    return sets


def bound(sets, max_items: int, key: bytes):
    """Each user keeps the items with the smallest priorities."""
    kept = {}
    for (kind, user), items in sets.items():
        ranked = sorted(items, key=lambda item: prf.bound_priority(key, user, item[1]))
        kept[kind, user] = ranked[:max_items]
    return kept


def histogram(bounded, weight: Callable[[int], int]) -> dict[Hashable, int]:
    """Sum of the weights of each item, in grid steps."""
    sums = defaultdict(int)
    for items in bounded.values():
        for item in items:
            sums[item] += weight(len(items))
    return sums


def weigh(definition: Definition, bounded, round_: Round, max_items: int, key: bytes) -> dict[Hashable, int]:
    """The weights of one round."""
    if definition.policy is None:
        return histogram(bounded, definition.weight)
    (parameters,) = round_.weighting.values()
    return definition.policy(bounded, parameters | {"max_items": max_items}, key)


def published(definition: Definition, round_: Round, noisy: int | None) -> int | None:
    """A noisy weight as it is published: where users react to others, in steps from the threshold."""
    if noisy is None or definition.policy is None:
        return noisy
    return round_.threshold + (noisy - round_.threshold) // STEP * STEP


def novel_weight(definition: Definition, round_: Round, t: int) -> int:
    """The most that a user gives to each of t items that nobody else holds."""
    if definition.policy is not sequential.descent_l1:
        return definition.weight(t)
    passes = round_.weighting["policy_l1"]["passes"]
    return passes * -(-(UNIT // passes) // t)


def histograms(mechanism: str, rows: Rows, rounds: list[Round], max_items: int, key: bytes) -> list[dict]:
    """The histogram of every round: what the sensitivity statements are about."""
    seen: list[dict] = []
    select(mechanism, rows, rounds, max_items, key, with_weights=False, seen=seen)
    return seen


def select(
    mechanism: str,
    rows: Rows,
    rounds: list[Round],
    max_items: int,
    key: bytes,
    *,
    with_weights: bool = True,
    seen: list[dict] | None = None,
) -> dict[Hashable, int | None]:
    """The released items, each with its noisy weight in grid steps (None without weights)."""
    if mechanism == "steered":
        found = steered.select(bound(sets_of(rows), max_items, key), rounds, key, seen)
        return found if with_weights else dict.fromkeys(found)
    definition = DEFINITIONS[mechanism]
    sets = sets_of(rows)
    released: dict[Hashable, int | None] = {}
    for number, round_ in enumerate(rounds):
        sums = weigh(definition, bound(sets, max_items, key), round_, max_items, key)
        if seen is not None:
            seen.append(dict(sums))
        out = set()
        for item, total in sums.items():
            word = prf.noise_word(key, number, item[1])
            if at_least(definition.noise, round_.threshold - total, round_.scale, word):
                out.add(item)
                noisy = total + noise(definition.noise, round_.scale, word) if with_weights else None
                released[item[1]] = published(definition, round_, noisy)
        sets = {user: items - out for user, items in sets.items()}
    return released
