"""A series of numbers against its reference: numbers, accounts and noisy values, bit for bit."""

from __future__ import annotations

import json
from random import Random

import pytest

from dpsel import _core
from reference import count_series as ref
from reference import count_series_state, prf
from reference.noise import noise

SERIES = 17
SECRET = bytes(range(32))
COLUMNS = json.dumps({"user": "user", "items": ["item"]})
RELEASES = 9


def plan_of(*, window: int, most: int = 3, each: int = 4, of_one_release: bool = False) -> str:
    return _core.count_series_plan(
        epsilon=8.0,
        delta=0.05,
        rho=None,
        releases=RELEASES,
        window=window,
        max_items_per_user=most,
        max_releases_per_item=1 if of_one_release else each,
        is_of_one_release=of_one_release,
    )


def noise_key(release: int) -> bytes:
    return bytes([100 + release]) * 32


def reference_plan(text: str) -> ref.Plan:
    plan = json.loads(text)
    asked = plan["asked"]
    return ref.Plan(
        releases=asked["releases"],
        weights=tuple(plan["weights"]),
        decode=tuple(plan["decode"]),
        most_items=asked["max_items_per_user"],
        most_releases=asked["max_releases_per_item"],
        of_one_release=asked["unit"] == "user_release",
        priority=lambda user, item: prf.bound_priority(SECRET, user, item),
    )


def words(sigma: float) -> ref.Noise:
    def of(release: int, item) -> int:
        word = prf.aes(prf.subkey(noise_key(release), SERIES, 1), prf.item_digest(SECRET, item))
        return noise("gaussian", sigma, word)

    return of


def release(plan: str, state: bytes | None, rows, number: int, named=(), forget=(), **settings):
    """One release of the core: the new state, and its numbers."""
    pairs = [(user, item) for user, items in rows.items() for item in items]
    gone = [prf.user_digest(SECRET, user).to_bytes(16, "little") for user in forget]
    listed = [(0, item) for item in named] if named else None
    found = _core.count_series_release(
        plan, SECRET, state, noise_key(number), _core.Source.pairs(pairs), COLUMNS, gone, listed, **settings
    )
    items, numbers = found.items.to_columns()
    return found.state, dict(zip(items, numbers, strict=True))


def stream_of(seed: int, items) -> list[ref.Rows]:
    chance = Random(seed)
    weeks = []
    for number in range(RELEASES):
        week = {}
        for user in range(30):
            held = [item for at, item in enumerate(items) if chance.random() < 1 / (2 + at)]
            if held and number != 3:
                week[f"user {user}" if seed % 2 else user] = frozenset(held)
        weeks.append(week)
    return weeks


def compare(series: ref.Series, found: count_series_state.State) -> None:
    digest = lambda item: prf.item_digest(SECRET, item)  # noqa: E731
    assert found.items == {digest(i): (series.users[i], series.noisy[i]) for i in series.named}
    accounts = {}
    if not series.plan.of_one_release:
        for user, items in series.counted.items():
            held = {digest(item): releases for item, releases in items.items() if releases}
            accounts[prf.user_digest(SECRET, user)] = (series.spent(user), held)
    of_core = {
        user: (spent, {item: [each - 1 for each in releases] for item, releases in held.items()})
        for user, (spent, held) in found.accounts.items()
    }
    assert of_core == accounts
    assert found.forgotten == sorted(prf.user_digest(SECRET, user) for user in series.forgotten)


@pytest.mark.parametrize("window", [1, 4, RELEASES])
@pytest.mark.parametrize(("seed", "of_one_release"), [(0, False), (1, False), (2, True), (3, True)])
def test_every_release_is_that_of_the_reference(seed, of_one_release, window) -> None:
    text = plan_of(window=window, each=1 + 3 * (window < RELEASES), of_one_release=of_one_release)
    series = ref.Series(reference_plan(text), words(json.loads(text)["sigma"]))
    items = [f"item {n}" + "x" * 30 * (n % 2) for n in range(8)] if seed % 2 else list(range(8))
    state, refused = None, 0
    for number, rows in enumerate(stream_of(seed, items)):
        goes = [next(iter(rows))] if number == 5 else []
        named = {0: items[:4], 2: items[2:6]}.get(number, [])
        expected = series.release(rows, named, goes)
        state, found = release(text, state, rows, number, named, goes)
        assert found == expected
        compare(series, count_series_state.read(state, SECRET))
        refused += sum(len(held & series.named.keys()) for held in rows.values())
        refused -= sum(users[-1] for users in series.users.values())
    # Limits bind.
    assert refused > 5


def test_order_repeats_and_threads_change_nothing() -> None:
    text = plan_of(window=4)
    rows = {user: frozenset(range(user % 5 + 1)) for user in range(2000)}
    first, numbers = release(text, None, rows, 0, range(4), threads=1)
    backwards = dict(reversed(rows.items()))
    assert release(text, None, backwards, 0, [3, 2, 1, 0, 3], threads=3) == (first, numbers)
