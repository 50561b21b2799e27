"""The audit of `dpsel.Series`: the law of an item whose holders hold nothing else."""

from __future__ import annotations

import bisect
import json
import math

import pytest

import dpsel
from dpsel import _core
from dpsel.auditing._search import Claim
from dpsel.auditing._series import chance, given, law_of_lists
from dpsel.auditing._verdicts import exact
from dpsel.exceptions import InvalidParameterError
from reference import series as ref

COLUMNS = json.dumps({"user": "user", "items": ["item"]})


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


def test_a_lone_pair_is_given_what_the_reference_gives() -> None:
    plan = plan_of(1.765, 4.96e-5)
    of = reference(plan)
    start, _ = of.block(of.releases - 1)
    series = ref.Series(of, lambda *_: 0, watched="u")
    series.number = start
    for _ in range(start, of.releases):
        series.release({"u": frozenset("i")})
    weights = [series.watched_weights[t, r, "i"] for t in range(start, of.releases) for r in range(of.rounds)]
    assert given(plan) == pytest.approx(weights, abs=2)


def test_the_audit_finds_most_of_the_claim_and_not_all_of_it() -> None:
    for epsilon, delta, least in [(1.765, 4.96e-5, 0.9), (6.0, 1e-6, 0.85), (3.0, 0.05, 0.87)]:
        privacy = dpsel.ApproxDP(epsilon=epsilon, delta=delta)
        report = dpsel.audit("series", privacy=privacy, max_items_per_user=1000)
        (finding,) = report.findings
        assert report.ok
        assert finding.method == "exact"
        assert least * epsilon < finding.epsilon <= epsilon
        assert finding.delta <= delta


@pytest.mark.parametrize(
    "wrong",
    [
        lambda plan: plan | {"sigma": 0.8 * plan["sigma"]},
        lambda plan: plan | {"norm": 2 * plan["norm"]},
        lambda plan: plan | {"caps": [[3 * cap for cap in caps] for caps in plan["caps"]], "norm": 9 << 60},
    ],
    ids=["noise", "norm", "caps"],
)
def test_a_wrong_plan_is_refuted(wrong) -> None:
    claim = Claim(3.0, 0.05)
    plan = plan_of(claim.epsilon, claim.delta)
    assert not exact("series", claim, law_of_lists(plan, claim)).refuted
    assert exact("series", claim, law_of_lists(wrong(plan), claim)).refuted


def test_a_series_is_audited_with_its_own_parameters(tmp_path) -> None:
    privacy = dpsel.ApproxDP(epsilon=3.0, delta=1e-5)
    fixed = {"releases": 4, "max_items_per_user": 3, "user": "user", "item": "item"}
    series = dpsel.Series.create(tmp_path / "a", key=tmp_path / "key", privacy=privacy, **fixed)
    (finding,) = dpsel.audit(series).findings
    assert (finding.subject, finding.claimed_epsilon, finding.refuted) == ("series", 3.0, False)
    assert series.status().made == 0
    for given_beside in ({"privacy": privacy}, {"max_items_per_user": 3}):
        with pytest.raises(InvalidParameterError, match="must be left out with a series"):
            dpsel.audit(series, **given_beside)
    with pytest.raises(InvalidParameterError, match="must be ApproxDP"):
        dpsel.audit("series", privacy=dpsel.PureDP(epsilon=1.0))
    rho = dpsel.ZCDP(rho=0.1, delta=1e-6)
    other = dpsel.Series.create(tmp_path / "b", key=tmp_path / "key", privacy=rho, **fixed)
    with pytest.raises(InvalidParameterError, match="ApproxDP for an audit"):
        dpsel.audit(other)


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
        expected = chance(plan, given(plan), users)
        # Six standard deviations: a chance of 1e-8 for all of them.
        assert abs(counts[users] / items - expected) < 6 * math.sqrt(expected * (1 - expected) / items)
