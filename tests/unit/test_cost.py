"""One privacy cost of a call: what a budget is asked for, a call refuses, and a report states."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from dpsel.accounting._amounts import as_written, exp_up
from dpsel.accounting._privacy import of_json
from dpsel.exceptions import BudgetExceededError, InvalidParameterError, MissingFileError, SchemaError

ROWS = [(user, drink) for user in range(400) for drink in ("tea", "milk")]
DOMAIN = ["tea", "milk", "gin"]
PURE = dpsel.PureDP(epsilon=1.0)
APPROX = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)


def top_k(privacy, **arguments):
    return dpsel.select_top_k(ROWS, k=2, privacy=privacy, domain=DOMAIN, **arguments)


def from_counts(privacy, *, counts=None, **arguments):
    return dpsel.top_k_from_counts([500, 3, 400], k=2, privacy=privacy, publish_counts=counts, **arguments)


@pytest.mark.parametrize("call", [top_k, from_counts])
def test_counts_that_were_not_paid_for_are_refused(call):
    budget = dpsel.Budget(dpsel.PureDP(epsilon=2.0))
    with pytest.raises(BudgetExceededError, match=r"counts at PureDP\(epsilon=10.0\), for which nothing was"):
        call(budget.spend(PURE), counts=dpsel.PureDP(epsilon=10.0))
    paid = budget.spend(dpsel.Cost(items=dpsel.PureDP(epsilon=0.25), counts=dpsel.PureDP(epsilon=0.5)))
    with pytest.raises(BudgetExceededError, match=r"for which PureDP\(epsilon=0.5\) was spent"):
        call(paid.items, counts=dpsel.PureDP(epsilon=0.75))
    release = call(paid.items, counts=paid.counts)
    assert len(release.counts) == 2
    assert budget.remaining == dpsel.PureDP(epsilon=0.25)
    assert budget.spent[-1].report == release.report
    assert release.report.cost == paid


def test_counts_are_spent_with_the_items():
    budget = dpsel.Budget(PURE)
    with pytest.raises(BudgetExceededError, match="exceeds the remaining"):
        budget.spend(dpsel.Cost(items=dpsel.PureDP(epsilon=0.75), counts=dpsel.PureDP(epsilon=0.5)))
    assert budget.remaining == PURE
    assert budget.spent == ()


@pytest.mark.parametrize("call", [top_k, from_counts])
def test_a_budget_for_one_kind_of_neighbours_pays_for_no_other(call):
    budget = dpsel.Budget(dpsel.PureDP(epsilon=9.0))
    with pytest.raises(InvalidParameterError, match="asked for adding or removing one user, but the call is"):
        call(budget.spend(PURE), neighbours="swap")
    with pytest.raises(InvalidParameterError, match="gives none for adding or removing one user"):
        budget.spend(dpsel.Cost(items=PURE, neighbours="swap"))
    swaps = dpsel.Budget(dpsel.PureDP(epsilon=9.0), neighbours="swap")
    with pytest.raises(InvalidParameterError, match="asked for replacing one user by another, but the call"):
        call(swaps.spend(PURE))
    assert call(swaps.spend(PURE), neighbours="swap").report.cost.neighbours == "swap"
    assert swaps.remaining == dpsel.PureDP(epsilon=7.0)


def test_adding_or_removing_counts_twice_for_swaps():
    budget = dpsel.Budget(dpsel.ApproxDP(epsilon=4.0, delta=1e-4), neighbours="swap")
    cost = dpsel.Cost(items=dpsel.ApproxDP(epsilon=1.0, delta=1e-6))
    paid = budget.spend(cost)
    dpsel.select_partitions(ROWS, privacy=paid.items, max_items_per_user=2)
    assert budget.remaining.epsilon == 2.0
    spent = Fraction(1e-4) - Fraction(budget.remaining.delta)
    assert spent >= Fraction(1e-6) * (1 + Fraction(math.nextafter(math.e, 0)))
    assert float(spent) == pytest.approx(1e-6 * (1 + math.e), rel=1e-9)


def test_what_does_not_follow_is_refused():
    swaps = dpsel.Budget(dpsel.ZCDP(rho=1.0, delta=1e-6), neighbours="swap")
    with pytest.raises(
        InvalidParameterError, match="a ZCDP guarantee for adding or removing one user is not converted"
    ):
        swaps.spend(dpsel.Cost(items=dpsel.ZCDP(rho=0.1, delta=1e-8), neighbours="add_remove"))
    with pytest.raises(InvalidParameterError, match="neighbours must be one of 'add_remove', 'swap'"):
        dpsel.Cost(items=PURE, neighbours="other")
    with pytest.raises(InvalidParameterError, match="neighbours must be one of"):
        dpsel.Budget(PURE, neighbours="other")
    with pytest.raises(InvalidParameterError, match="privacy must be"):
        dpsel.Cost(items=1.0)
    with pytest.raises(InvalidParameterError, match="does not fit a budget of kind"):
        dpsel.Budget(PURE, neighbours="swap").spend(
            dpsel.Cost(items=dpsel.ApproxDP(epsilon=0.1, delta=1e-6), neighbours="add_remove")
        )


E, D = Fraction(1, 2), Fraction(1, 10**6)
DOUBLED = D * (1 + exp_up(E))
HALF, PAIR, RHO = (
    dpsel.PureDP(epsilon=0.5),
    dpsel.ApproxDP(epsilon=0.5, delta=1e-6),
    dpsel.ZCDP(rho=0.5, delta=1e-6),
)


@pytest.mark.parametrize(
    ("part", "have", "want", "total", "taken"),
    [
        (HALF, "add_remove", "add_remove", dpsel.PureDP(epsilon=9.0), {"epsilon": E}),
        (HALF, "any", "add_remove", dpsel.PureDP(epsilon=9.0), {"epsilon": E}),
        (HALF, "swap", "swap", dpsel.PureDP(epsilon=9.0), {"epsilon": E}),
        (HALF, "add_remove", "swap", dpsel.PureDP(epsilon=9.0), {"epsilon": 2 * E}),
        (HALF, "any", "swap", dpsel.PureDP(epsilon=9.0), {"epsilon": 2 * E}),
        (HALF, "add_remove", "swap", dpsel.ApproxDP(epsilon=9.0, delta=0.1), {"epsilon": 2 * E, "delta": 0}),
        (HALF, "any", "swap", dpsel.ZCDP(rho=9.0, delta=0.1), {"rho": 2 * E**2, "delta": 0}),
        (HALF, "any", "add_remove", dpsel.ZCDP(rho=9.0, delta=0.1), {"rho": E**2 / 2, "delta": 0}),
        (
            PAIR,
            "add_remove",
            "add_remove",
            dpsel.ApproxDP(epsilon=9.0, delta=0.1),
            {"epsilon": E, "delta": D},
        ),
        (PAIR, "any", "swap", dpsel.ApproxDP(epsilon=9.0, delta=0.1), {"epsilon": 2 * E, "delta": DOUBLED}),
        (PAIR, "add_remove", "swap", dpsel.ZCDP(rho=9.0, delta=0.1), {"rho": 2 * E**2, "delta": DOUBLED}),
        (RHO, "any", "add_remove", dpsel.ZCDP(rho=9.0, delta=0.1), {"rho": E, "delta": D}),
        (RHO, "swap", "swap", dpsel.ZCDP(rho=9.0, delta=0.1), {"rho": E, "delta": D}),
    ],
)
def test_a_budget_is_asked_for_exactly(part, have, want, total, taken):
    """Items and counts alike, in every pair of neighbours and kinds that has a theorem."""
    for cost in (
        dpsel.Cost(items=part, neighbours=have),
        dpsel.Cost(items=part, counts=part, neighbours=have),
    ):
        budget = dpsel.Budget(total, neighbours=want)
        budget.spend(cost)
        times = len(cost.parts)
        for name, left in budget._sums.left().items():
            whole, each = as_written(getattr(total, name)), taken[name]
            if name == "delta" and budget._sums._deltas_overlap(name):
                # What still composes to the whole: 1 - whole = (1 - left) (1 - each)^times.
                assert (1 - left) * (1 - each) ** times == 1 - whole
            else:
                assert whole - left == times * each


@pytest.mark.parametrize(("have", "want"), [("swap", "add_remove")])
@pytest.mark.parametrize("part", [HALF, PAIR, RHO])
def test_what_a_guarantee_does_not_give_is_refused(part, have, want):
    budget = dpsel.Budget(dpsel.ZCDP(rho=9.0, delta=0.1), neighbours=want)
    with pytest.raises(InvalidParameterError, match="gives none for"):
        budget.spend(dpsel.Cost(items=part, neighbours=have))
    swaps = dpsel.Budget(dpsel.ZCDP(rho=9.0, delta=0.1), neighbours="swap")
    with pytest.raises(InvalidParameterError, match="who changes counts in any direction is not converted"):
        swaps.spend(dpsel.Cost(items=RHO, neighbours="any"))


@pytest.mark.parametrize("counts", [dpsel.ZCDP(rho=0.5, delta=1e-9), dpsel.ApproxDP(epsilon=0.5, delta=1e-9)])
@pytest.mark.parametrize("call", [top_k, from_counts])
def test_counts_of_every_kind_have_to_be_paid(call, counts):
    budget = dpsel.Budget(dpsel.ZCDP(rho=9.0, delta=1e-3))
    with pytest.raises(BudgetExceededError, match="for which nothing was spent"):
        call(budget.spend(PURE), counts=counts)
    paid = budget.spend(dpsel.Cost(items=PURE, counts=counts))
    release = call(paid.items, counts=paid.counts)
    stated = release.report.cost
    assert (stated.items.to_json(), stated.counts.to_json()) == (paid.items.to_json(), paid.counts.to_json())
    assert stated.counts.delta == math.nextafter(counts.delta, 0), "the float of 1e-9 is above it"


def test_any_direction_is_paid_from_adding_and_removing_and_from_nothing_else():
    budget = dpsel.Budget(dpsel.PureDP(epsilon=9.0))
    release = from_counts(budget.spend(PURE), neighbours="any")
    assert release.report.cost.neighbours == "any"
    assert budget.remaining == dpsel.PureDP(epsilon=8.0)
    swaps = dpsel.Budget(dpsel.PureDP(epsilon=9.0), neighbours="swap")
    with pytest.raises(InvalidParameterError, match="asked for replacing one user by another, but the call"):
        from_counts(swaps.spend(PURE), neighbours="any")
    with pytest.raises(InvalidParameterError, match="neighbours must be one of 'add_remove', 'swap', got"):
        dpsel.Budget(PURE, neighbours="any")


def test_a_zcdp_budget_takes_every_kind():
    budget = dpsel.Budget(dpsel.ZCDP(rho=1.0, delta=1e-5))
    budget.spend(dpsel.Cost(items=dpsel.ZCDP(rho=0.25, delta=1e-6), counts=dpsel.PureDP(epsilon=0.5)))
    budget.spend(dpsel.ApproxDP(epsilon=1.0, delta=1e-6))
    assert budget.remaining.rho == 1.0 - 0.25 - 0.125 - 0.5
    assert budget.remaining.delta == pytest.approx(8e-6, rel=1e-5)


def test_one_payment_is_for_one_call():
    paid = dpsel.Budget(dpsel.ApproxDP(epsilon=1.0, delta=1e-5)).spend(
        dpsel.ApproxDP(epsilon=0.5, delta=1e-6)
    )
    dpsel.plan(privacy=paid, max_items_per_user=1)
    dpsel.select_partitions(ROWS, privacy=paid, max_items_per_user=1)
    with pytest.raises(BudgetExceededError, match="one was begun with them, even if it failed; spend"):
        dpsel.select_partitions(ROWS, privacy=paid, max_items_per_user=1)


def test_a_call_with_wrong_arguments_uses_nothing_up():
    paid = dpsel.Budget(PURE).spend(PURE)
    with pytest.raises(InvalidParameterError, match="k must be"):
        dpsel.select_top_k(ROWS, k=0, privacy=paid, domain=DOMAIN)
    assert len(top_k(paid)) == 2


def test_a_wrong_name_uses_nothing_up(tmp_path):
    pl, pd, pa = (
        pytest.importorskip(name, reason="an optional library") for name in ("polars", "pandas", "pyarrow")
    )
    duckdb = pytest.importorskip("duckdb", reason="an optional library")
    columns = {
        "user": [user for user, _ in ROWS],
        "item": [item for _, item in ROWS],
        "more": [0] * len(ROWS),
    }
    frame, arrow = pl.DataFrame(columns), pa.table(columns)
    paths = [tmp_path / f"rows.{kind}" for kind in ("parquet", "csv", "arrow")]
    frame.write_parquet(paths[0])
    frame.write_csv(paths[1])
    frame.write_ipc(paths[2])
    sources = [frame, frame.lazy(), pd.DataFrame(columns), arrow, duckdb.sql("select * from arrow"), *paths]
    for source in sources:
        paid = dpsel.Budget(PURE).spend(PURE)
        for wrong in ({"user": "usr", "item": "item"}, {"user": "user", "item": "itm"}):
            with pytest.raises(SchemaError, match=r"no(ne named|.*column)( named)? '(usr|itm)'"):
                dpsel.select_top_k(source, **wrong, k=2, privacy=paid, domain=DOMAIN)
        with pytest.raises(MissingFileError):
            dpsel.select_top_k(
                tmp_path / "absent.csv", user="user", item="item", k=2, privacy=paid, domain=DOMAIN
            )
        release = dpsel.select_top_k(source, user="user", item="item", k=2, privacy=paid, domain=DOMAIN)
        assert len(release) == 2
    loose = dpsel.Budget(APPROX).spend(APPROX)
    with pytest.raises(SchemaError, match="no column 'usr'"):
        dpsel.select_partitions(frame, user="usr", item="item", privacy=loose, max_items_per_user=1)
    dpsel.select_partitions(frame, user="user", item="item", privacy=loose, max_items_per_user=1)


def test_a_user_in_the_index_of_pandas_is_found():
    pd = pytest.importorskip("pandas", reason="an optional library")
    frame = pd.DataFrame(ROWS, columns=["user", "item"])
    paid = dpsel.Budget(PURE).spend(PURE)
    indexed = frame.set_index("user")
    release = dpsel.select_top_k(indexed, user="user", item="item", k=2, privacy=paid, domain=DOMAIN)
    assert len(release) == 2


def test_a_payment_is_no_part_of_the_parameters():
    budget = dpsel.Budget(PURE)
    paid = budget.spend(PURE)
    assert paid == PURE
    assert hash(paid) == hash(PURE)
    assert repr(paid) == repr(PURE)
    assert paid.to_json() == PURE.to_json()


def test_a_shallow_copy_shares_the_payment():
    budget = dpsel.Budget(PURE)
    paid = budget.spend(PURE)
    other = copy.copy(paid)
    assert other == PURE
    assert top_k(other).report == budget.spent[0].report
    with pytest.raises(BudgetExceededError, match="one was begun with them, even if it failed; spend again"):
        top_k(paid)


def test_a_report_can_be_booked():
    release = top_k(PURE, counts=dpsel.PureDP(epsilon=0.5))
    stated = json.loads(release.report.to_json())["cost"]
    assert stated == {
        "items": {"kind": "pure_dp", "epsilon": 1.0},
        "counts": {"kind": "pure_dp", "epsilon": 0.5},
        "neighbours": "add_remove",
        "total": {"kind": "pure_dp", "epsilon": 1.5},
    }
    budget = dpsel.Budget(dpsel.PureDP(epsilon=4.0))
    budget.spend(release.report.cost, "made elsewhere")
    assert budget.remaining == dpsel.PureDP(epsilon=2.5)
    assert "(epsilon = 1.5)-DP in all" in str(release)


def test_nothing_is_not_a_cost():
    budget = dpsel.Budget(PURE)
    budget.spend(budget.remaining)
    with pytest.raises(BudgetExceededError, match="nothing remains of the budget"):
        budget.spend(budget.remaining)


KINDS = st.one_of(
    st.builds(dpsel.PureDP, epsilon=st.floats(1e-6, 10)),
    st.builds(dpsel.ApproxDP, epsilon=st.floats(1e-6, 10), delta=st.floats(1e-300, 0.4)),
    st.builds(dpsel.ZCDP, rho=st.floats(1e-6, 10), delta=st.floats(1e-300, 0.4)),
)


@given(KINDS, KINDS)
def test_the_total_is_the_sum_rounded_up(items, counts):
    """The reports' total, which the core computes, against the budget's exact fractions."""
    total = dpsel.Cost(items=items, counts=counts).total
    budget = dpsel.Budget(total)
    budget.spend(dpsel.Cost(items=of_json(items.to_json()), counts=of_json(counts.to_json())))
    for name, left in budget._sums.left().items():
        assert 0 <= left <= Fraction(getattr(total, name)) * Fraction(1, 10**14)


@given(st.floats(1e-9, 700))
def test_the_exponential_is_rounded_up(exponent):
    bound = exp_up(Fraction(exponent))
    assert bound >= Fraction(math.nextafter(math.exp(exponent), 0))
    assert float(bound) == pytest.approx(math.exp(exponent), rel=1e-11)
    assert exp_up(Fraction(1e300)) == Fraction(10) ** 1000
