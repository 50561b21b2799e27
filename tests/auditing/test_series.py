"""An audit of `dpsel.Series`: the exact law of the list of an item whose holders hold nothing else.

Whoever holds one item alone gives it all that it may spend, whatever the item's importance is. So the score
is a random walk with known steps, which ends where it is paused, and comes out where it reaches a threshold.
"""

from __future__ import annotations

import bisect
import json
import math

import numpy as np
import pytest

from dpsel import _core
from reference import series as ref

UNIT = 2**30
COLUMNS = json.dumps({"user": "user", "items": ["item"]})
#: Points of the grid of scores in one standard deviation of a round.
FINE = 40


def plan_of(epsilon: float, delta: float, releases: int = 52, most: int = 1000) -> dict:
    text = _core.series_plan(
        epsilon=epsilon, delta=delta, rho=None, releases=releases, max_items_per_user=most, waits=True
    )
    return json.loads(text)


def reference(plan: dict) -> ref.Plan:
    asked, pace = plan["asked"], plan["pace"]
    return ref.Plan(
        blocks=tuple(first - 1 for first in plan["blocks"]),
        releases=asked["releases"],
        rounds=plan["rounds"],
        norm=plan["norm"],
        threshold=lambda age: plan["thresholds"][age - 1],
        cap=lambda age, rank: plan["caps"][age - 1][bisect.bisect_left(plan["ranks"], rank)],
        reach=asked["max_items_per_user"],
        unit=plan["spread"],
        pace=ref.falling(pace),
        weighing=lambda release: math.isqrt(pace[release]),
    )


def given(plan: ref.Plan, start: int) -> list[int]:
    """What a user that comes with the first release of the last block gives its only item, step by step."""
    series = ref.Series(plan, lambda *_: 0, watched="u")
    series.number = start
    for _ in range(start, plan.releases):
        series.release({"u": frozenset("i")})
    return [
        series.watched_weights[t, r, "i"] for t in range(start, plan.releases) for r in range(plan.rounds)
    ]


def pause(plan: ref.Plan, length: int, done: int) -> float:
    """The score below which an item is paused after so many steps; none after the last one."""
    every = length * plan.rounds
    if done == every:
        return -math.inf
    below = 3 * plan.unit * ref.root(done * (every - done), every * plan.rounds) >> 30
    return plan.threshold(length) * done // every - below


def chance(plan: dict, users: int) -> float:
    """The probability that an item of so many users, which come with the last block, comes out in it."""
    of = reference(plan)
    start, length = of.block(of.releases - 1)
    drift, sigma = [users * each / UNIT for each in given(of, start)], plan["sigma"]
    step = sigma / FINE
    reach = of.threshold(length) / UNIT + 12 * sigma * math.sqrt(len(drift)) + sum(drift)
    scores = np.arange(-math.ceil(reach / step), math.ceil(reach / step) + 1) * step
    kernel_at = np.arange(-12 * FINE, 12 * FINE + 1) / FINE
    density, total, out = None, 0.0, 0.0
    for number, each in enumerate(drift, start=1):
        total += each
        if density is None:
            density = np.exp(-(((scores - each) / sigma) ** 2) / 2) / (sigma * math.sqrt(2 * math.pi)) * step
        else:
            kernel = np.exp(-((kernel_at - each / sigma) ** 2) / 2) / (FINE * math.sqrt(2 * math.pi))
            density = np.convolve(density, kernel, mode="same")
        density[scores < pause(of, length, number) / UNIT] = 0.0
        age, rest = divmod(number, of.rounds)
        if rest == 0:
            threshold = of.threshold(age) / UNIT
            comes_out = (scores >= threshold) & (scores - total < threshold)
            out += density[comes_out].sum()
            density[comes_out] = 0.0
    return float(out)


def attained(plan: dict, delta: float) -> tuple[float, int]:
    """The largest epsilon that lists need at this delta, over numbers of other users, and that number."""
    best = (-math.inf, 0)
    before = chance(plan, 0)
    for others in range(200):
        after = chance(plan, others + 1)
        # Both events: that the item comes out, and that it does not.
        for likely, rare in ((after, before), (1 - before, 1 - after)):
            if likely > delta and rare > 0:
                best = max(best, (math.log((likely - delta) / rare), others))
        before = after
        if before > 0.999:
            break
    return best


@pytest.mark.parametrize(("epsilon", "delta"), [(1.765, 4.96e-5), (6.0, 1e-6), (3.0, 0.05)])
def test_lists_attain_more_than_half_of_the_claim_and_not_all_of_it(epsilon, delta) -> None:
    found, _ = attained(plan_of(epsilon, delta), delta)
    assert 0.5 * epsilon < found <= epsilon


def test_the_law_is_that_of_releases() -> None:
    """The core, with many items that have users of their own, at an epsilon at which few users are enough."""
    plan, items, sizes = plan_of(3.0, 0.05, releases=4, most=1), 2500, range(1, 6)
    rows, owner, user = [], {}, 0
    for users in sizes:
        for _ in range(items):
            item = len(owner)
            owner[item] = users
            rows += [(user + each, item) for each in range(users)]
            user += users
    text, state = json.dumps(plan), None
    counts = dict.fromkeys(sizes, 0)
    for number in range(4):
        source = _core.Source.pairs(rows if number == 2 else [])
        noise = bytes([number + 1]) * 32
        made = _core.series_release(text, bytes(range(32)), state, noise, source, COLUMNS, [])
        state = made.state
        for item in made.items.to_columns()[0]:
            counts[owner[item]] += 1
    assert 0.05 * items < counts[2] < 0.95 * items
    for users in sizes:
        expected = chance(plan, users)
        # Six standard deviations: a chance of 1e-8 for all of them.
        assert abs(counts[users] / items - expected) < 6 * math.sqrt(expected * (1 - expected) / items)
