"""A series against its reference: lists, accounts, ranks and walks after every release, bit for bit."""

from __future__ import annotations

import bisect
import json
import math
from random import Random

import pytest

from dpsel import _core
from reference import prf, series_state
from reference import series as ref
from reference.noise import noise

SERIES = 17
SECRET = bytes(range(32))
COLUMNS = json.dumps({"user": "user", "items": ["item"]})


def plan_of(
    *, waits: bool, releases: int = 28, most: int = 6, epsilon: float = 8.0, delta: float = 0.05
) -> str:
    return _core.series_plan(
        epsilon=epsilon, delta=delta, rho=None, releases=releases, max_items_per_user=most, waits=waits
    )


def noise_key(release: int) -> bytes:
    return bytes([100 + release]) * 32


def words(sigma: float) -> ref.Noise:
    known: dict = {}

    def of(release: int, number: int, item) -> int:
        if (release, number, item) not in known:
            key = prf.subkey(noise_key(release), SERIES, number + 1)
            word = prf.aes(key, prf.item_digest(SECRET, item))
            known[release, number, item] = noise("gaussian", sigma, word)
        return known[release, number, item]

    return of


def reference_plan(text: str) -> ref.Plan:
    plan = json.loads(text)
    asked, pace = plan["asked"], plan["pace"]
    place = lambda rank: bisect.bisect_left(plan["ranks"], rank)  # noqa: E731
    return ref.Plan(
        blocks=tuple(first - 1 for first in plan["blocks"]),
        releases=asked["releases"],
        rounds=plan["rounds"],
        norm=plan["norm"],
        threshold=lambda age: plan["thresholds"][age - 1],
        cap=lambda age, rank: plan["caps"][age - 1][place(rank)],
        reach=asked["max_items_per_user"],
        unit=plan["spread"],
        waits=asked["waits"],
        pace=ref.falling(pace),
        importance=ref.on_course,
        weighing=lambda release: math.isqrt(pace[release]),
        priority=lambda user, item: prf.bound_priority(SECRET, user, item),
    )


def release(plan: str, state: bytes | None, rows, number: int, forget=(), **settings):
    """One release of the core: the new state, and its items."""
    pairs = [(user, item) for user, items in rows.items() for item in items]
    gone = [prf.user_digest(SECRET, user).to_bytes(16, "little") for user in forget]
    source = _core.Source.pairs(pairs)
    found = _core.series_release(plan, SECRET, state, noise_key(number), source, COLUMNS, gone, **settings)
    columns = found.items.to_columns()
    return found.state, frozenset(columns[0])


def stream_of(seed: int, releases: int, items=range(14)) -> list[ref.Rows]:
    """Users with rows over time. Some items are frequent at once, some later, some never; a week is empty."""
    chance = Random(seed)
    weeks = []
    for number in range(releases):
        likely = [1 / (2 + abs(place - 2 * number)) for place in range(len(items))]
        week = {}
        for user in range(40):
            held = [item for item, weight in zip(items, likely, strict=True) if chance.random() < weight / 2]
            if held and number != 3:
                week[f"user {user}" if seed % 2 else user] = frozenset(held)
        weeks.append(week)
    return weeks


def compare(series: ref.Series, text: str, found: series_state.State) -> None:
    plan = json.loads(text)
    digest = lambda item: prf.item_digest(SECRET, item)  # noqa: E731
    out_before = {digest(item) for item in series.out_before}
    assert {each for each, item in found.items.items() if item.status == 2} == out_before
    out = {digest(item) for item in series.out}
    assert {each for each, item in found.items.items() if item.status} == out
    accounts = {prf.user_digest(SECRET, user): account for user, account in series.accounts.items()}
    assert found.accounts.keys() == accounts.keys()
    for user, account in accounts.items():
        core = found.accounts[user]
        assert (core.left, core.first, core.ranked) == (account.left, account.first + 1, len(account.ranks))
        pairs = [
            (digest(item), bisect.bisect_left(plan["ranks"], rank), account.given[item])
            for item, rank in account.ranks.items()
            if digest(item) not in out_before
        ]
        assert core.pairs == pairs
        if account.ranks.keys() != account.seen and core.ranked != plan["asked"]["max_items_per_user"]:
            assert core.queue == [digest(item) for item in account.queue if digest(item) not in out_before]
    for item, walk in series.walks.items():
        if item in series.out:
            continue
        score, noisy = walk.score, walk.score - walk.others
        expected = (score, noisy, walk.exposure, walk.importance) if walk.importance else ()
        assert found.items[digest(item)].walk == expected


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_every_release_is_that_of_the_reference(seed, waits) -> None:
    text = plan_of(waits=waits)
    plan = reference_plan(text)
    series = ref.Series(plan, words(json.loads(text)["sigma"]))
    items = [f"item {n}" + "x" * 30 * (n % 2) for n in range(14)] if seed % 2 else range(14)
    weeks, state, released = stream_of(seed, 10, items), None, 0
    for number, rows in enumerate(weeks):
        goes = [next(iter(rows))] if number == 5 else []
        expected = series.release(rows, forget=goes)
        state, found = release(text, state, rows, number, goes)
        assert found == expected
        compare(series, text, series_state.read(state, SECRET))
        released += len(expected)
    assert released > 3
