"""The audit of functions, on selections with numbers of users: on pairs (item, number)."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import dpsel
from false_alarm import ALPHA
from weak import WEAK

pytestmark = [pytest.mark.statistical, WEAK]

CLAIM = dpsel.ApproxDP(epsilon=1.0, delta=0.02)
ARGUMENTS = {"privacy": CLAIM, "max_items_per_user": 2}
#: So many disjoint tables in one call: what it says of an item depends on the users connected with it.
AUDIT = {**ARGUMENTS, "items": "int", "copies": 20, "false_alarm": ALPHA}


def counted(rows: list, mechanism: object):
    return dpsel.select_partitions(rows, mechanism=mechanism, counts=0.5, **ARGUMENTS)


@pytest.mark.parametrize("mechanism", [dpsel.CountGaussian(), dpsel.Steered(rounds=3)], ids=repr)
def test_items_with_numbers_stand(mechanism) -> None:
    report = dpsel.audit_callable(lambda rows: counted(rows, mechanism).items, calls=400, **AUDIT)
    assert report.ok, str(report)


def test_a_quarter_of_the_noise_is_refuted() -> None:
    noise = counted([(1, 1)], dpsel.CountGaussian()).report.counts["scale"] / 4
    draws = np.random.default_rng(1)

    def numbered(rows: list) -> list[tuple[int, int]]:
        released = list(counted(rows, dpsel.CountGaussian()))
        users = Counter(item for _, item in set(rows))
        return [(item, round(users[item] + draws.normal() * noise)) for item in released]

    assert not dpsel.audit_callable(numbered, calls=8_000, **AUDIT).ok
