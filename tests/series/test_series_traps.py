"""What the rules of a series are for: mechanisms that break one of them, and fail."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from neighbouring_streams import UNIT, YEAR, gaussian, random_stream, replay, rows
from reference import series as ref

NORMAL = NormalDist()


class NoiseFromAppearance(ref.Series):
    """The trap: the noise of an item begins when somebody first holds it."""

    def first_release_of_noise(self) -> int:
        return self.number


class Subtracting(ref.Series):
    """The trap: what a forgotten user gave is taken out of the scores of the block."""

    def forget(self, user) -> None:
        if user in self.accounts:
            for item, weight in self.accounts[user].given.items():
                self.walks[item].score -= weight
                self.walks[item].others -= weight
        super().forget(user)


class PayingByTheTable(ref.Series):
    """The trap: a user may spend something only if the table has enough users."""

    def allowances(self) -> dict:
        crowded = len(self.accounts) >= 12
        return {user: allowed if crowded else 0 for user, allowed in super().allowances().items()}


class ForgettingByTheTable(ref.Series):
    """The trap: users 2 and 4 are forgotten as soon as user 1 has rows."""

    def release(self, rows: ref.Rows, forget=()) -> frozenset:
        return super().release(rows, [2, 4] if 1 in rows else forget)


class ForgettingByLists(ref.Series):
    """What is allowed: users 2 and 4 are forgotten as soon as a list has something."""

    def release(self, rows: ref.Rows, forget=()) -> frozenset:
        return super().release(rows, [2, 4] if any(self.lists) else forget)


class Skipping(ref.Series):
    """The trap: no release without new pairs."""

    def release(self, rows: ref.Rows, forget=()) -> frozenset:
        known = {user: account.seen for user, account in self.accounts.items()}
        if all(items <= known.get(user, set()) for user, items in rows.items()):
            return frozenset()
        return super().release(rows, forget)


def failures(kind: type[ref.Series], user: int = 1) -> int:
    """How often lists differ although the noisy values are equal and the event does not occur."""
    failed = 0
    for seed in range(10):
        plan = replace(YEAR, waits=seed % 2 == 0)
        stream, noise = random_stream(seed, plan.releases), gaussian(seed, UNIT / math.sqrt(2))
        with_user, without_user, event = replay(kind, plan, stream, noise, user)
        failed += not event and with_user != without_user
    return failed


def test_allowances_that_depend_on_the_table_fail_the_replay() -> None:
    assert failures(ref.Series) == 0
    assert failures(PayingByTheTable) > 0


def test_deletions_that_depend_on_the_table_fail_the_replay() -> None:
    assert failures(ForgettingByLists) == 0
    assert failures(ForgettingByTheTable) > 0


def test_a_week_without_new_rows_is_a_release_all_the_same() -> None:
    """Otherwise the number of lists tells that `u` alone had new rows."""
    stream = lambda number, _: [rows(v="a"), rows(v="a", u="b"), rows(v="a")][number]  # noqa: E731
    plan = replace(YEAR, releases=3)
    for kind, made in ((ref.Series, (3, 3)), (Skipping, (2, 1))):
        lists = replay(kind, plan, stream, lambda *_: 0, "u")[:2]
        assert tuple(map(len, lists)) == made


def test_noise_from_the_first_appearance_fails_the_replay() -> None:
    plan = replace(YEAR, waits=False, blocks=(0,))
    failed: dict = defaultdict(int)
    for seed in range(5):
        stream, noise = random_stream(seed, plan.releases), gaussian(seed, UNIT / math.sqrt(2))
        for kind, user in itertools.product((ref.Series, NoiseFromAppearance), (1, 2, 4, 5, 7, 8)):
            with_user, without_user, event = replay(kind, plan, stream, noise, user)
            failed[kind] += not event and with_user != without_user
    assert failed[ref.Series] == 0
    assert failed[NoiseFromAppearance] > 0


def test_noise_from_the_first_appearance_gives_a_user_away() -> None:
    """`u` holds 600 items from the first release and gives them next to nothing; others come in the ninth.

    The number of items that the ninth release lists tells whether `u` was there.
    """
    items, unit = range(600), 1 << 20
    plan = ref.Plan(
        blocks=(0,), releases=9, rounds=1, norm=unit * unit // 4, threshold=lambda _: 3 * unit,
        cap=lambda _, rank: unit // (rank * rank), reach=600, unit=unit, waits=False,
    )  # fmt: skip
    crowd = {f"v{place}": frozenset({place // 2}) for place in range(1200)}

    stream = lambda number, _: {0: {"u": frozenset(items)}, 8: crowd}.get(number, {})  # noqa: E731
    listed = defaultdict(list)
    for kind, seed in itertools.product((ref.Series, NoiseFromAppearance), range(2)):
        source = np.random.default_rng(seed).normal(0, unit, (9, 600)).astype(int)
        noise = lambda t, _, i, source=source: int(source[t, i])  # noqa: E731
        for told in (stream, ref.without(stream, "u")):
            listed[kind].append(sum(len(new) for new in ref.play(kind(plan, noise), told).lists))
    for one, other in zip(listed[ref.Series][::2], listed[ref.Series][1::2], strict=True):
        assert abs(one - other) <= 2
    for one, other in zip(listed[NoiseFromAppearance][::2], listed[NoiseFromAppearance][1::2], strict=True):
        # The noise has a standard deviation of 3 or of 1, and the crowd gives 1: the band [2, 3).
        wide, narrow = (NORMAL.cdf(3 / s) - NORMAL.cdf(2 / s) for s in (3, 1))
        assert abs(one - 600 * wide) < 40
        assert abs(other - 600 * narrow) < 20
        assert one > 2.5 * other


def test_subtracting_what_a_user_gave_fails_the_replay() -> None:
    plan = replace(YEAR, waits=False, blocks=(0,))
    failed: dict = defaultdict(int)
    for kind, seed in itertools.product((ref.Series, Subtracting), range(20)):
        stream, noise, user = random_stream(seed, plan.releases), gaussian(seed, UNIT / math.sqrt(2)), 1

        def run(series: ref.Series, stream: ref.Stream) -> ref.Series:
            for number in range(plan.releases):
                series.release(stream(number, list(series.lists)), forget=[1] if number == 4 else [])
            return series

        # The middle process never takes weight out.
        middle = run(ref.Series(plan, noise, user), stream)
        given = middle.watched_weights
        moved = lambda t, r, i, n=noise, g=given: n(t, r, i) + g.get((t, r, i), 0)  # noqa: E731
        present, absent = run(kind(plan, noise), stream), run(kind(plan, moved), ref.without(stream, user))
        failed[kind] += not middle.differences and present.lists != absent.lists
    assert failed[ref.Series] == 0
    assert failed[Subtracting] > 0


# The trap of rows that react to lists of the running block.

STEP = 1000
COARSE = {value: Fraction(math.comb(4, value + 2), 16) for value in range(-2, 3)}
WATCHED = ref.Plan(
    blocks=(0,), releases=4, rounds=1, norm=STEP * STEP // 4, threshold=lambda n: int(3225 * math.sqrt(n)),
    cap=lambda _, __: STEP // 2, reach=2, unit=STEP, waits=False, pace=lambda left, _, __: left,
)  # fmt: skip


def sums_of(releases: int) -> dict[int, Fraction]:
    """The law of the noise of so many releases, in steps."""
    draws = 4 * releases
    return {
        total: Fraction(math.comb(draws, total + draws // 2), 2**draws)
        for total in range(-draws // 2, draws // 2 + 1)
    }


class Probing(ref.Series):
    """Item `i` gets next to nothing once it is high by itself; the importance of the probe `j` is fixed."""

    def observe(self, walk, item, release, number, weight) -> None:
        super().observe(walk, item, release, number, weight)
        high = item == "i" and release >= 1 and walk.score >= 4 * STEP
        walk.importance = 16 if item == "j" else 1 if high else 256


def watchers(number: int, lists: list[frozenset], *, reacts: bool) -> ref.Rows:
    """Fourteen users hold `i` and `j` in the third release. `u` takes `i` up in the fourth."""
    if number == 2:
        return {f"v{place}": frozenset("ij") for place in range(14)}
    if number == 3 and (not reacts or "j" in lists[2]):
        return rows(u="i")
    return {}


def event_of(plan: ref.Plan, *, reacts: bool) -> tuple[Fraction, Fraction]:
    """How likely the event is, and how likely it is if the third list has `j`; for every noise.

    The first two releases only matter by the sum of their noise, and so do three for `j`.
    """
    likely = listed = both = Fraction(0)
    laws = (sums_of(2), sums_of(1), sums_of(1), sums_of(3))
    for (first, p), (third, q), (fourth, r), (probe, s) in itertools.product(*(law.items() for law in laws)):
        drawn = {(1, "i"): first, (2, "i"): third, (3, "i"): fourth, (2, "j"): probe}
        stream = lambda number, lists: watchers(number, lists, reacts=reacts)  # noqa: E731
        noise = lambda t, _, i, drawn=drawn: STEP * drawn.get((t, i), 0)  # noqa: E731
        series = ref.play(Probing(plan, noise, "u"), stream)
        event = bool(series.differences)
        likely += event * p * q * r * s
        listed += ("j" in series.lists[2]) * p * q * r * s
        both += ("j" in series.lists[2] and event) * p * q * r * s
    return likely, both / listed if listed else Fraction(0)


def allowed_by_thresholds(plan: ref.Plan) -> Fraction:
    total = Fraction(0)
    for age, rank in itertools.product(range(1, plan.releases + 1), range(1, plan.reach + 1)):
        low, high = plan.threshold(age) - plan.cap(age, rank), plan.threshold(age)
        total += sum((p for value, p in sums_of(age).items() if low <= STEP * value < high), Fraction(0))
    return total


def test_rows_that_do_not_react_keep_what_the_thresholds_allow() -> None:
    likely, _ = event_of(WATCHED, reacts=False)
    assert 0 < likely <= allowed_by_thresholds(WATCHED)


def test_rows_that_react_to_lists_of_the_block_break_it() -> None:
    """Of many pairs of an item and a probe, take the item whose probe is in the list: its noise is high."""
    _, given_the_probe = event_of(WATCHED, reacts=True)
    assert given_the_probe > 25 * allowed_by_thresholds(WATCHED)


def test_rows_that_wait_for_the_next_block_may_react() -> None:
    assert event_of(replace(WATCHED, waits=True), reacts=True) == (0, 0)
