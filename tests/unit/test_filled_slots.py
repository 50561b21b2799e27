"""The matching of `benches.look` fills the slots of the reference."""

from __future__ import annotations

import numpy as np
import pytest
from benches.look import filled_slots

from reference import matching


@pytest.mark.parametrize("seed", range(60))
def test_as_many_slots_of_each_item(seed) -> None:
    draw = np.random.default_rng(seed)
    users, items = np.nonzero(draw.random(draw.integers(1, 9, 2)) < 0.5)
    if not len(users):
        return
    quota, many = int(draw.integers(1, 4)), int(items.max()) + 1
    order = np.random.default_rng(1).permutation(many).tolist()
    lists: dict[int, set[int]] = {}
    for user, item in zip(users.tolist(), items.tolist(), strict=True):
        lists.setdefault(user, set()).add(item)
    expected = [0] * many
    for item, _ in matching.kept(lists, matching.slots_of(order, quota, quota)):
        expected[item] += 1
    assert filled_slots(users, items, quota).tolist() == expected
