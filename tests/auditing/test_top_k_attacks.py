"""The audit of top-k mechanisms shows most of each claim, and sees faults of a factor 1.3."""

from __future__ import annotations

import itertools
import math
from random import Random

import numpy as np
import pytest
from scipy import stats

import dpsel
from dpsel._request import top_k_request
from dpsel.auditing import _cases, _discovery_law, _top_k, _top_k_run
from dpsel.auditing._discovery_law import worst_of_both, worst_of_picks
from dpsel.auditing._laws import gamma, laplace_top_k
from dpsel.auditing._noisy_laws import laplace_top_k_by_sums
from dpsel.auditing._sampling import CountSampler
from dpsel.auditing._search import Claim, Effort, falsify
from dpsel.auditing._top_k import worst_of_swaps, worst_of_top_k
from dpsel.auditing._verdicts import claim_of
from false_alarm import ALPHA

TOP_K = [case for case in _cases.every_case() if case.is_top_k]
NO_DRAWS = {
    kind: Effort(screen=30, climbs=0, test=40, tested=1) for kind in ("rows", "scores", "draws", "calls")
}
FAULT = 1.3


@pytest.mark.parametrize("case", TOP_K, ids=lambda case: case.name)
def test_computed_laws_show_most_of_every_claim(case) -> None:
    found = list(_top_k_run.audit_top_k(case, None, None, NO_DRAWS, ALPHA))
    exact = [each for each in found if each.method == "exact"]
    assert not any(each.refuted for each in found)
    assert max(each.epsilon / each.claimed_epsilon for each in exact) >= 0.8


@pytest.mark.parametrize("counts", [[2, 0, 1], [0, 0, 0], [3, 3, 1]])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_sums_have_the_law_of_all_noise(counts, k) -> None:
    sums, everything = laplace_top_k_by_sums(counts, k, 0.9), laplace_top_k(counts, k, 0.9, 30)
    assert sums.keys() == everything.keys()
    for outcome, chance in everything.items():
        assert sums[outcome] == pytest.approx(chance, abs=1e-11)


@pytest.fixture
def too_little_noise(monkeypatch):
    """Rates of a top-k that are too large by a factor; nothing else changes."""

    def plant(module, name: str) -> None:
        calibrated = getattr(module, name)

        def wrong(*arguments, **named):
            found = calibrated(*arguments, **named)
            return found | {"rate": FAULT * found["rate"]}

        monkeypatch.setattr(module, name, wrong)

    return plant


@pytest.mark.parametrize("name", ["laplace-top-k", "limit-domain"])
def test_a_rate_that_is_too_large_is_refuted(name, too_little_noise) -> None:
    (case,) = _cases.cases_named((name,))
    privacy, _ = _cases.budgets(case, None)
    claim = claim_of(privacy)
    too_little_noise(_top_k, "_calibration")
    needed, _ = worst_of_top_k(case.mechanism, privacy, claim.epsilon, claim.delta)
    assert needed.epsilon > 1.1 * claim.epsilon


def test_a_rate_of_gamma_that_is_too_large_is_refuted() -> None:
    privacy = dpsel.PureDP(epsilon=FAULT)
    assert worst_of_swaps(dpsel.Gamma(), privacy, 0.0).epsilon == pytest.approx(FAULT, rel=1e-9)


@pytest.mark.parametrize("ordered", [True, False])
def test_picks_that_get_too_much_are_refuted(ordered, too_little_noise) -> None:
    mechanism = dpsel.Discover(share=_top_k_run._PICKS, ordered=ordered)
    privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
    assert worst_of_picks(mechanism, privacy, 2, 1).epsilon <= privacy.epsilon
    too_little_noise(_discovery_law, "_rounds")
    assert worst_of_picks(mechanism, privacy, 2, 1).epsilon > privacy.epsilon


def test_a_selection_that_gets_too_much_is_refuted() -> None:
    """The share of the selection is too large by the factor, and the picks have what is left of the claim."""
    claim = _top_k_run._FOUND
    more = dpsel.ApproxDP(epsilon=FAULT * claim.epsilon, delta=claim.delta)
    needed = _discovery_law.worst_of_discovery(dpsel.Discover(share=_top_k_run._FINDS), more, 2, 1)
    assert needed.epsilon > claim.epsilon


@pytest.mark.parametrize("ordered", [True, False])
def test_both_parts_of_discover_need_most_of_the_claim_together(ordered) -> None:
    """At its usual share. The page says this number; more than the claim is refuted."""
    claim, bound = _top_k_run._ENDS, _top_k_run._ENDS_BOUND
    mechanism = dpsel.Discover(ordered=ordered)
    assert mechanism.share == 0.5
    needed = worst_of_both(mechanism, claim, bound)
    assert needed.epsilon == pytest.approx(0.834 * claim.epsilon, abs=0.0005)
    more = dpsel.ApproxDP(epsilon=FAULT * claim.epsilon, delta=claim.delta)
    assert worst_of_both(mechanism, more, bound).epsilon > claim.epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.5, 1e-10), (4.0, 1e-8), (2.0, 0.02)])
@pytest.mark.parametrize("bound", [1, 25, 1000])
def test_both_parts_of_discover_need_no_more_than_the_claim(epsilon, delta, bound) -> None:
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=delta)
    needed = worst_of_both(dpsel.Discover(), privacy, bound)
    assert needed.epsilon <= epsilon
    assert needed.delta <= delta


@pytest.mark.parametrize(
    ("epsilon", "delta", "proved", "shown"), [(2.0, 0.02, 0.53, 0.44), (1.0, 1e-6, 0.45, 0.43)]
)
def test_discover_needs_less_at_a_large_delta(epsilon, delta, proved, shown) -> None:
    """The proposition of the page and its figures, as parts of delta."""
    privacy, own = dpsel.ApproxDP(epsilon=epsilon, delta=delta), epsilon / 2
    rounds = _discovery_law._rounds(dpsel.Discover(), privacy, 1, 1)["discovery"]["rounds"]
    mu = math.sqrt(sum(1 / each["noise"]["sigma"] ** 2 for each in rounds))
    alone = _discovery_law._found(rounds, 1)
    z, t = np.linspace(-12, 12 + mu, 8001), np.linspace(0, own, 201)[:, np.newaxis]
    x, y = stats.norm.pdf(z - mu), stats.norm.pdf(z)
    q = (1 - np.exp(t - own)) / (1 - math.exp(-own))
    first = q * np.maximum(0, x - np.exp(epsilon - t) * y)
    second = (1 - q) * np.maximum(0, x - np.exp(epsilon - t + own) * y)
    rest = np.trapezoid((first + second).max(axis=0), z)
    assert (alone + (1 - alone) * rest) / delta == pytest.approx(proved, abs=0.006)
    assert alone / delta == pytest.approx(shown, abs=0.006)


@pytest.mark.statistical
@pytest.mark.parametrize("added", [False, True])
def test_an_item_that_both_parts_seldom_give_is_as_likely_as_computed(added) -> None:
    privacy, draws = dpsel.ApproxDP(epsilon=4.0, delta=1e-3), 600
    table = _discovery_law.SeldomItem(holders=30, bound=16, beside=8, users=30)
    names = [f"holder {number}" for number in range(table.holders)]
    rows = [(name, "seldom") for name in [*names, *["added"] * added]]
    rows += [(name, f"{name} {own}") for name in names for own in range(1, table.bound)]
    rows += [(f"{item} {n}", f"item {item}") for item in range(table.beside) for n in range(table.users)]
    calibration = _discovery_law._rounds(dpsel.Discover(), privacy, 1, table.bound)
    chance = table.chances(calibration["discovery"]["rounds"], calibration["rate"])[added]
    assert 0.05 < chance < 0.95
    seen = 0
    for _ in range(draws):
        found = dpsel.select_top_k(
            rows, k=1, privacy=privacy, max_items_per_user=table.bound, mechanism=dpsel.Discover()
        )
        seen += "seldom" in set(found.items)
    # The chance without the user is from above, and the other one from below, by little.
    assert stats.binomtest(seen, draws, chance).pvalue > ALPHA


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", [dpsel.Gamma(), dpsel.LaplaceTopK()], ids=lambda each: each.name)
@pytest.mark.parametrize(("factor", "refuted"), [(1.0, False), (FAULT, True)])
def test_published_counts_with_too_little_noise_are_refuted(mechanism, factor, refuted) -> None:
    claim = Claim(2.0, 0.0)
    sampler = CountSampler(mechanism, dpsel.PureDP(epsilon=factor * claim.epsilon), 2, 2)
    effort = Effort(screen=600, climbs=0, test=20_000, tested=1)
    shown = falsify(sampler, [([5, 5], [6, 6])], claim, effort, alpha=ALPHA, random=Random(1))
    assert shown.refutes(claim) is refuted


@pytest.mark.parametrize("counts", [[0, 0, 0], [2, 0, 1]])
def test_items_of_gamma_alone_need_less_than_the_claim(counts) -> None:
    """The bound of the page, for every neighbour and every answer."""
    epsilon, reach = 1.5, 12
    most = (1 + math.exp(epsilon)) / 2
    before = gamma(counts, 2, epsilon, reach)
    for change in itertools.product((0, 1), repeat=3):
        after = gamma([n + one for n, one in zip(counts, change, strict=True)], 2, epsilon, reach)
        for outcome, chance in before.items():
            # Noise is cut off, which moves answers by less than this.
            assert max(chance, after[outcome]) <= most * min(chance, after[outcome]) + 1e-5


def test_the_rate_of_gamma_is_that_of_the_law() -> None:
    """The note of the report rests on a rate of epsilon."""
    for neighbours in ("add_remove", "swap"):
        request = top_k_request(2, dpsel.PureDP(epsilon=1.0), dpsel.Gamma(), neighbours=neighbours)
        assert request.calibrate()["rate"] == 1.0
