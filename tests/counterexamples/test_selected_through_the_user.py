"""Known bug: kept items joined back on the user, so a unique item survives beside a popular one."""

from __future__ import annotations

import dpsel

from support import items_of, select, table

PRIVACY = dpsel.ApproxDP(epsilon=3.0, delta=1e-9)


def test_a_unique_item_of_a_user_with_kept_items_is_not_kept(case) -> None:
    rows = [(u, "popular") for u in range(2000)] + [(u, f"only user {u}") for u in range(2000)]
    release = select(table(rows), privacy=PRIVACY, max_items_per_user=2, mechanism=case.mechanism)
    assert items_of(release) == ["popular"]


def test_a_heavy_user_does_not_lift_own_items(case) -> None:
    """A million rows of one user weigh what one user weighs."""
    rows = [(u, "popular") for u in range(2000)] + [(7, f"mine {i % 50}") for i in range(100_000)]
    release = select(table(rows), privacy=PRIVACY, max_items_per_user=50, mechanism=case.mechanism)
    assert set(items_of(release)) <= {"popular"}
