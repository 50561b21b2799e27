"""A budget adds exactly and refuses to be overspent; tests/accountants hands it to dp_accounting."""

from __future__ import annotations

import importlib.util
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from dpsel.exceptions import BudgetExceededError, InvalidParameterError

COSTS = st.floats(1e-6, 0.3)


def written(number):
    """The decimal that writes a float."""
    return Fraction(repr(number))


def approx(epsilon, delta=1e-9):
    return dpsel.ApproxDP(epsilon=epsilon, delta=delta)


def test_spending_returns_the_cost_and_lowers_the_remainder():
    budget = dpsel.Budget(approx(1.0, 1e-6))
    cost = approx(0.25, 0.25e-6)
    assert budget.spend(cost, "first") == cost
    assert budget.remaining.epsilon == 0.75
    assert budget.remaining.delta == pytest.approx(0.75e-6, rel=1e-15)
    assert written(budget.remaining.delta) + written(cost.delta) == Fraction(1, 10**6)
    assert [(entry.cost, entry.label) for entry in budget.spent] == [(dpsel.Cost(items=cost), "first")]
    assert budget.total == approx(1.0, 1e-6)


def test_overspending_is_refused_and_spends_nothing():
    budget = dpsel.Budget(approx(1.0, 1e-6))
    for cost in (approx(1.1), approx(0.5, 2e-6)):
        with pytest.raises(BudgetExceededError, match="nothing was spent, so spend at most what remains"):
            budget.spend(cost)
    assert budget.remaining == budget.total
    assert budget.spent == ()


def test_the_whole_budget_can_be_spent_at_once():
    budget = dpsel.Budget(approx(1.0, 1e-6))
    budget.spend(approx(1.0, 1e-6))
    assert budget.remaining is None
    with pytest.raises(
        BudgetExceededError,
        match=r"^spending epsilon = 5e-324 exceeds the budget: no epsilon remains .nothing left.. Nothing",
    ):
        budget.spend(approx(5e-324, 5e-324))


@given(st.lists(COSTS, min_size=1, max_size=30))
def test_sums_are_exact(epsilons):
    budget = dpsel.Budget(approx(1.0, 0.5))
    accepted = Fraction(0)
    for epsilon in epsilons:
        fits = accepted + written(epsilon) <= 1
        try:
            budget.spend(approx(epsilon))
        except BudgetExceededError:
            assert not fits
        else:
            assert fits
            accepted += written(epsilon)
    if budget.remaining is not None:
        assert written(budget.remaining.epsilon) + accepted <= 1
        budget.spend(budget.remaining)


def test_kinds_that_do_not_fit_are_refused():
    with pytest.raises(InvalidParameterError, match="does not fit a budget of kind"):
        dpsel.Budget(approx(1.0)).spend(dpsel.ZCDP(rho=0.1, delta=1e-9))
    with pytest.raises(InvalidParameterError, match="does not fit a budget of kind"):
        dpsel.Budget(dpsel.PureDP(epsilon=1.0)).spend(approx(0.1))
    with pytest.raises(InvalidParameterError, match="privacy must be"):
        dpsel.Budget(1.0)


def test_pure_costs_fit_an_approximate_budget():
    budget = dpsel.Budget(approx(1.0, 1e-6))
    budget.spend(dpsel.PureDP(epsilon=0.5))
    assert budget.remaining == approx(0.5, 1e-6)


def test_a_release_can_be_paid_from_a_budget():
    budget = dpsel.Budget(dpsel.ZCDP(rho=0.5, delta=1e-6))
    release = dpsel.select_partitions(
        [(u, "tea") for u in range(500)],
        privacy=budget.spend(dpsel.ZCDP(rho=0.25, delta=5e-7), "drinks"),
        max_items_per_user=1,
    )
    assert release.items == ["tea"]
    assert budget.remaining.rho == 0.25
    assert 5e-7 < budget.remaining.delta < 5.00001e-7


@pytest.mark.skipif(importlib.util.find_spec("dp_accounting") is not None, reason="dp_accounting is there")
def test_without_dp_accounting_the_message_names_the_package():
    with pytest.raises(ImportError, match="needs the package 'dp-accounting'"):
        dpsel.Budget(approx(1.0)).to_dp_accounting()


def test_zcdp_to_approx_dp_needs_exactly_one_argument():
    cost = dpsel.ZCDP(rho=0.1, delta=1e-5)
    for arguments in ({}, {"epsilon": 1.0, "delta": 1e-4}):
        with pytest.raises(InvalidParameterError, match="exactly one of epsilon and delta"):
            cost.to_approx_dp(**arguments)


def test_zcdp_to_approx_dp_is_the_papers_figure_and_rounds_up():
    """DP-SIPS: rho = 0.1 and delta = 1e-5 are (1.765, 4.96e-5)."""
    cost = dpsel.ZCDP(rho=0.1, delta=1e-5)
    found = cost.to_approx_dp(delta=4.96e-5)
    assert found.delta == 4.96e-5
    assert found.epsilon == pytest.approx(1.765, abs=2e-3)
    back = cost.to_approx_dp(epsilon=found.epsilon)
    assert back.delta <= 4.96e-5
    assert back.delta == pytest.approx(4.96e-5, rel=1e-6)
    with pytest.raises(InvalidParameterError, match="delta"):
        cost.to_approx_dp(delta=1e-6)


def test_finite_precision_of_releases_is_part_of_the_conversion():
    """Where epsilon is large, a total variation of 1e-18 costs delta."""
    cost = dpsel.ZCDP(rho=0.5, delta=1e-12)
    delta = {n: cost.to_approx_dp(epsilon=20.0, releases=n).delta for n in (0, 1, 5)}
    each = 1e-18 * (1 + math.exp(20.0))
    assert delta[1] - delta[0] == pytest.approx(each, rel=1e-3)
    assert delta[5] - delta[0] == pytest.approx(5 * each, rel=1e-3)
    assert cost.to_approx_dp(epsilon=20.0) == cost.to_approx_dp(epsilon=20.0, releases=1)
    for releases in (-1, 1 << 32, 1.5, True):
        with pytest.raises(InvalidParameterError, match="releases"):
            cost.to_approx_dp(epsilon=1.0, releases=releases)


@pytest.mark.parametrize("parts", [1, 2, 3, 10, 97])
@pytest.mark.parametrize(
    "total", [approx(1.0, 1e-6), dpsel.ZCDP(rho=0.7, delta=1e-5), dpsel.PureDP(epsilon=0.3)]
)
def test_shares_can_all_be_spent(total, parts):
    budget = dpsel.Budget(total)
    for _ in range(parts):
        budget.spend(budget.share(parts))
    with pytest.raises(BudgetExceededError):
        budget.spend(budget.share(parts))
    with pytest.raises(InvalidParameterError, match="parts must be at least 1, got 0"):
        budget.share(0)


def test_a_share_that_no_float_can_be_says_so():
    with pytest.raises(InvalidParameterError, match="parts = 2 are too many: no float is .* delta"):
        dpsel.Budget(dpsel.ApproxDP(epsilon=1.0, delta=5e-324)).share(2)


def test_a_part_that_does_not_fit_names_the_equal_parts_that_do():
    budget = dpsel.Budget(dpsel.PureDP(epsilon=1.0))
    for _ in range(2):
        budget.spend(dpsel.PureDP(epsilon=0.334))
    with pytest.raises(BudgetExceededError, match=r"spend at most what remains; share\(\) makes equal parts"):
        budget.spend(dpsel.PureDP(epsilon=0.334))


@pytest.mark.parametrize("call", ["select", "top_k", "plan"])
def test_what_remains_of_a_spent_budget_is_no_invitation_to_a_guarantee_beside_it(call):
    budget = dpsel.Budget(approx(1.0, 1e-6))
    budget.spend(approx(1.0, 1e-6))
    calls = {
        "select": lambda: dpsel.select_partitions([], max_items_per_user=1, privacy=budget.remaining),
        "top_k": lambda: dpsel.select_top_k([], k=1, domain=["a"], privacy=budget.remaining),
        "plan": lambda: dpsel.plan(privacy=budget.remaining, max_items_per_user=1),
    }
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="on top of that budget"):
        calls[call]()
