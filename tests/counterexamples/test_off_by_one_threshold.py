"""Known bug: keep is "at or above", the tail is computed "strictly above" (OpenDP issue 2922).

On a grid the two differ by the probability of one point, which is what delta under-reports. Here the
decision and the tail are the same comparison; these tests would fail for either neighbour.
"""

from __future__ import annotations

import dpsel
from reference import prf
from reference.noise import TAILS, UNIT, at_least
from support import items_of, rounds_of, select, table, units_of

WORD = 1 << 128


def test_noise_exactly_at_the_threshold_releases() -> None:
    """For words around P[N >= t] 2^128 the noise is >= t exactly on the lower side."""
    for kind in TAILS:
        for t in (-5 * UNIT, -1, 0, 1, 12_345, UNIT, 20 * UNIT):
            edge = int(TAILS[kind](t, 1.5) * WORD)
            assert at_least(kind, t, 1.5, edge - 1)
            assert not at_least(kind, t, 1.5, edge + 1)


def test_items_at_every_distance_from_the_threshold(case) -> None:
    """Released items are those with noisy weight >= T, and none with noisy weight below is."""
    rows = [(u, i) for u in range(120) for i in range(12) if u >= 10 * i]
    arguments = {
        "privacy": dpsel.ApproxDP(epsilon=3.0, delta=0.05),
        "max_items_per_user": 12,
        "mechanism": case.mechanism,
    }
    release = select(table(rows), with_weights=True, **arguments)
    assert items_of(release) == items_of(select(table(rows), **arguments)), "weights change nothing"
    thresholds = [round_.threshold for round_ in rounds_of(release) if round_.threshold is not None]
    assert min(units_of(release).values()) >= min(thresholds)


def test_one_novel_item_over_many_keys() -> None:
    """A lone user's item comes out for exactly the keys whose word is below the exact probability."""
    privacy = dpsel.ApproxDP(epsilon=1.0, delta=0.25)
    arguments = {"privacy": privacy, "max_items_per_user": 1, "mechanism": dpsel.CountLaplace()}
    (round_,) = rounds_of(select(table([]), **arguments))
    chance = TAILS["laplace"](round_.threshold - UNIT, round_.scale)
    assert chance <= 0.25
    outcomes = set()
    for n in range(60):
        key = n.to_bytes(32, "big")
        expected = prf.noise_word(key, 0, 7) < chance * WORD
        outcomes.add(expected)
        assert items_of(select(table([(1, 7)]), key=key, **arguments)) == [7] * expected
    assert outcomes == {True, False}
