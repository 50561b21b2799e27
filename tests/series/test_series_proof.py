"""The proof of `docs/algorithms/series.md`, step by step, on streams that are small enough to see through."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import pytest

from neighbouring_streams import (
    LAW,
    UNIT,
    YEAR,
    divergence,
    gaussian,
    random_stream,
    replay,
    rows,
    threshold_part,
)
from reference import series as ref

TINY = ref.Plan(
    blocks=(0, 1), releases=3, rounds=1, norm=6, threshold=lambda _: 2, cap=lambda _, __: 1, reach=2
)


def alone_then_shared(number: int, _: list[frozenset]) -> ref.Rows:
    """`u` holds both items before anybody else does."""
    return [rows(u="ab"), rows(v="a"), rows(w="ab", x="a")][number]


def shared_from_the_start(number: int, _: list[frozenset]) -> ref.Rows:
    return [rows(v="ab", w="a", u="a"), rows(u="b"), rows(x="b")][number]


def others_react(number: int, lists: list[frozenset]) -> ref.Rows:
    """Everybody but `u` does what the lists say; `u` has rows of its own."""
    if number == 0:
        return rows(u="ab", v="a", w="a")
    known = frozenset().union(*lists)
    return {name: frozenset("ab") - known for name in ("x", "y")} | rows(u="b")


def all_react(number: int, lists: list[frozenset]) -> ref.Rows:
    """`u`, too, does what the lists say; where arrivals wait, it may."""
    if number == 0:
        return rows(v="a", w="ab")
    known = frozenset().union(*lists)
    return {"u": frozenset("ab") - known, "x": frozenset("ab") if known else frozenset("a")}


SHORT = ref.Plan(
    blocks=(0, 2), releases=3, rounds=1, norm=6, threshold=lambda n: 1 + n, cap=lambda _, __: 1, reach=2
)
#: Pauses what is below -1, and halves what is above 1.
STEERED = {"importance": lambda walk, *_: 0 if walk.score < -1 else 128 if walk.score > 1 else 256}
CASES = {
    "alone, waiting": (TINY, alone_then_shared),
    "alone, prompt": (replace(TINY, waits=False, blocks=(0,)), alone_then_shared),
    "alone, prompt, steered": (replace(SHORT, waits=False, **STEERED), alone_then_shared),
    "shared, waiting": (replace(TINY, **STEERED), shared_from_the_start),
    "shared, prompt": (replace(TINY, waits=False, blocks=(0, 2)), shared_from_the_start),
    "others react, prompt": (replace(SHORT, waits=False), others_react),
    "all react, waiting": (replace(TINY, **STEERED), all_react),
    "all react, waiting, long block": (SHORT, all_react),
}


def tape(values: tuple[int, ...]) -> ref.Noise:
    return lambda release, _, item: values[2 * release + "ab".index(item)]


def outcomes(plan: ref.Plan):
    """All noise of two items in three releases, with its probability."""
    for values in itertools.product(LAW, repeat=2 * plan.releases):
        yield tape(values), math.prod(LAW[value] for value in values)


@pytest.mark.parametrize("case", CASES)
def test_middle_and_real_process_agree_off_the_event(case) -> None:
    """Lemmas 4 and 5: for every noise, in both worlds."""
    plan, stream = CASES[case]
    different = 0
    for noise, _ in outcomes(plan):
        real = ref.play(ref.Series(plan, noise), stream)
        middle = ref.play(ref.Series(plan, noise, "u"), stream)
        first = min((number for number, _ in middle.differences), default=plan.releases)
        assert real.lists[:first] == middle.lists[:first]
        if middle.differences:
            assert real.lists[first] != middle.lists[first]
            different += 1
        absent = ref.play(ref.Series(plan, noise, "u", present=False), stream)
        assert absent.lists == ref.play(ref.Series(plan, noise), ref.without(stream, "u")).lists
    assert different


@pytest.mark.parametrize("case", CASES)
def test_the_event_is_rare_and_the_lists_are_as_close_as_the_noisy_values(case) -> None:
    """Lemma 6 and Theorem 1, exactly: of all events, not only of those that a bound would think of."""
    plan, stream = CASES[case]
    values: list[dict] = [defaultdict(Fraction), defaultdict(Fraction)]
    lists: list[dict] = [defaultdict(Fraction), defaultdict(Fraction)]
    event = [Fraction(0), Fraction(0)]
    for noise, p in outcomes(plan):
        for world, present in enumerate((True, False)):
            middle = ref.play(ref.Series(plan, noise, "u", present=present), stream)
            values[world][tuple(sorted(middle.values.items()))] += p
            event[world] += p if middle.differences else 0
            told = stream if present else ref.without(stream, "u")
            lists[world][tuple(ref.play(ref.Series(plan, noise), told).lists)] += p
    assert 0 < max(event) <= threshold_part(plan)
    for epsilon in (0.0, 0.3, 1.0):
        for one, other in ((0, 1), (1, 0)):
            bound = divergence(values[one], values[other], epsilon) + float(event[one])
            assert divergence(lists[one], lists[other], epsilon) <= bound + 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_neighbours_have_the_same_lists_off_the_event(seed) -> None:
    """With equal noisy values. Users 0, 3, 6 and 9 react to lists; the others have rows of their own."""
    plan = replace(YEAR, waits=seed % 2 == 0)
    stream, noise = random_stream(seed, plan.releases), gaussian(seed, UNIT / math.sqrt(2))
    for user in range(12):
        with_user, without_user, event = replay(ref.Series, plan, stream, noise, user)
        assert event or with_user == without_user


def test_the_replays_see_releases_and_events() -> None:
    found, events = 0, 0
    for seed in range(6):
        stream, noise = random_stream(seed, YEAR.releases), gaussian(seed, UNIT / math.sqrt(2))
        for user in range(6):
            with_user, _, event = replay(ref.Series, YEAR, stream, noise, user)
            found, events = found + sum(map(len, with_user)), events + event
    assert found > 20
    assert 0 < events < 36


@pytest.mark.parametrize("waits", [True, False])
def test_norms_caps_and_ranks_hold_on_every_path(waits) -> None:
    plan = replace(YEAR, waits=waits)
    for seed in range(10):
        series = ref.Series(plan, gaussian(seed, UNIT / math.sqrt(2)))
        stream = random_stream(seed, plan.releases)
        for number in range(plan.releases):
            series.release(stream(number, list(series.lists)))
            for account in series.accounts.values():
                assert 0 <= account.left <= plan.norm
                assert sorted(account.ranks.values()) == list(range(1, len(account.ranks) + 1))
                assert len(account.ranks) <= plan.reach
                age = number - plan.block(number)[0] + 1
                assert all(
                    0 <= given <= plan.cap(age, account.ranks[item]) for item, given in account.given.items()
                )


@pytest.mark.parametrize("waits", [True, False])
def test_ranks_of_a_block_are_those_of_its_start(waits) -> None:
    """The same rows with other noise in the block: the ranks do not change."""
    plan = replace(YEAR, waits=waits, releases=4, blocks=(0, 2))
    stream = random_stream(5, plan.releases)

    calm = gaussian(1, UNIT / math.sqrt(2))
    seen = set()
    for seed in range(8):
        wild = gaussian(100 + seed, 2 * UNIT)
        noise = lambda t, r, i, wild=wild: (calm if t < 2 else wild)(t, r, i)  # noqa: E731
        series = ref.play(ref.Series(plan, noise), lambda number, _: stream(number, []))
        seen.add(tuple(tuple(account.ranks.items()) for account in series.accounts.values()))
    assert len(seen) == 1


def test_pairs_on_items_that_are_out_only_raise_the_ranks_of_planned_pairs() -> None:
    """Lemma 3 for arrivals that do not wait: `u` takes up, at once, whatever was listed."""
    plan = replace(YEAR, waits=False, reach=12, blocks=(0,))
    raised = 0
    for seed in range(12):
        stream, noise = random_stream(seed, plan.releases), gaussian(seed, UNIT / math.sqrt(2))

        def curious(number: int, lists: list[frozenset], stream=stream) -> ref.Rows:
            told = stream(number, lists)
            return told | {1: told.get(1, frozenset()) | (lists[-1] if lists else frozenset())}

        planned, real = (ref.play(ref.Series(plan, noise), each) for each in (stream, curious))
        account = real.accounts[1]
        for item, rank in planned.accounts[1].ranks.items():
            # The same item may have come early; then it was out, and gets nothing.
            if item in account.ranks and item not in real.out:
                assert account.ranks[item] >= rank
                raised += account.ranks[item] > rank
    assert raised


def test_noise_of_items_that_nobody_holds_may_be_drawn_later() -> None:
    """A series that measures every item from the start of each block has the same lists."""

    class Eager(ref.Series):
        def begin(self) -> None:
            super().begin()
            for item in range(12):
                self.walk(item)

    for seed in range(8):
        noise, stream = gaussian(seed, UNIT / math.sqrt(2)), random_stream(seed, YEAR.releases)
        plan = replace(YEAR, waits=seed % 2 == 0)
        lazy, eager = (ref.play(kind(plan, noise), stream) for kind in (ref.Series, Eager))
        assert lazy.lists == eager.lists


def test_a_user_that_is_forgotten_gives_nothing_and_changes_no_list_off_the_event() -> None:
    """Also if it comes back, and if it goes because of a list."""
    plan = replace(YEAR, waits=False)

    def run(series: ref.Series, stream: ref.Stream, user) -> ref.Series:
        for number in range(plan.releases):
            goes = [user] if number == 5 or (series.lists and series.lists[-1]) else []
            series.release(stream(number, list(series.lists)), forget=goes)
        return series

    for seed in range(10):
        stream, noise, user = random_stream(seed, plan.releases), gaussian(seed, UNIT / math.sqrt(2)), 1
        middle = run(ref.Series(plan, noise, user), stream, user)
        given = middle.watched_weights

        def moved(t, r, i, noise=noise, given=given):
            return noise(t, r, i) + given.get((t, r, i), 0)

        present = run(ref.Series(plan, noise), stream, user)
        absent = run(ref.Series(plan, moved), ref.without(stream, user), user)
        assert middle.differences or present.lists == absent.lists
        assert all(release < 5 for release, _, _ in given)


def test_whoever_is_forgotten_before_the_first_row_is_ignored() -> None:
    series = ref.Series(TINY, lambda *_: 0)
    series.release({}, forget=["u"])
    series.release(rows(u="a", v="a"))
    assert set(series.accounts) == {"v"}
    series.release(rows(u="b"), forget=["u", "v"])
    assert not series.accounts


def test_no_weight_is_negative_and_paused_items_get_none() -> None:
    """Also if totals were rounded up beyond the cap, and if all items of a user are paused."""
    series = ref.Series(TINY, lambda *_: 0)
    series.release(rows(u="ab"))
    account = series.accounts["u"]
    account.given["a"] = TINY.cap(1, 1) + 1
    account.given["b"] = 0
    assert series.weights(account, 6) == {"a": 0, "b": 1}
    for walk in series.walks.values():
        walk.importance = 0
    assert series.weights(account, 6) == {"a": 0, "b": 0}
