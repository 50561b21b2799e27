"""A budget in the real ``dp_accounting`` of Google: its accountants take it, tight and never optimistic."""

from __future__ import annotations

import itertools
import json
import math

import pytest
from mpmath import mp, mpf

import dpsel
from dpsel.exceptions import InvalidParameterError

dp_accounting = pytest.importorskip("dp_accounting", reason="nox -s dp_accounting installs it")

pytestmark = pytest.mark.dp_accounting

ROWS = [(user, drink) for user in range(400) for drink in ("tea", "milk")]
PURE = dpsel.PureDP(epsilon=0.5)
APPROX = dpsel.ApproxDP(epsilon=0.5, delta=1e-6)
ZCDP = dpsel.ZCDP(rho=0.1, delta=1e-6)


def hockey_stick(epsilon, mu):
    """The divergence of two normal distributions mu standard deviations apart."""
    with mp.workdps(40):
        epsilon, mu = mpf(epsilon), mpf(mu)
        return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def spent(*costs, total=None):
    budget = dpsel.Budget(total or dpsel.ZCDP(rho=50.0, delta=0.01))
    for cost in costs:
        budget.spend(cost)
    return budget.to_dp_accounting()


def test_both_accountants_know_every_event():
    accounted = spent(PURE, APPROX, ZCDP)
    assert isinstance(accounted.event, dp_accounting.ComposedDpEvent)
    for relation in dp_accounting.NeighboringRelation:
        assert dp_accounting.rdp.RdpAccountant(neighboring_relation=relation).supports(accounted.event)
    assert accounted.delta == pytest.approx(2e-6, rel=1e-5)
    made = released(dpsel.WeightedGaussian(), APPROX)
    assert dp_accounting.pld.PLDAccountant().supports(made.event)


def test_one_entry_is_its_own_guarantee():
    for cost in (PURE, APPROX):
        accounted = spent(cost)
        epsilon = accounted.get_epsilon(1e-5)
        assert epsilon <= 0.5 + 1e-3
        assert accounted.get_delta(0.5001) <= getattr(cost, "delta", 0.0) + 1e-9
        assert accounted.get_delta(0.4) > 0.01


@pytest.mark.parametrize("number", [1, 4, 30])
def test_pure_costs_compose_as_randomized_response(number):
    """The exact law of the worst mechanism: the sum of `number` losses of plus or minus epsilon."""
    accounted = spent(*[PURE] * number, total=dpsel.PureDP(epsilon=50.0))
    truth = 1 / (1 + math.exp(-0.5))
    for epsilon in (0.2, 1.0, 3.0):
        exact = sum(
            math.comb(number, ups)
            * truth**ups
            * (1 - truth) ** (number - ups)
            * max(0.0, 1 - math.exp(epsilon - 0.5 * (2 * ups - number)))
            for ups in range(number + 1)
        )
        found = accounted.get_delta(epsilon)
        assert exact * (1 - 1e-9) <= found <= exact * 1.01 + 1e-6


def test_zcdp_costs_are_what_they_are():
    accounted = spent(ZCDP, ZCDP, ZCDP)
    own = dpsel.ZCDP(rho=0.3, delta=accounted.delta)
    epsilon = accounted.get_epsilon(1e-5)
    assert epsilon >= own.to_approx_dp(delta=1e-5, releases=3).epsilon * (1 - 1e-3)
    assert epsilon == pytest.approx(own.to_approx_dp(delta=1e-5).epsilon, rel=0.05)


def released(mechanism, privacy, times=1, limit=2):
    budget = dpsel.Budget(dpsel.ZCDP(rho=50.0, delta=0.01))
    for _ in range(times):
        paid = budget.spend(privacy)
        dpsel.select_partitions(ROWS, privacy=paid, max_items_per_user=limit, mechanism=mechanism)
    return budget.to_dp_accounting()


GAUSSIAN = [
    *itertools.product(
        [dpsel.WeightedGaussian(), dpsel.CountGaussian(), dpsel.PolicyGaussian(), dpsel.Sips()],
        [APPROX, ZCDP],
    ),
    (dpsel.Steered(), ZCDP),
    (dpsel.Steered(), APPROX),
    (dpsel.Steered(reach=3), APPROX),
]


@pytest.mark.parametrize(("mechanism", "privacy"), GAUSSIAN)
def test_a_gaussian_release_is_a_gaussian_event(mechanism, privacy):
    """delta_T + (1 - delta_T) dG(epsilon, mu), from 40 digits; never less, and little more."""
    accounted = released(mechanism, privacy, times=3)
    (event, *_) = events = accounted.event.events
    assert all(isinstance(each, dp_accounting.GaussianDpEvent) for each in events)
    mu = math.sqrt(3) / event.noise_multiplier
    # From 1.5 on the sum of three epsilons says more.
    for epsilon in (0.3, 1.0, 1.4):
        exact = hockey_stick(epsilon, mu)
        least = accounted.delta + (1 - accounted.delta) * exact
        assert least * (1 - mpf(10) ** -6) <= accounted.get_delta(epsilon) <= (accounted.delta + exact) * 1.01
    if privacy is ZCDP:
        assert mu**2 / 2 == pytest.approx(0.3, rel=1e-3)


def test_one_call_needs_no_more_than_was_paid():
    """The largest distance and the largest delta belong to users of different sizes."""
    made = released(dpsel.Steered(), dpsel.ApproxDP(epsilon=6.0, delta=1e-6), limit=30)
    assert isinstance(made.event.events[0], dp_accounting.GaussianDpEvent)
    assert made.get_epsilon(1.001e-6) <= 6.001
    assert made.get_delta(6.0001) <= 1.01e-6


@pytest.mark.parametrize("part", ["sigma", "sizes", "cost"])
def test_a_changed_report_is_no_gaussian_event(part):
    """Reports of a ledger are lines of a file: what does not follow from its request is its parameters."""
    budget = dpsel.Budget(dpsel.ApproxDP(epsilon=5.0, delta=1e-4))
    dpsel.select_partitions(
        ROWS, privacy=budget.spend(APPROX), max_items_per_user=30, mechanism=dpsel.Steered()
    )
    (payment,) = budget._entries
    report = json.loads(payment.report.to_json())
    last = report["calibration"]["rounds"][-1]
    if part == "sigma":
        last["noise"]["sigma"] *= 3.0
    elif part == "sizes":
        del last["publish"]["sizes"][1:]
    else:
        payment.cost = dpsel.Cost(items=dpsel.ApproxDP(epsilon=0.4, delta=1e-6))
    payment.report = dpsel.Report(json.dumps(report))
    accounted = budget.to_dp_accounting()
    assert not isinstance(accounted.event.events[0], dp_accounting.GaussianDpEvent)


def test_gaussian_releases_compose_more_tightly_than_their_parameters():
    times = 10
    made = released(dpsel.Sips(), APPROX, times=times)
    told = spent(*[APPROX] * times)
    assert made.get_epsilon(1e-4) < 0.6 * told.get_epsilon(1e-4) < 0.6 * 0.5 * times * 1.01


def test_releases_without_gaussian_noise_are_their_parameters():
    for mechanism in (dpsel.CountLaplace(), dpsel.Mad(), dpsel.Sips(release="curve"), dpsel.MatchingOr()):
        made, told = released(mechanism, APPROX), spent(APPROX)
        assert made.event == told.event
        assert made.delta == told.delta


def test_counts_are_events_as_well():
    budget = dpsel.Budget(dpsel.ApproxDP(epsilon=5.0, delta=1e-5))
    paid = budget.spend(dpsel.Cost(items=PURE, counts=PURE))
    dpsel.select_top_k(ROWS, k=1, domain=["tea", "gin"], privacy=paid.items, counts=paid.counts)
    accounted = budget.to_dp_accounting()
    assert len(accounted.event.events) == 2
    assert accounted.get_epsilon(1e-9) == pytest.approx(1.0, abs=1e-3)


def test_finite_precision_is_counted():
    accounted = spent(ZCDP)
    assert accounted.releases == 1
    assert accounted.get_delta(30.0) >= ZCDP.delta + 1e-18 * math.exp(30.0)


@pytest.mark.parametrize("delta", [1e-4, 2e-6, 1e-15])
def test_epsilon_and_delta_are_two_sides_of_one_curve(delta):
    """An epsilon that forgets what was spent of delta, or the slack, needs more delta than it was given."""
    kinds = [released(dpsel.WeightedGaussian(), APPROX), released(dpsel.Sips(), ZCDP, times=2)]
    kinds += [spent(dpsel.ZCDP(rho=0.1, delta=1e-18)), spent(APPROX, APPROX)]
    for accounted in (each for each in kinds if each.delta < delta * 0.9):
        epsilon = accounted.get_epsilon(delta)
        assert accounted.get_delta(epsilon) <= delta * (1 + 1e-6)
        assert accounted.get_delta(epsilon * 0.99) > delta * 0.999


def test_counts_beside_a_gaussian_release_are_counted():
    budget = dpsel.Budget(dpsel.ZCDP(rho=50.0, delta=0.01))
    paid = budget.spend(dpsel.Cost(items=APPROX, counts=dpsel.ZCDP(rho=0.5, delta=1e-9)))
    arguments = {"k": 2, "max_items_per_user": 2, "mechanism": dpsel.Discover()}
    release = dpsel.select_top_k(ROWS, privacy=paid.items, counts=paid.counts, **arguments)
    accounted = budget.to_dp_accounting()
    stated = release.report.cost
    assert (stated.items.to_json(), stated.counts.to_json()) == (paid.items.to_json(), paid.counts.to_json())
    assert dp_accounting.ZCDpEvent(0.5) in accounted.event.events
    assert accounted.releases >= 1
    assert accounted.delta >= 1e-9
    several = released(dpsel.WeightedGaussian(), APPROX, times=3)
    assert several.releases == 3


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0, "1"])
def test_arguments_are_checked(wrong):
    accounted = spent(ZCDP)
    with pytest.raises(InvalidParameterError, match="^epsilon must be"):
        accounted.get_delta(wrong)
    with pytest.raises(InvalidParameterError, match="^delta must be"):
        accounted.get_epsilon(wrong)
    with pytest.raises(InvalidParameterError, match="^delta must be above 0 and below 1, got 2"):
        accounted.get_epsilon(2.0)


def test_what_cannot_be_had_is_refused():
    with pytest.raises(InvalidParameterError, match="delta must be above what the entries spent of it"):
        spent(ZCDP).get_epsilon(1e-7)
    swaps = dpsel.Budget(PURE, neighbours="swap")
    with pytest.raises(InvalidParameterError, match="for adding or removing one user"):
        swaps.to_dp_accounting()


def test_nothing_spent_costs_nothing():
    accounted = spent()
    assert accounted.delta == 0.0
    assert accounted.get_delta(0.1) <= 1e-9


def test_an_open_ledger_knows_what_others_spent(tmp_path):
    ledger = dpsel.Ledger(tmp_path / "spent", dpsel.PureDP(epsilon=5.0))
    other = dpsel.Ledger(tmp_path / "spent")
    for number in (1, 2):
        other.spend(PURE)
        expected = spent(*[PURE] * number, total=dpsel.PureDP(epsilon=5.0))
        assert ledger.to_dp_accounting().get_epsilon(1e-6) == expected.get_epsilon(1e-6)
