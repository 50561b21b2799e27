"""The audit of functions of others: broken ones are refuted, a correct one is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import dpsel
from false_alarm import ALPHA

sys.path.insert(0, str(Path(__file__).parent))

import selections

pytestmark = pytest.mark.statistical

CLAIM = dpsel.ApproxDP(epsilon=selections.EPSILON, delta=selections.DELTA)
#: All of these decide item by item, so copies in one call are independent.
ARGUMENTS = {"privacy": CLAIM, "max_items_per_user": selections.LIMIT}


@pytest.fixture(autouse=True)
def same_noise() -> None:
    selections.start_again()


@pytest.mark.parametrize("function", selections.BROKEN, ids=lambda function: function.__name__)
def test_what_is_broken_is_refuted(function) -> None:
    report = dpsel.audit_callable(function, copies=10, **ARGUMENTS)
    assert not report.ok
    assert "REFUTED" in str(report)


def test_what_is_correct_stands() -> None:
    report = dpsel.audit_callable(selections.correct, copies=10, false_alarm=ALPHA, **ARGUMENTS)
    (finding,) = report.findings
    assert report.ok
    assert finding.subject == "correct"
    assert finding.delta <= CLAIM.delta
    assert finding.epsilon <= CLAIM.epsilon
    assert finding.samples >= 10_000


@pytest.mark.slow
def test_our_own_selection_stands_as_a_callable() -> None:
    def select(rows):
        return dpsel.select_partitions(
            rows, privacy=CLAIM, max_items_per_user=2, mechanism=dpsel.CountLaplace()
        ).items

    assert dpsel.audit_callable(select, copies=10, false_alarm=ALPHA, **ARGUMENTS).ok


def test_items_that_nobody_has_are_an_outcome_too() -> None:
    def invents(rows):
        return ["made up"] if len({user for user, _ in rows}) % 2 else []

    assert not dpsel.audit_callable(invents, **ARGUMENTS).ok


def test_pure_privacy_is_refuted_by_any_item_that_only_one_user_has() -> None:
    report = dpsel.audit_callable(
        selections.nothing_is_hidden, privacy=dpsel.PureDP(epsilon=1.0), max_items_per_user=1
    )
    assert not report.ok
    assert report.findings[0].claimed_delta == 0


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"privacy": dpsel.ZCDP(rho=1, delta=0.1)}, "to_approx_dp"),
        ({"privacy": 1.0}, "privacy must be"),
        ({"max_items_per_user": 0}, "max_items_per_user"),
        ({"copies": 0}, "copies"),
        ({"effort": "much"}, "effort"),
        ({"false_alarm": 0.5}, "false_alarm"),
    ],
)
def test_wrong_arguments_are_refused(changes, match) -> None:
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match=match):
        dpsel.audit_callable(selections.correct, **(ARGUMENTS | changes))
