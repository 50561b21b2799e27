"""Budgets add up as people write them, and a call that is paid for costs no more than what was booked."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dpsel
from dpsel.accounting._privacy import of_json
from dpsel.budget._rounding import decimal_root_down, round_down
from dpsel.exceptions import BudgetExceededError

ROWS = [(user, "tea") for user in range(500)]
APPROX = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)

WRITTEN = {
    "ten tenths": (dpsel.PureDP(epsilon=1.0), dpsel.PureDP(epsilon=0.1), 10),
    "weeks": (dpsel.ApproxDP(epsilon=5.2, delta=5.2e-7), dpsel.ApproxDP(epsilon=0.1, delta=1e-8), 52),
    "days": (dpsel.ZCDP(rho=3.65, delta=3.65e-4), dpsel.ZCDP(rho=0.01, delta=1e-6), 365),
    "decimals": (dpsel.PureDP(epsilon=Decimal(1)), dpsel.PureDP(epsilon=Decimal("0.1")), 10),
    "pure of approximate": (APPROX, dpsel.PureDP(epsilon=0.2), 5),
    "counts": (
        dpsel.PureDP(epsilon=0.6),
        dpsel.Cost(items=dpsel.PureDP(epsilon=0.1), counts=dpsel.PureDP(epsilon=0.2)),
        2,
    ),
}


@pytest.fixture(params=["budget", "ledger"])
def opened(request, tmp_path):
    return lambda total: (
        dpsel.Budget(total) if request.param == "budget" else dpsel.Ledger(tmp_path / "spent", total)
    )


@pytest.mark.long("hundreds of payments from a file")
@pytest.mark.parametrize("case", WRITTEN)
def test_parts_add_up_to_the_total_that_people_write(opened, case):
    total, part, times = WRITTEN[case]
    budget = opened(total)
    for _ in range(times):
        budget.spend(part)
    with pytest.raises(BudgetExceededError, match="remains"):
        budget.spend(part)


@given(
    digits=st.integers(1, 10**6),
    exponent=st.integers(-30, 2),
    times=st.integers(1, 60),
)
@example(digits=1, exponent=-1, times=10)
def test_every_short_decimal_adds_up(digits, exponent, times):
    total, part = (Decimal(number).scaleb(exponent) for number in (digits * times, digits))
    budget = dpsel.Budget(dpsel.PureDP(epsilon=total))
    for _ in range(times):
        budget.spend(dpsel.PureDP(epsilon=part))
    assert budget.remaining is None
    with pytest.raises(BudgetExceededError, match="no epsilon remains"):
        budget.spend(dpsel.PureDP(epsilon=part))


AMOUNTS = st.floats(1e-300, 1e300)


@given(AMOUNTS | st.floats(5e-324, 1e-300))
def test_what_is_paid_for_runs_with_a_float_that_is_not_above_the_decimal(value):
    paid = dpsel.Budget(dpsel.PureDP(epsilon=1.7e308)).spend(dpsel.PureDP(epsilon=value))
    assert paid == dpsel.PureDP(epsilon=value)
    runs = paid.to_json()["epsilon"]
    assert 0 < Fraction(runs) <= Fraction(repr(value))
    assert runs in {value, math.nextafter(value, 0)}
    assert dpsel.PureDP(epsilon=value).to_json()["epsilon"] == value


@given(st.fractions(Fraction(1, 10**30), 10**9))
def test_remainders_are_rounded_down_to_decimals(amount):
    down = round_down(amount)
    assert Fraction(repr(down)) <= amount
    assert Fraction(repr(math.nextafter(down, math.inf))) > amount
    root = decimal_root_down(amount)
    assert Fraction(repr(root)) ** 2 <= amount
    assert Fraction(repr(math.nextafter(root, math.inf))) ** 2 > amount


APPROX_PART, ZCDP_PART = dpsel.ApproxDP(epsilon=0.7, delta=1e-7), dpsel.ZCDP(rho=0.1, delta=1e-7)
TENTH = dpsel.PureDP(epsilon=0.1)


def select(privacy, **more):
    return dpsel.select_partitions(ROWS, privacy=privacy, max_items_per_user=1, **more)


def top(privacy, counts=None):
    return dpsel.top_k_from_counts([900, 20], k=1, privacy=privacy, publish_counts=counts)


#: The cost, and the call with it.
CALLS = {
    "selection": (APPROX_PART, select),
    "selection in zCDP": (ZCDP_PART, select),
    "selection with counts": (APPROX_PART, lambda privacy: select(privacy, counts=0.3)),
    "top-k": (TENTH, top),
    "top-k of rows": (
        TENTH,
        lambda privacy: dpsel.select_top_k(ROWS, k=1, domain=["tea"], privacy=privacy, counts=TENTH),
    ),
    "plain counts": (TENTH, lambda privacy: top(privacy, TENTH)),
    "plain counts with delta": (TENTH, lambda privacy: top(privacy, APPROX_PART)),
    "plain counts in zCDP": (TENTH, lambda privacy: top(privacy, ZCDP_PART)),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_report_states_no_more_than_was_booked(opened, call):
    """Both parts are above their decimals as floats, so a call that ran with them would cost more."""
    part, made = CALLS[call]
    budget = opened(dpsel.ZCDP(rho=10.0, delta=1e-3))
    release = made(budget.on_use(part))
    (entry,) = budget.spent
    for stated, booked in zip(release.report.cost.parts, entry.cost.parts, strict=True):
        for name, number in stated.to_json().items():
            if name != "kind":
                assert Fraction(number) <= Fraction(repr(getattr(booked, name)))
    assert dpsel.check(release.report).ok


def test_a_report_of_a_call_that_nobody_paid_for_is_booked_by_its_floats(opened):
    """It ran with the float, which is above a tenth."""
    budget = opened(dpsel.PureDP(epsilon=1.0))
    cost = top(TENTH).report.cost
    assert cost.items == TENTH
    for _ in range(2):
        budget.spend(cost, "made elsewhere")
        budget.spend(TENTH)
    assert budget.remaining.epsilon < 0.6
    assert budget._sums.left()["epsilon"] == Fraction(4, 5) - 2 * Fraction(0.1)


def test_totals_of_reports_are_floats():
    stated = of_json({"kind": "pure_dp", "epsilon": 0.1})
    budget = dpsel.Budget(stated)
    budget.spend(stated)
    assert budget.remaining is None


# --------------------------------------------------------------------------------- parts that are used up

LEFT = {
    "no delta": (APPROX, dpsel.ApproxDP(epsilon=0.5, delta=1e-6), "epsilon 0.5 left, no delta"),
    "no epsilon": (APPROX, dpsel.ApproxDP(epsilon=1.0, delta=5e-7), "no epsilon left, delta 5e-07"),
    "no delta of zCDP": (
        dpsel.ZCDP(rho=1.0, delta=1e-6),
        dpsel.ZCDP(rho=0.5, delta=1e-6),
        "rho 0.5 left, no delta",
    ),
    "nothing": (APPROX, APPROX, "nothing left"),
}
MAY_BE_SPENT = {"no delta": dpsel.PureDP(epsilon=0.5), "no delta of zCDP": dpsel.PureDP(epsilon=1.0)}


@pytest.mark.parametrize("case", LEFT)
def test_what_is_left_is_told_with_the_part_that_is_not(opened, case):
    total, cost, words = LEFT[case]
    budget = opened(total)
    budget.spend(cost)
    texts = [repr(budget), str(budget)]
    if isinstance(budget, dpsel.Ledger):
        texts.append(budget.to_html())
    with pytest.raises(BudgetExceededError, match=f"{words}") as refused:
        budget.spend(cost)
    assert all(words in text for text in [*texts, str(refused.value)])
    left = budget.remaining
    assert left == MAY_BE_SPENT.get(case)
    if left is not None:
        assert budget.spend(left) == left
        assert budget.remaining is None
        assert "nothing left" in repr(budget)
