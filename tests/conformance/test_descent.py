"""Lines of descent in trees and n-grams: closed lists, Lemma 1' by replay, and releases."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from reference import descent, prf, steered
from reference.noise import UNIT
from strategies import keys
from support import KEY, report_of, rounds_of, select, table, units_of

PRIVACY = dpsel.ApproxDP(epsilon=3.0, delta=0.05)

#: Paths of up to four parts of few names, so that users share nodes of all levels; texts of a few words too.
names = st.sampled_from("abc")
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
texts = st.lists(names, min_size=1, max_size=6).map(" ".join)
of_users = lambda items: st.lists(st.tuples(st.integers(0, 30), items), min_size=1, max_size=150)  # noqa: E731

TREE = descent.Tree()
GRAMS = [descent.NGrams(1, 2), descent.NGrams(1, 4), descent.NGrams(2, 3)]


def random_tree(seed: int, users: int = 60) -> list[tuple[int, str]]:
    """Rows of (user, path) with frequent tops and rare leaves."""
    draw = random.Random(seed)
    path = [(lambda level: "/".join(str(int(draw.expovariate(0.7))) for _ in range(level)))] * 1
    return [(user, path[0](draw.randint(1, 4))) for user in range(users) for _ in range(draw.randint(1, 9))]


def random_texts(seed: int, users: int = 60) -> list[tuple[int, str]]:
    """Rows of (user, text) with frequent words and rare ones."""
    draw = random.Random(seed)
    words = lambda: " ".join(str(int(draw.expovariate(0.5))) for _ in range(draw.randint(1, 6)))  # noqa: E731
    return [(user, words()) for user in range(users) for _ in range(draw.randint(1, 3))]


def options_of(lines: descent.Tree | descent.NGrams) -> dict:
    if isinstance(lines, descent.Tree):
        return {"levels": lines.separator}
    return {"ngrams": (lines.fewest, lines.most)}


def released(rows, lines, bound: int, key: bytes, **options) -> set:
    release = select(
        table(rows), privacy=PRIVACY, max_items_per_user=bound, key=key,
        mechanism=dpsel.Steered(rounds=6), **options_of(lines), **options,
    )  # fmt: skip
    assert report_of(release)["calibration"]["descent"]
    found = descent.select(rows, rounds_of(release), bound, key, lines)
    assert set(release) == found
    return found


@given(rows=of_users(paths), bound=st.integers(1, 12), key=keys)
def test_releases_of_trees_are_those_of_the_reference(rows, bound, key) -> None:
    released(rows, TREE, bound, key)


@given(rows=of_users(texts), lines=st.sampled_from(GRAMS), bound=st.integers(1, 12), key=keys)
def test_releases_of_ngrams_are_those_of_the_reference(rows, lines, bound, key) -> None:
    released(rows, lines, bound, key)


@pytest.mark.parametrize("bound", [3, 10, 100])
@pytest.mark.parametrize("lines", [TREE, *GRAMS], ids=str)
def test_larger_tables(lines, bound) -> None:
    made = random_tree if lines is TREE else random_texts
    rows = [(user + 60 * seed, item) for seed in range(4) for user, item in made(seed)]
    found = released(rows, lines, bound, KEY)
    assert any("/" in item or " " in item for item in found)


@pytest.mark.parametrize("seed", [2, 6])
def test_with_weights_only_items_that_have_some_come_out(seed) -> None:
    """With this delta, an item inside released ones may have no chance. Without weights it comes out."""
    rows, lines = random_texts(seed, users=20), descent.NGrams(1, 3)
    privacy, mechanism = dpsel.ApproxDP(epsilon=1.0, delta=0.4), dpsel.Steered(rounds=6)
    arguments = {"privacy": privacy, "max_items_per_user": 9, "mechanism": mechanism, "ngrams": (1, 3)}
    release = select(table(rows), with_weights=True, **arguments)
    kept = descent.bound(descent.sets_of(rows, lines), 9, KEY, lines)
    assert units_of(release) == steered.select(kept, rounds_of(release), KEY, above=lines.above)
    assert set(release) < set(select(table(rows), **arguments))


def test_ngrams_of_one_length_have_no_lines() -> None:
    arguments = {"privacy": PRIVACY, "max_items_per_user": 3, "mechanism": dpsel.Steered(rounds=6)}
    rows = random_texts(1)
    release = select(table(rows), ngrams=(2, 2), **arguments)
    assert "descent" not in report_of(release)["calibration"]
    pairs = [(user, gram) for user, text in rows for _, gram in descent.NGrams(2, 2).of_row(text)]
    assert list(release) == list(select(table(pairs), **arguments))


@given(
    rows=of_users(texts) | of_users(paths),
    lines=st.sampled_from([TREE, *GRAMS]),
    bound=st.integers(1, 12),
    key=keys,
)
def test_kept_lists_are_closed_and_full(rows, lines, bound, key) -> None:
    """This is about the reference; releases are compared with it above."""
    sets = descent.sets_of(rows, lines)
    for user, kept in descent.bound(sets, bound, key, lines).items():
        assert all(set(lines.above(item)) <= set(kept) for item in kept)
        assert len(kept) == min(bound, len(sets[user]))


def open_bound(sets: dict, max_items: int, key: bytes, _lines: object) -> dict:
    """Bounding that is not closed: any items by priority."""
    first = lambda user, items: sorted(items, key=lambda item: prf.bound_priority(key, user[1], item[1]))  # noqa: E731
    return {user: first(user, items)[:max_items] for user, items in sets.items()}


ROUNDS = [
    steered.ScoredRound(0.8, steered.SHARES // 4, -UNIT + step, UNIT // 2 + step, 6 * UNIT, 50 * UNIT)
    for step in (0, UNIT // 4, UNIT // 2, UNIT)
]


def replay(seed: int, lines, bounding) -> bool:
    """Whether what happens outside of O leaves the weights of others as they are: Lemma 1'.

    One user is added. The noisy weights of O, the items that others keep, are the same in both worlds, and
    those of other items are not.
    """
    draw, key = random.Random(seed), random.Random(seed).randbytes(32)
    made = random_tree if lines is TREE else random_texts
    sets = descent.sets_of(made(seed, users=12), lines)
    kept = bounding(sets, 4, key, lines)
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
            above = lambda item, held=held: [each for each in lines.above(item) if each in held]  # noqa: E731
            importances = steered.limited(importances, allowed, above)
        seen.append(weights)
    return seen[0] == seen[1]


@pytest.mark.long("replays hundreds of small tables")
@pytest.mark.parametrize("lines", [TREE, *GRAMS], ids=str)
def test_what_one_user_holds_alone_changes_no_other_user(lines) -> None:
    """Lemma 1' of docs/algorithms/descent.md. It needs lists that are closed."""
    assert all(replay(seed, lines, descent.bound) for seed in range(150))
    assert not all(replay(seed, lines, open_bound) for seed in range(150))


@pytest.mark.parametrize("lines", [TREE, descent.NGrams(1, 3)], ids=str)
def test_order_repetition_and_threads_change_nothing(lines) -> None:
    """Law 1, for items that stand above others."""
    made = random_tree if lines is TREE else random_texts
    rows = [(user + 60 * seed, item) for seed in range(8) for user, item in made(seed)]
    arguments = {
        "privacy": PRIVACY,
        "max_items_per_user": 9,
        "mechanism": dpsel.Steered(rounds=6),
        **options_of(lines),
    }
    expected = list(select(table(rows), **arguments))
    assert len(expected) > 20
    for threads in (1, 3):
        shuffled = rows + rows[:200]
        random.Random(threads).shuffle(shuffled)
        assert list(select(table(shuffled), threads=threads, **arguments)) == expected
