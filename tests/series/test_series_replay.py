"""Neighbouring streams in the core itself, with equal keys in every release."""

from __future__ import annotations

import json
import random

import pytest

from dpsel import _core
from reference import count_series_state, prf, series_state

SECRET = bytes(range(32))
COLUMNS = json.dumps({"user": "user", "items": ["item"]})
UNIT = 2**30
RELEASES = 9
#: The user that is there in one stream only, and the items that nobody else holds.
WATCHED, OWN = 0, range(100, 110)


def stream_of(seed: int, own: range | None) -> list[list[tuple[int, int]]]:
    """Rows of forty users. The watched one has items of its own, or those of the others."""
    chance = random.Random(seed)
    weeks = []
    for _ in range(RELEASES):
        week = [
            (user, item) for user in range(1, 40) for item in range(12) if chance.random() < 1 / (1 + item)
        ]
        week += [(WATCHED, item) for item in chance.sample(own or range(12), 3)]
        weeks.append(week)
    return weeks


def noise_key(release: int) -> bytes:
    return bytes([release + 1]) * 32


def without(week: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(user, item) for user, item in week if user != WATCHED]


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_what_a_user_does_alone_changes_nothing_of_the_others(seed, waits) -> None:
    """Bit for bit: lists, accounts and walks. All that differs is the user itself and its items."""
    plan = _core.series_plan(
        epsilon=8.0, delta=0.05, rho=None, releases=RELEASES, max_items_per_user=4, waits=waits
    )
    states: list[bytes | None] = [None, None]
    gave = released = 0
    own = {prf.item_digest(SECRET, item) for item in OWN}
    for number, week in enumerate(stream_of(seed, OWN)):
        found, lists = [], []
        for world, rows in enumerate((week, without(week))):
            source = _core.Source.pairs(rows)
            made = _core.series_release(plan, SECRET, states[world], noise_key(number), source, COLUMNS, [])
            states[world] = made.state
            found.append(series_state.read(made.state, SECRET))
            lists.append(set(made.items.to_columns()[0]))
        present, absent = found
        account = present.accounts.pop(prf.user_digest(SECRET, WATCHED))
        gave = max(gave, UNIT**2 - account.left)
        assert absent.accounts == present.accounts
        assert absent.items == {item: each for item, each in present.items.items() if item not in own}
        assert lists[0] - set(OWN) == lists[1]
        released += len(lists[1])
    assert 0 < gave <= UNIT**2
    assert released > 3


@pytest.mark.parametrize("window", [1, 4, RELEASES])
@pytest.mark.parametrize("each", [1, 3])
def test_numbers_of_neighbours_differ_by_what_one_user_gives(window, each) -> None:
    """The noisy values of all items and releases, in exact integers, for a user of shared items."""
    plan = _core.count_series_plan(
        epsilon=1.0,
        delta=1e-3,
        rho=None,
        releases=RELEASES,
        window=window,
        max_items_per_user=3,
        max_releases_per_item=each,
        is_of_one_release=False,
    )
    weights = json.loads(plan)["weights"]
    states: list[bytes | None] = [None, None]
    for number, week in enumerate(stream_of(window, None)):
        for world, rows in enumerate((week, without(week))):
            named = [(0, item) for item in range(12)] if number == 0 else None
            made = _core.count_series_release(
                plan,
                SECRET,
                states[world],
                noise_key(number),
                _core.Source.pairs(rows),
                COLUMNS,
                [],
                named,
            )
            states[world] = made.state
    present, absent = (count_series_state.read(state, SECRET) for state in states if state)
    spent, held = present.accounts.pop(prf.user_digest(SECRET, WATCHED))
    assert absent.accounts == present.accounts
    square = 0
    for item, (_, noisy) in present.items.items():
        moved = [with_user - other for with_user, other in zip(noisy, absent.items[item][1], strict=True)]
        counted = [release - 1 for release in held.get(item, [])]
        assert moved == [
            sum(weights[release - at] for at in counted if 0 <= release - at < len(weights))
            for release in range(RELEASES)
        ]
        square += sum(each**2 for each in moved)
    most = [sum(weights[max(0, t - each + 1) : t + 1]) for t in range(RELEASES)]
    assert 0 < square == spent <= 3 * sum(each**2 for each in most)
