"""Lines of descent: closed lists, Lemma 1' by replay, and releases of trees against the reference."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from reference import descent, prf, steered
from reference.noise import UNIT
from strategies import keys
from support import KEY, rounds_of, select, table

PRIVACY = dpsel.ApproxDP(epsilon=3.0, delta=0.05)

#: Paths of up to four parts of few names, so that users share nodes of all levels.
paths = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)
trees = st.lists(st.tuples(st.integers(0, 30), paths), min_size=1, max_size=150)


def random_tree(seed: int, users: int = 60) -> list[tuple[int, str]]:
    """Rows of (user, path) with frequent tops and rare leaves."""
    draw = random.Random(seed)
    path = [(lambda level: "/".join(str(int(draw.expovariate(0.7))) for _ in range(level)))] * 1
    return [(user, path[0](draw.randint(1, 4))) for user in range(users) for _ in range(draw.randint(1, 9))]


def released(rows, bound: int, key: bytes, **options) -> set:
    release = select(
        table(rows), levels="/", privacy=PRIVACY, max_items_per_user=bound, key=key,
        mechanism=dpsel.Steered(rounds=6), **options,
    )  # fmt: skip
    found = descent.select(rows, rounds_of(release), bound, key)
    assert set(release) == found
    return found


@given(rows=trees, bound=st.integers(1, 12), key=keys)
def test_releases_of_trees_are_those_of_the_reference(rows, bound, key) -> None:
    released(rows, bound, key)


@pytest.mark.parametrize("bound", [3, 10, 100])
def test_larger_trees(bound) -> None:
    rows = [row for seed in range(4) for row in random_tree(seed)]
    rows = [(user + 60 * at, item) for at in range(4) for user, item in rows[at::4]]
    found = released(rows, bound, KEY)
    assert any("/" in path for path in found)


@given(rows=trees, bound=st.integers(1, 12), key=keys)
def test_kept_lists_are_closed_and_full(rows, bound, key) -> None:
    """This is about the reference; releases are compared with it above."""
    sets = descent.sets_of(rows)
    for user, kept in descent.bound(sets, bound, key).items():
        assert all(set(descent.above(item)) <= set(kept) for item in kept)
        assert len(kept) == min(bound, len(sets[user]))


def open_bound(sets: dict, max_items: int, key: bytes) -> dict:
    """Bounding that is not closed: any items by priority."""
    first = lambda user, items: sorted(items, key=lambda item: prf.bound_priority(key, user[1], item[1]))  # noqa: E731
    return {user: first(user, items)[:max_items] for user, items in sets.items()}


ROUNDS = [
    steered.ScoredRound(0.8, steered.SHARES // 4, -UNIT + step, UNIT // 2 + step, 6 * UNIT, 50 * UNIT)
    for step in (0, UNIT // 4, UNIT // 2, UNIT)
]


def replay(seed: int, bounding) -> bool:
    """Whether what happens outside of O leaves the weights of others as they are: Lemma 1'.

    One user is added. The noisy weights of O, the items that others keep, are the same in both worlds, and
    those of other items are not.
    """
    draw, key = random.Random(seed), random.Random(seed).randbytes(32)
    rows = random_tree(seed, users=12)
    sets = descent.sets_of(rows)
    kept = bounding(sets, 4, key)
    added = descent.node(0)
    others = {user: items for user, items in kept.items() if user != added}
    shared = {item for items in others.values() for item in items}
    forced = [{item: draw.randint(-UNIT, 3 * UNIT) for item in sorted(shared)} for _ in ROUNDS]
    seen = []
    for world in (kept, others):
        held = {item for items in world.values() for item in items}
        importances = dict.fromkeys(held, steered.FULL)
        exposure, scores = dict.fromkeys(held, 0), dict.fromkeys(held, 0)
        weights, left = [], steered.SHARES
        for round_, noisy in zip(ROUNDS, forced, strict=True):
            alive = {item: importances[item] or 0 for item in held}
            weights.append({user: steered.user_weights(others[user], alive) for user in others})
            left -= round_.share
            for item in sorted(held):
                scores[item] += noisy.get(item, draw.randint(-2 * UNIT, UNIT))
                if importances[item]:
                    exposure[item] += round_.share * importances[item]
                    importances[item] = steered.importance_of(scores[item], exposure[item], left, round_)
            allowed = {item: steered.allowed_below(importances[item], scores[item], round_) for item in held}
            above = lambda item, held=held: [each for each in descent.above(item) if each in held]  # noqa: E731
            importances = steered.limited(importances, allowed, above)
        seen.append(weights)
    return seen[0] == seen[1]


@pytest.mark.long("replays hundreds of small tables")
def test_what_one_user_holds_alone_changes_no_other_user() -> None:
    """Lemma 1' of docs/algorithms/descent.md. It needs lists that are closed."""
    assert all(replay(seed, descent.bound) for seed in range(150))
    assert not all(replay(seed, open_bound) for seed in range(150))


def test_order_repetition_and_threads_change_nothing() -> None:
    """Law 1, for trees."""
    rows = [(user + 60 * seed, item) for seed in range(8) for user, item in random_tree(seed)]
    arguments = {
        "levels": "/",
        "privacy": PRIVACY,
        "max_items_per_user": 9,
        "mechanism": dpsel.Steered(rounds=6),
    }
    expected = list(select(table(rows), **arguments))
    assert len(expected) > 20
    for threads in (1, 3):
        shuffled = rows + rows[:200]
        random.Random(threads).shuffle(shuffled)
        assert list(select(table(shuffled), threads=threads, **arguments)) == expected
