"""Law 3: adding a user changes the integer histogram by at most one unit of norm, exactly.

Each mechanism says in `tests/mechanisms.py` what its norms are and how its weights can be seen. Where noisy
weights are published, the weights are read off them. Where a curve decides, a release says of each item on
which side of its word the weight lies, and the plain form has to say the same of every item.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from math import ceil, isqrt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from dpsel import testing
from mechanisms import Seen
from reference import mechanisms as reference
from reference.noise import UNIT
from rounds import Past, gives_one_unit, histogram, play, quantum_of, shipped, usual_total
from strategies import keys, max_items, neighbours
from support import KEY, items_of, select, table, units_of

#: With the crowd every item clears its first threshold, and its exact weight can be seen.
GENEROUS = dpsel.ApproxDP(epsilon=25.0, delta=0.01)
#: Under this some items are released, and some are not.
MODERATE = dpsel.ApproxDP(epsilon=3.0, delta=0.05)
ITEMS = range(21)
#: Users with one item each, the same on both sides.
CROWD = [(10_000 + 100 * n + i, i) for i in ITEMS for n in range(12)]


def reading_error(case) -> int:
    """By how many integer units the difference of two weights of an item may be misread.

    Policies publish in steps. Scores add weights that are rounded down in every round.
    """
    if case.seen is Seen.SCORE:
        return case.mechanism.rounds
    return reference.STEP - 1 if reference.DEFINITIONS[case.name].policy else 0


def widened(norms: dict, error: int) -> dict:
    """Norms of weights of all items that were read with so large an error in all."""
    most = dict(norms)
    if error and "l1" in most:
        most["l1"] += error
    if error and "l2_squared" in most:
        most["l2_squared"] = (isqrt(most["l2_squared"]) + error) ** 2
    return most


def norms(case, privacy, bound: int, items: int | None = None) -> dict:
    """The declared norms; of scored rounds that of users of `items` items, or the largest one of all users."""
    if case.seen is not Seen.SCORE:
        return case.norms(bound)
    sizes = shipped(case.mechanism, privacy, bound)[0][-1]["publish"]["sizes"]
    if items is not None:
        return {"l2_squared": next(size["norm"] for size in sizes if size["items"] >= items) ** 2}
    return {"l2_squared": max(size["norm"] for size in sizes) ** 2}


def check(case, before: dict, after: dict, allowed: dict, error: int = 0, step: int = 1) -> testing.Distance:
    """Within the declared norms; and weights do not fall, but for the rounded steps of a policy in L2."""
    found = testing.check_distance(before, after, **widened(allowed, error))
    fallen = [weight - after.get(item, 0) for item, weight in before.items() if weight > after.get(item, 0)]
    # What a mechanism returns to users may fall where others hold less of it.
    if case.name not in ("mad", "mad2r"):
        assert max(fallen, default=0) <= step
    assert found.lowered == len(fallen)
    return found


def visible(mechanism):
    """The same with a cutoff so high above the threshold that every item at it is released."""
    return dataclasses.replace(mechanism, alpha=400.0) if hasattr(mechanism, "alpha") else mechanism


def in_one_round(case):
    """The same with one scored round: in later ones the weights of all users follow what a user changed.

    That these are within the norms, whatever happened before, is seen by `test_every_round_given_the_past`.
    """
    if case.seen is not Seen.SCORE:
        return case
    return dataclasses.replace(case, mechanism=dataclasses.replace(case.mechanism, rounds=1))


def seen_weights(case, data: pa.Table, bound: int, key: bytes) -> dict:
    """Weights and noise of all items: the noise is the key's, so that it cancels between two tables."""
    release = select(
        data,
        privacy=GENEROUS,
        max_items_per_user=bound,
        mechanism=visible(case.mechanism),
        with_weights=True,
        key=key,
    )
    return units_of(release)


def check_play(case, rows, bound: int, key: bytes) -> list[Past]:
    """The shipped release is that of the plain rounds, weight by weight; what each of them had before it."""
    release = select(
        table(rows),
        privacy=MODERATE,
        max_items_per_user=bound,
        mechanism=case.mechanism,
        with_weights=case.has_weights,
        key=key,
    )
    released, pasts = play(case.mechanism, MODERATE, rows, bound, key)
    assert items_of(release) == sorted(released)
    if case.has_weights:
        assert units_of(release) == released
    return pasts


@given(tables=neighbours(), bound=max_items, key=keys)
def test_shipped_histograms_of_neighbours(case, tables, bound, key) -> None:
    """Replay: the same key on both tables, the histograms read off what is published."""
    case, bound = in_one_round(case), case.bound(bound)
    if case.has_weights:
        before, after = (seen_weights(case, table(rows + CROWD), bound, key) for rows in tables)
        assert before.keys() == after.keys() == set(ITEMS)
        error = reading_error(case)
        check(case, before, after, norms(case, GENEROUS, bound), error * len(ITEMS), error + 1)
        return
    for rows in tables:
        check_play(case, rows, bound, key)
    rounds, _ = shipped(case.mechanism, MODERATE, bound)
    sums = (histogram(case.mechanism, rounds, 0, rows, Past(), bound, key) for rows in tables)
    check(case, *sums, case.norms(bound))


@given(tables=neighbours(), bound=max_items, key=keys, removed=st.sets(st.integers(0, 20)))
def test_every_round_given_the_past(case, tables, bound, key, removed) -> None:
    """Whatever earlier rounds showed, a round's histograms are within the declared norms.

    The pasts are those of the shipped release, and others in which more items were removed.
    """
    bound = case.bound(bound)
    rounds, _ = shipped(case.mechanism, MODERATE, bound)
    pasts = check_play(case, tables[1], bound, key)
    assert len(pasts) == len(rounds)
    for number, past in enumerate(pasts):
        more = dataclasses.replace(past, removed=past.removed | {(int, item) for item in removed})
        for given_past in (past, more):
            sums = (
                histogram(case.mechanism, rounds, number, rows, given_past, bound, key) for rows in tables
            )
            check(case, *sums, norms(case, MODERATE, bound))


@cache
def crowd_size(case, bound: int) -> int:
    """So many users with nothing but an item that it is released in the first round, come what noise may."""
    first = shipped(visible(case.mechanism), GENEROUS, bound)[0][0]
    noise = 20 * (first["noise"].get("sigma") or first["noise"]["scale"])
    if case.seen is Seen.SCORE:
        # And its score reaches the target after its share of the first round.
        return ceil((first["target"] / UNIT + noise) * 2**20 / first["share"])
    return ceil(first["threshold"] / UNIT + noise)


@pytest.mark.parametrize("items", [1, 2, 3, 5, 7, 100, pytest.param(300, marks=pytest.mark.slow)])
def test_a_users_budget_is_never_exceeded_and_nearly_spent(case, items) -> None:
    """One user more, who holds every item, under the same key: it adds its norm, less the rounding."""
    case, bound = in_one_round(case), case.bound(items)
    if not case.has_weights:
        check_spent_by_decisions(case, bound)
        return
    # A user of fewer items than it may keep can have another norm.
    items = max(items, case.kept(bound))
    crowd, wanted = crowd_size(case, bound), np.arange(items)
    users = np.arange(items * crowd)
    rows = pa.table({"user": users, "item": users % items})
    user = pa.table({"user": np.full(items, 2**40), "item": wanted})
    before, after = (seen_weights(case, data, bound, KEY) for data in (rows, pa.concat_tables([rows, user])))
    assert before.keys() == after.keys() == set(wanted.tolist())
    error = reading_error(case)
    allowed = norms(case, GENEROUS, bound)
    found = check(case, before, after, allowed, error * items, error + 1)
    check_spent(norms(case, GENEROUS, bound, items), found, (error + 1) * items)


def check_spent(whole_norms: dict, found: testing.Distance, lost: int) -> None:
    """All of the norm but `lost` integer units."""
    spent = found.l1 if "l1" in whole_norms else isqrt(found.l2_squared)
    whole = whole_norms["l1"] if "l1" in whole_norms else isqrt(whole_norms["l2_squared"])
    assert spent >= whole - lost - 64


def check_spent_by_decisions(case, bound: int) -> None:
    """So many users of the same items that about half are released: the words tell where the weight lies."""
    rounds, _ = shipped(case.mechanism, MODERATE, bound)
    last = rounds[-1]
    most = next(users for users in range(1, 10**6) if usual_total(last, users, bound) >= last["half"])
    rows = [(user, item) for user in range(most) for item in range(bound)]
    for first in range(4):
        check_play(case, rows, bound, bytes([first]) * 32)
    alone = ([], [(0, item) for item in range(bound)])
    sums = (histogram(case.mechanism, rounds, 0, each, Past(), bound, KEY) for each in alone)
    # Each item may lose less than a quantum; users who fill one item place all of their unit.
    lost = 0 if gives_one_unit(rounds[0]) else quantum_of(rounds[0]) * bound
    check_spent(case.norms(bound), check(case, *sums, case.norms(bound)), lost)
