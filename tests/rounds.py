"""The rounds of every mechanism in plain Python, from its report, to compare releases with."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache

import dpsel
from dpsel import _core
from mechanisms import kept_items
from reference import adaptive, curves, filled, matching, prf, sequential, steered
from reference import mechanisms as reference
from reference.noise import UNIT, at_least, noise
from support import report_of, scored_round, select, table

WEIGHTS = {
    "count": reference.count_weight,
    "equal_l1": reference.l1_weight,
    "equal_l2": reference.l2_weight,
    "policy_l2": reference.l2_weight,
    "mad": reference.l2_weight,
}
#: What a look takes where lists are short.
SHORT = dpsel.Matching(screening=True)
POLICIES = {
    "policy_l1": sequential.descent_l1,
    "policy_l2": sequential.descent_l2,
    "mad": adaptive.adaptive,
}


@dataclass(frozen=True)
class Past:
    """The outcomes of earlier rounds: items that they removed, and what is known of the others."""

    removed: frozenset = frozenset()
    importances: dict | None = None
    #: For each user, what it gave to its items in scored rounds.
    drifts: dict | None = None
    #: Noisy levels, by which a matching orders the items.
    ranking: dict | None = None


def rounds_of(release) -> list[dict]:
    return report_of(release)["calibration"]["rounds"]


@cache
def shipped(mechanism, privacy, bound: int) -> tuple[list[dict], list[list[int]]]:
    """The rounds of a mechanism, and the table of each."""
    rounds = rounds_of(select(table([]), privacy=privacy, max_items_per_user=bound, mechanism=mechanism))
    return rounds, [_core.curve_words(json.dumps(each)) if "curve" in each else [] for each in rounds]


def is_greedy(mechanism) -> bool:
    return isinstance(mechanism, dpsel.GreedyFrequency | dpsel.UnitGreedy)


def quantum_of(round_: dict) -> int:
    """What contributions are multiples of."""
    return round_["quantum"] if "curve" in round_ and not curves.is_continuous(round_["curve"]) else 1


def screening_of(round_: dict) -> adaptive.Screening | None:
    """The parameters of a screening round."""
    if "futility_bound" not in round_ or "share" in round_:
        return None
    steering = (round_["futility_bound"], round_["expected_path"], round_["target"])
    return adaptive.Screening(round_["noise"]["sigma"], *steering)


def is_ranking(round_: dict) -> bool:
    """Whether a round sets the order of the items and nothing else."""
    return "rate_above" in round_


def histogram(mechanism, rounds: list[dict], number: int, rows, past: Past, bound: int, key: bytes) -> dict:
    """The weights of a round after any past, in grid steps; items are (type, value)."""
    weighting, quantum = rounds[number]["weighting"], quantum_of(rounds[number])
    if is_greedy(mechanism):
        left = [(user, item) for user, item in rows if (type(item), item) not in past.removed]
        ordered = sequential.preferred(left, bound, key, mechanism.prior)
        return sequential.greedy(ordered, weighting["greedy"]["cutoff"], key)
    sets = {user: items - past.removed for user, items in reference.sets_of(rows).items()}
    bounded = reference.bound(sets, kept_items(mechanism, bound), key)
    if "share" in rounds[number]:
        importances = {
            item: (past.importances or {}).get(item, steered.FULL)
            for kept in bounded.values()
            for item in kept
        }
        drifts = {user: dict(each) for user, each in (past.drifts or {}).items()}
        sizes, share = scored_round(rounds[-1]).sizes, rounds[number]["share"]
        return steered.histogram(bounded, sizes, share, importances, drifts)
    if isinstance(weighting, str):
        return reference.histogram(bounded, lambda k: WEIGHTS[weighting](k) // quantum * quantum)
    ((name, parameters),) = weighting.items()
    if name == "matching":
        return matching.levels(bounded, parameters, key, past.ranking)
    if past.importances is not None:
        return adaptive.adaptive(bounded, parameters, key, past.importances)
    return POLICIES[name](bounded, parameters | {"max_items": bound, "quantum": quantum}, key)


def play(mechanism, privacy, rows, bound: int, key: bytes) -> tuple[dict, list[Past]]:
    """The released items with their noisy weights (None without noise), and the past of each round."""
    sets = reference.sets_of(rows)
    if isinstance(mechanism, dpsel.MatchingOr):
        mechanism, privacy = after_a_look(mechanism, privacy, sets, bound, key)
    rounds, tables = shipped(mechanism, privacy, bound)
    if "share" in rounds[0]:
        scored, pasts = [scored_round(each) for each in rounds], []
        kept = reference.bound(sets, kept_items(mechanism, bound), key)
        found = steered.select(kept, scored, key, pasts=pasts)
        return found, [Past(importances=each.importances, drifts=each.drifts) for each in pasts]
    items = set().union(*sets.values())
    released, pasts, past = {}, [], Past()
    for number, (each, words) in enumerate(zip(rounds, tables, strict=True)):
        pasts.append(past)
        sums = histogram(mechanism, rounds, number, rows, past, bound, key)
        if is_ranking(each):
            past = Past(ranking=matching.ranked(items, sums, each, key))
            continue
        if screening := screening_of(each):
            importances = adaptive.screened(items, sums, screening, number, key)
            past = Past(frozenset(item for item in items if importances[item] == 0), importances)
            continue
        out = decide(each, words, sums, number, key)
        released |= {item[1]: noisy for item, noisy in out.items()}
        past = Past(past.removed | out.keys(), past.importances, past.ranking)
    return released, pasts


@dataclass(frozen=True)
class Looked:
    """What a look shows and costs, and what is left."""

    epsilon: float
    score: int
    is_short: bool
    rest: dpsel.ApproxDP


def look_at(choice, privacy, sets: dict, limit: int, key: bytes) -> Looked:
    """The look at what Matching fills; the core rounds its budget and the rate of its noise down."""
    epsilon = math.nextafter(choice.share * privacy.epsilon, 0)
    rest = dpsel.ApproxDP(epsilon=math.nextafter(privacy.epsilon - epsilon, 0), delta=privacy.delta)
    bounded = reference.bound(sets, filled.SEEN, key)
    users = {user: set(items) for user, items in bounded.items()}
    score = filled.score(users, matching.in_order(bounded, key), quota_of_a_look(rest, limit))
    most = filled.MOST_HELD
    noisy = score + filled.noise(key, math.nextafter(epsilon / most, 0))
    return Looked(epsilon, noisy, noisy >= math.ceil(most / epsilon), rest)


def quota_of_a_look(rest, limit: int) -> int:
    """The slots of each item, for what a look leaves."""
    (first, _), _ = shipped(SHORT, rest, limit)
    return first["weighting"]["matching"]["quota"]


def after_a_look(choice, privacy, sets: dict, limit: int, key: bytes) -> tuple:
    """The mechanism that a look chooses, and its budget."""
    looked = look_at(choice, privacy, sets, limit, key)
    return (SHORT if looked.is_short else choice.otherwise), looked.rest


def decide(round_: dict, words: list[int], sums: dict, number: int, key: bytes) -> dict:
    """What a round releases of the items with some weight."""
    out = {}
    for item, total in sums.items():
        word = prf.noise_word(key, number, item[1])
        if "curve" in round_:
            if total > 0 and word < curves.words_at(round_, words, total):
                out[item] = None
            continue
        kind, scale = round_["noise"]["kind"], round_["noise"].get("sigma") or round_["noise"]["scale"]
        if at_least(kind, round_["threshold"] - total, scale, word):
            noisy = total + noise(kind, scale, word)
            steps = isinstance(round_["weighting"], dict)
            past = noisy - round_["threshold"]
            out[item] = round_["threshold"] + past // reference.STEP * reference.STEP if steps else noisy
    return out


def gives_one_unit(round_: dict) -> bool:
    """Whether a user gives its whole unit to one of its items."""
    return "greedy" in round_["weighting"] or "matching" in round_["weighting"]


def usual_weight(round_: dict, items: int) -> int:
    """What a user gives to each of so many items, if all are as popular."""
    weighting = round_["weighting"]
    if isinstance(weighting, dict) and "policy_l1" in weighting:
        passes = weighting["policy_l1"]["passes"]
        return passes * -(-(UNIT // passes) // items)
    name = weighting if isinstance(weighting, str) else next(iter(weighting))
    return WEIGHTS[name](items) // quantum_of(round_) * quantum_of(round_)


def usual_total(round_: dict, users: int, items: int) -> int:
    """The weight of an item of so many users, each with so many items that are as popular."""
    if gives_one_unit(round_):
        # Every user gives its unit to one of its items.
        return users // items * UNIT
    return users * usual_weight(round_, items)
