"""The audit of what ships: it sees what is tight, what is wrong, and lets our claims stand."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from random import Random

import pytest

import dpsel
from dpsel import mechanisms
from dpsel.auditing import _cases, _families, _neighbours, _score_attacks, _tables
from dpsel.auditing._discovery_law import worst_of_both
from dpsel.auditing._exact import worst_of_selection
from dpsel.auditing._findings import Finding
from dpsel.auditing._top_k import worst_of_top_k
from false_alarm import ALPHA

NAMES = [case.name for case in _cases.every_case() if not case.control]


@pytest.mark.slow
@pytest.mark.statistical
def test_everything_that_ships_stands_and_the_control_falls() -> None:
    report = dpsel.audit(false_alarm=ALPHA)
    assert report.ok, str(report)
    # Those of numbers beside selections are in `test_number_attacks.py`.
    assert {each.subject for each in report.findings if not each.subject.startswith("counts")} == {
        *NAMES,
        "quantile",
        "greedy-frequency-published",
        "series",
        "count-series",
    }
    assert [finding.refuted for finding in report.findings if finding.control] == [True]


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["count-laplace", "unit-greedy", "permute-flip-peel"])
def test_a_few_stand_in_the_quick_run(name) -> None:
    assert dpsel.audit(name, false_alarm=ALPHA).ok


@pytest.mark.statistical
def test_the_published_calibration_is_refuted() -> None:
    report = dpsel.audit("greedy-frequency-published")
    sampled = report.findings[-1]
    assert not report.ok
    assert sampled.refuted
    assert not sampled.control
    assert "overflow" in sampled.tables


def test_every_mechanism_has_a_case() -> None:
    registered = (*mechanisms.selection_mechanisms().values(), *mechanisms.top_k_mechanisms().values())
    shipped = {cls.__name__ for cls in registered}
    assert shipped == {type(case.mechanism).__name__ for case in _cases.every_case()}


@pytest.mark.parametrize("bound", [1, 3, 10])
@pytest.mark.parametrize(
    "mechanism", [dpsel.CountLaplace(), dpsel.WeightedLaplace(), dpsel.WeightedGaussian()], ids=repr
)
def test_thresholds_are_as_low_as_their_deltas_allow(mechanism, bound) -> None:
    privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
    needed = worst_of_selection(mechanism, privacy, bound)
    assert 0.999 < needed.delta / privacy.delta <= 1 + 1e-6


def named_tables() -> list[str]:
    """The names of all tables of users of one and of three items, some with one user beside."""
    levels = _families.Levels((1, 2, 3), (1, 2, 3), 3)
    found = [pair.name for bound in (1, 3) for pair in _families.family(bound, levels)]
    found += [each.name for bound in (1, 3) for each in _neighbours.crafted(bound, [1, 4])]
    privacy = dpsel.ApproxDP(epsilon=9.0, delta=0.5)
    for mechanism in (dpsel.CountLaplace(), dpsel.OneItem()):
        found.append(worst_of_selection(mechanism, privacy, 1).tables)
    found.append(worst_of_both(dpsel.Discover(), dpsel.ApproxDP(epsilon=1.0, delta=1e-6), 1).tables)
    found.append(_score_attacks._shared(1, 1).name)
    small = _tables.Pair("", ((1, (0,)),), (0,))
    return found + [_tables.varied(small, Random(seed), 2, 10).name for seed in range(50)]


def test_one_of_a_thing_is_not_named_as_many() -> None:
    found = named_tables()
    assert [name for name in found if re.search(r"\b1 (items|others|users|rows)\b", name)] == []
    assert any("1 other" in name for name in found)
    told = {"1 item of nobody else", "the score of an item of 1 other", "a user of 2 rows among 1 other"}
    assert told <= {*found}


def test_one_sample_is_not_named_as_many() -> None:
    finding = Finding("mine", "sampled", "an item", 1.0, 0.1, 0.0, 0.0, refuted=False, samples=1)
    assert "  1 sample  " in str(dpsel.AuditReport((finding,), ALPHA))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_the_optimal_rule_uses_all_of_epsilon_and_delta(epsilon) -> None:
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=1e-5)
    needed = worst_of_selection(dpsel.OneItem(), privacy, 1)
    assert math.isclose(needed.delta, privacy.delta, rel_tol=1e-6)
    assert 0.98 * epsilon < needed.epsilon <= epsilon * (1 + 1e-6)


@pytest.mark.parametrize("factor", [0.9, 0.99])
def test_a_computed_law_is_refuted_if_the_claim_is_a_little_too_good(factor) -> None:
    """The falsifier is held against the same mechanism with a smaller claim."""
    privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
    needed = worst_of_selection(dpsel.WeightedLaplace(), privacy, 10)
    assert needed.delta > factor * privacy.delta
    assert needed.epsilon > factor * privacy.epsilon


@pytest.mark.parametrize("mechanism", [dpsel.GumbelPeel(), dpsel.PermuteFlipPeel(), dpsel.Joint()], ids=repr)
def test_laws_of_top_k_need_most_of_their_epsilon_and_no_more(mechanism) -> None:
    needed, pairs = worst_of_top_k(mechanism, dpsel.PureDP(epsilon=1.0), 1.0, 0.0)
    assert 0.6 < needed.epsilon <= 1 + 1e-9
    assert needed.delta <= 1e-12
    assert pairs


def test_a_pure_claim_is_for_what_can_be_pure() -> None:
    cases = _cases.with_guarantee(dpsel.PureDP(epsilon=1.0))
    assert {case.mechanism.name for case in cases} == {
        "joint", "joint_set", "gumbel_peel", "permute_flip_joint", "permute_flip_peel", "gamma",
        "laplace_top_k",
    }  # fmt: skip


@pytest.mark.parametrize("bound", [1, 2])
def test_the_limit_of_a_top_k_is_honoured(bound) -> None:
    """Noise for one item each is enough for such users, and only for them."""
    privacy = dpsel.PureDP(epsilon=1.0)
    needed, pairs = worst_of_top_k(dpsel.LaplaceTopK(), privacy, 1.0, 0.0, bound)
    assert 0.3 < needed.epsilon <= 1 + 1e-9
    assert all(sum(after) - sum(before) <= bound for before, after in pairs)


def test_neighbours_differ_in_the_rows_of_one_user() -> None:
    tables = [*_neighbours.crafted(3, [2, 9]), *_neighbours.crowd(7.95, 3000)]
    assert len(tables) > 10
    for each in tables:
        for first in (True, False):
            pair = _neighbours.replace(each, first=first)
            without, with_user = pair.rows(with_user=False), pair.rows(with_user=True)
            more = list(with_user)
            for row in without:
                more.remove(row)
            assert len({user for user, _ in more}) == 1
            assert {user for user, _ in more}.isdisjoint(user for user, _ in without)
            assert sorted(item for _, item in more) == sorted(each.added)


def test_copies_share_neither_users_nor_items() -> None:
    (pair, *_) = _neighbours.crowd(7.95, 3000)
    copies = 3
    users = pair.users(copies, with_user=True)
    one = len(users) // copies
    parts = [users[copy * one : (copy + 1) * one] for copy in range(copies)]
    assert len({user for user, _ in users}) == len(users)
    items = [{item for _, held in part for item in held} for part in parts]
    assert sum(map(len, items)) == len(set.union(*items))


def test_the_crowd_overflows_only_with_the_added_user() -> None:
    """What greedy filling gives to the last items, in exact fractions, whatever the order of users."""
    cutoff = Fraction(795, 100)
    (pair,) = _neighbours.crowd(float(cutoff), 3000)

    def overflow(users) -> Fraction:
        weights: dict[int, Fraction] = {}
        for _, rows in users:
            left = Fraction(1)
            for item in sorted(set(rows), key=rows.count, reverse=True):
                gift = min(left, cutoff - weights.get(item, Fraction(0)))
                weights[item] = weights.get(item, Fraction(0)) + gift
                left -= gift
        return sum(weight for item, weight in weights.items() if item and item % 2 == 0)

    assert overflow(pair.users(1, with_user=False)) <= Fraction(1, 10**6)
    assert overflow(pair.users(1, with_user=True)) > Fraction(9, 10)


@pytest.mark.long("a whole audit")
def test_reports_say_what_was_found(tmp_path) -> None:
    report = dpsel.audit("one-item")
    report.save(tmp_path / "audit.json")
    data = json.loads((tmp_path / "audit.json").read_text())
    assert data["ok"] is True
    assert [finding["method"] for finding in data["findings"]] == ["exact", "sampled"]
    assert "<table" in report._repr_html_()
    assert "every claim stands" in str(report)


def test_names_that_are_not_known_are_refused() -> None:
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="nothing of that name.*sips"):
        dpsel.audit("siphs")
