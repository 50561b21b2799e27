"""The audit of looks at the data: it shows a good part of what they cost, and sees one that costs more."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any, Literal

import pytest

import dpsel
from dpsel.auditing import _cases, _looks, _run, _sampling
from dpsel.auditing._bounds import Counts
from dpsel.auditing._events import Samples, cautious_delta, choose
from dpsel.auditing._neighbours import Neighbours
from dpsel.auditing._search import Claim, Effort, falsify
from dpsel.exceptions import InvalidParameterError
from false_alarm import ALPHA

PRIVACY = dpsel.ApproxDP(epsilon=2.0, delta=0.02)


#: Lower bounds of 0.52 to 0.70 in 16 runs; they deviate by 0.04.
EFFORT = Effort(screen=600, climbs=0, test=12_000, tested=1)


@pytest.mark.statistical
def test_the_look_of_a_quantile_stands() -> None:
    (finding,) = dpsel.audit("quantile", false_alarm=ALPHA).findings
    assert not finding.refuted
    assert (finding.subject, finding.method, finding.claimed_delta) == ("quantile", "sampled", 0.0)


@pytest.mark.statistical
def test_the_look_of_a_quantile_shows_a_good_part_of_its_cost() -> None:
    finding = _looks.audit_look(dpsel.Quantile(0.5), "quantile", None, EFFORT, ALPHA)
    assert not finding.refuted
    assert 0.25 < finding.epsilon <= finding.claimed_epsilon == 1.0


@pytest.mark.statistical
def test_the_look_of_matching_or_is_a_finding_of_its_own() -> None:
    finding = _looks.audit_look(dpsel.MatchingOr(), "matching-or", None, EFFORT, ALPHA)
    assert not finding.refuted
    assert 0.25 < finding.epsilon <= finding.claimed_epsilon == 1.0
    assert "(16, 16, " in finding.tables


@pytest.mark.statistical
@pytest.mark.long("thousands of calls for each of the two tables")
def test_the_look_of_matching_or_needs_four_fifths_of_its_claim() -> None:
    """The epsilon of the look is 2."""
    choice, privacy = dpsel.MatchingOr(dpsel.CountLaplace(), 0.5), dpsel.ApproxDP(epsilon=4.0, delta=0.02)
    tables = _looks.worst_of_score(choice, privacy)[:1]
    effort = Effort(screen=600, climbs=0, test=30_000, tested=0)
    sampler = _looks.LookSampler(choice, privacy, 30)
    shown = falsify(sampler, tables, Claim(1.6, 0.0), effort, alpha=ALPHA, random=Random(1))
    assert 1.6 < shown.epsilon <= 2.0


def test_what_looks_at_a_table_is_called_on_single_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call on many copies, with a user more in each of them, would refute a look that is right."""
    calls: list[int] = []

    def recorded(users: list[Any], **_: Any) -> SimpleNamespace:
        calls.append(len(users))
        return SimpleNamespace(items=[])

    monkeypatch.setattr(_sampling, "select_partitions", recorded)
    table = Neighbours("three of others", ((3, (0, 1)),), (0, 2))
    _sampling.SelectSampler(dpsel.MatchingOr(), PRIVACY, 4).draw(table, 5)
    assert calls == [3] * 5 + [4] * 5
    calls.clear()
    _sampling.SelectSampler(dpsel.Sips(), PRIVACY, 4).draw(table, 5)
    assert calls == [900, 1200]


def test_one_call_has_one_copy_of_what_is_too_large_and_of_every_choice_of_a_look() -> None:
    for name, mechanism in dpsel.mechanisms.selection_mechanisms().items():
        at_once = _sampling.copies_at_once(mechanism(), 50, 1000)
        assert at_once == (1 if name == "matching_or" else 50), name
        assert _sampling.copies_at_once(mechanism(), 50, 10**7) == 1, name


@pytest.mark.parametrize("effort", ["quick", "thorough"])
def test_the_effort_for_single_tables_is_in_calls(
    monkeypatch: pytest.MonkeyPatch, effort: Literal["quick", "thorough"]
) -> None:
    given: dict[str, int] = {}

    def recorded(sampler: Any, _: Any, __: Any, effort: Effort, **___: Any) -> Any:
        given[sampler.mechanism.name] = effort.test
        raise KeyboardInterrupt

    monkeypatch.setattr(_run, "falsify", recorded)
    monkeypatch.setattr(_run, "audit_look", lambda *_: None)
    monkeypatch.setattr(_run, "attacks", lambda *_: [])
    monkeypatch.setattr(_run, "_law", lambda *_: None)
    for mechanism in dpsel.mechanisms.selection_mechanisms().values():
        with pytest.raises(KeyboardInterrupt):
            dpsel.audit(mechanism(), effort=effort)
    calls = given.pop("matching_or")
    assert 100 < calls <= 15_000 < min(given.values())


def test_a_bound_with_few_false_alarms_rests_on_a_frequent_event() -> None:
    """A rare event, seen on one side only, would show nothing at this rate."""
    samples = Samples(Counter({0.0: 60, 1.0: 40}), Counter({0.0: 15, 1.0: 70, 2.0: 15}))
    frequent = choose(samples, samples, 1.0, 0.0, alpha=ALPHA)[1]
    rare = choose(samples, samples, 1.0, 0.0)[1]
    assert frequent.count(samples).likely > rare.count(samples).likely


@pytest.mark.parametrize("lucky", [0, 1])
def test_an_event_that_was_rare_by_luck_is_not_chosen(lucky) -> None:
    """The number 2 is expected eight times without the user. An event of it alone shows little."""
    with_user = Counter({0.0: 60, 1.0: 380, 2.0: 60})
    samples = Samples(Counter({0.0: 440, 1.0: 60 - lucky, 2.0: lucky}), with_user)
    event = choose(samples, samples, 1.0, 0.0, alpha=ALPHA)[1]
    assert event.count(samples).likely == 440


def test_delta_is_estimated_with_both_deviations() -> None:
    counts = Counts(likely=60, likely_trials=100, rare=10, rare_trials=100)
    # By hand, from Wilson's bounds with z = 2: (0.62 - 0.1) / 1.04 and 1 - (0.92 - 0.06325) / 1.04.
    short, beyond = 0.6 - 0.5, 0.1762 - 0.1
    expected = 0.6 - math.e * 0.1 - math.hypot(short, math.e * beyond)
    assert cautious_delta(counts, 1.0) == pytest.approx(expected, abs=0.001)


@pytest.mark.statistical
@pytest.mark.parametrize("looking", ["quantile", "matching_or"])
def test_a_look_that_takes_twice_as_much_is_refuted(looking) -> None:
    """The claim is half of what the look costs."""
    privacy, choice = dpsel.ApproxDP(epsilon=4.0, delta=0.02), dpsel.MatchingOr(share=0.5)
    if looking == "quantile":
        limit = dpsel.Quantile(0.5, share=0.5, most=3)
        sampler, tables = _looks.LookSampler(dpsel.CountGaussian(), privacy, limit), [((1,), (1, 1))]
    else:
        sampler, tables = _looks.LookSampler(choice, privacy, 30), _looks.worst_of_score(choice, privacy)[:1]
    # Bounds of 1.4 to 1.7 in 60 runs.
    effort = Effort(screen=1_200, climbs=0, test=2_000, tested=0)
    shown = falsify(
        sampler, tables, Claim(1.0, 0.0), effort, alpha=ALPHA, random=Random(1)
    )  # fmt: skip
    assert shown.epsilon > 1.0


def test_every_class_of_a_look_is_attacked() -> None:
    """The numbers are read in the order that the core gives them."""
    limit = _looks.with_share(dpsel.Quantile(0.5))
    for most, users in ((1, 0), (2, 1), (3, 2), (5, 3), (9, 3)):
        assert _looks._class_of(most) == users
    usual = dpsel.ApproxDP(epsilon=2.0, delta=1e-6)
    release = dpsel.select_partitions(
        [(1, 1)], privacy=usual, max_items_per_user=limit, mechanism=dpsel.CountGaussian()
    )
    assert len(release.report["look"]["users"]) == 4


def test_it_is_part_of_the_audit_of_everything_with_a_delta() -> None:
    assert [case.name for case in _cases.with_guarantee(None)].count("quantile") == 1
    assert "quantile" not in {case.name for case in _cases.with_guarantee(dpsel.PureDP(epsilon=1.0))}
    with pytest.raises(InvalidParameterError, match="privacy must be ApproxDP for the look"):
        dpsel.audit("quantile", privacy=dpsel.PureDP(epsilon=1.0))
