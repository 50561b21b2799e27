"""Steered against the reference where users reach their caps: what they gave before decides then."""

from __future__ import annotations

from random import Random

import pytest

import dpsel
from reference import mechanisms as reference
from reference import steered
from support import KEY, rounds_of, select, table, units_of

ROUNDS = 6


def rare_and_common(users: int, least: int, most: int, rare: int) -> list[tuple[int, int]]:
    """All users hold one item, and many others of which none can reach the threshold.

    The others are abandoned while the common item is still short of its target. Then it gets all the weight.
    """
    chance = Random(3)
    held = [chance.sample(range(1, 1 + rare), chance.randint(least, most)) for _ in range(users)]
    return [(user, item) for user, items in enumerate(held) for item in (0, *items)]


def cut_weights(kept: dict, rounds: list, pasts: list[steered.Before]) -> int:
    """How many weights a cap has made smaller."""
    found = 0
    for round_, past in zip(rounds, pasts, strict=True):
        importances = {item: importance or 0 for item, importance in past.importances.items()}
        for user, items in kept.items():
            size = steered.size_of(len(items), rounds[-1].sizes)
            weights = steered.user_weights(items, importances, size.norm * round_.share // steered.SHARES)
            given = past.drifts.get(user, {})
            step = steered.step_of(size.cap)
            found += sum(
                weight > max(size.cap - given.get(item, 0) * step, 0) for item, weight in weights.items()
            )
    return found


@pytest.mark.parametrize(
    ("privacy", "bound", "data"),
    [
        (dpsel.ApproxDP(epsilon=20.0, delta=1e-9), 300, (30, 260, 290, 1200)),
        # Some users have more items than the limit.
        (dpsel.ApproxDP(epsilon=20.0, delta=1e-9), 270, (24, 260, 290, 1200)),
        (dpsel.ZCDP(rho=2.0, delta=1e-9), 300, (26, 260, 299, 1200)),
    ],
    ids=["limit 300", "limit below some", "zcdp"],
)
def test_users_who_reach_their_caps(privacy, bound, data) -> None:
    rows = rare_and_common(*data)
    release = select(
        table(rows),
        privacy=privacy,
        max_items_per_user=bound,
        mechanism=dpsel.Steered(rounds=ROUNDS),
        with_weights=True,
    )
    rounds = rounds_of(release)
    kept = reference.bound(reference.sets_of(rows), bound, KEY)
    pasts: list[steered.Before] = []
    expected = steered.select(kept, rounds, KEY, pasts=pasts)
    assert units_of(release) == expected
    assert 0 < len(expected) < 40
    assert cut_weights(kept, rounds, pasts) >= 3
