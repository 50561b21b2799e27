"""Known attack: float sums that depend on the order of addition leak who is in the data.

Casacuberta et al. 2022 (sensitivity of float sums); Mironov 2012 (porous noise).
"""

from __future__ import annotations

import random

import dpsel
from reference.noise import UNIT
from support import rounds_of, select, table, units_of
from weak import WEAK

pytestmark = WEAK

LOOSE = dpsel.ApproxDP(epsilon=5.0, delta=0.99)


def test_a_million_weights_in_any_order() -> None:
    """Weights 1/sqrt(k) with k = 1..97 mixed: float sums in two orders differ, integer sums do not."""
    rows = [(u, i) for u in range(3000) for i in range(u % 97 + 1)]
    floats = [(1 / (u % 97 + 1)) ** 0.5 for u in range(3000)]
    assert sum(floats) != sum(sorted(floats)), "the attack works on floats"
    shuffled = rows.copy()
    random.Random(5).shuffle(shuffled)
    arguments = {
        "privacy": LOOSE,
        "max_items_per_user": 100,
        "mechanism": dpsel.WeightedGaussian(),
        "with_weights": True,
    }
    orders = [units_of(select(table(r), **arguments)) for r in (rows, rows[::-1], shuffled)]
    assert orders[0]
    assert orders[0] == orders[1] == orders[2]


def test_weights_are_on_one_public_grid(case) -> None:
    """Every noisy weight is a whole number of integer units, whatever its magnitude."""
    rows = [(u, i) for u in range(400) for i in range(u % 19)]
    release = select(
        table(rows),
        privacy=LOOSE,
        max_items_per_user=7,
        mechanism=case.mechanism,
        with_weights=True,
        key=None,
    )
    weights = list(_weights(release))
    assert weights
    assert all((w * UNIT).is_integer() for w in weights)


def _weights(release) -> list[float]:
    from support import released

    return released(release)["weight"].to_pylist()


def test_saturated_histogram_does_not_wrap() -> None:
    """All users share one item: its weight is the number of users, exactly."""
    users = 200_000
    release = select(
        table([(u, 0) for u in range(users)]),
        privacy=LOOSE,
        max_items_per_user=1,
        mechanism=dpsel.CountLaplace(),
        with_weights=True,
    )
    (round_,) = rounds_of(release)
    assert abs(units_of(release)[0] - users * UNIT) < 100 * round_.scale * UNIT
