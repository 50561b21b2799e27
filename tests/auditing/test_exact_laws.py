"""Laws that can be computed, of everything that ships: none needs more than it claims."""

from __future__ import annotations

from collections import Counter

import pytest
from scipy import stats

import dpsel
from dpsel._request import selection_request, top_k_request
from dpsel.auditing import _cases, _run
from dpsel.auditing._discovery_law import law_of_discovery, worst_of_discovery
from dpsel.auditing._exact import TOLERANCE, worst_of_selection
from dpsel.auditing._neighbours import Neighbours
from dpsel.auditing._sampling import DiscoverSampler
from dpsel.auditing._top_k import worst_of_top_k
from dpsel.auditing._verdicts import claim_of
from false_alarm import ALPHA

CASES = [case for case in _cases.every_case() if not case.control]
SELECTIONS = [case for case in CASES if not case.is_top_k and case.name not in ("steered", "matching-or")]
#: The laws of these two begin with a selection, and have tests of their own.
TOP_K = [case for case in CASES if case.is_top_k and case.name not in ("discover", "select-and-count")]


BUDGETS = [(1.0, 1e-6, 10), (0.5, 0.01, 3), (4.0, 1e-9, 30)]


def claims() -> list:
    """Every selection with every budget. One pair has a law of so many steps that it takes minutes."""
    return [
        pytest.param(
            case,
            *budget,
            id="-".join([case.name, *map(str, budget)]),
            marks=[pytest.mark.slow] if (case.name, budget[1]) == ("weighted-gaussian-curve", 0.01) else [],
        )
        for case in SELECTIONS
        for budget in BUDGETS
    ]


@pytest.mark.parametrize(("case", "epsilon", "delta", "bound"), claims())
def test_a_selection_needs_no_more_than_it_claims(case, epsilon, delta, bound) -> None:
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=delta)
    needed = worst_of_selection(case.mechanism, privacy, 1 if case.name == "one-item" else bound)
    assert 0.1 * delta < needed.delta <= delta * (1 + 1e-9) + TOLERANCE
    assert needed.epsilon <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
@pytest.mark.parametrize("case", TOP_K, ids=lambda case: case.name)
def test_a_top_k_needs_no_more_than_it_claims(case, epsilon) -> None:
    pure = not case.mechanism.finds_domain
    privacy = dpsel.PureDP(epsilon=epsilon) if pure else dpsel.ApproxDP(epsilon=epsilon, delta=0.02)
    needed, _ = worst_of_top_k(case.mechanism, privacy, epsilon, 0.0 if pure else 0.02)
    assert needed.epsilon <= epsilon + 1e-9
    assert needed.delta <= (TOLERANCE if pure else 0.02)
    assert needed.epsilon > 0.3 * epsilon or not pure


@pytest.mark.long("the laws of all rounds")
@pytest.mark.parametrize("case", [each for each in CASES if not each.is_top_k], ids=lambda case: case.name)
def test_computed_laws_show_most_of_every_claim(case) -> None:
    """The guide promises it; `test_top_k_attacks.py` has the same for every top-k."""
    claim, _ = _cases.budgets(case, None)
    bound = 1 if case.mechanism.name == "one_item" else _cases.USUAL_BOUND
    law = _run._law(case.mechanism, claim, bound)
    assert law is not None
    assert _run._is_sharp(claim_of(claim), law) or list(_run._at_another_claim(case))


@pytest.mark.long("an exact law of many rounds")
def test_a_choice_needs_most_of_its_claim() -> None:
    """The law is the worse one of what may be chosen, with what the look leaves."""
    mechanism, privacy = dpsel.MatchingOr(), dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
    needed = _run._law(mechanism, privacy, 10)
    assert 0.8 < needed.epsilon <= 1 - mechanism.share
    assert 0.99 * privacy.delta < needed.delta <= (1 + 1e-9) * privacy.delta, "Matching needs all of it"
    steered = _run._law(mechanism.otherwise, privacy, 10)
    assert steered.delta < needed.delta, "the law of the other mechanism alone would not show that"
    rest = dpsel.ApproxDP(epsilon=1 - mechanism.share, delta=privacy.delta)
    chosen, alone = (
        selection_request(budget, 10, each).calibrate()["rounds"]
        for budget, each in ((privacy, mechanism), (rest, mechanism.otherwise))
    )
    scales = [[each["noise"]["sigma"] for each in rounds] for rounds in (chosen, alone)]
    assert scales[0] == pytest.approx(scales[1], rel=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_discover_divides_its_epsilon(share) -> None:
    """The selection gets its share, and the second law needs no more than the rest."""
    epsilon, delta = 1.0, 1e-4
    mechanism = dpsel.Discover(share=share)
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=delta)
    found = top_k_request(2, privacy, mechanism, bound=5).calibrate()
    first = dpsel.ApproxDP(epsilon=share * epsilon, delta=delta)
    alone = dpsel.plan(privacy=first, max_items_per_user=5, mechanisms=dpsel.Sips()).rows[0]["rounds"]
    scales = [round_["noise"]["sigma"] for round_ in found["discovery"]["rounds"]]
    assert scales == pytest.approx([round_["scale"] for round_ in alone], rel=1e-12)
    # Joint at epsilon has the rate epsilon / 2.
    assert 2 * found["rate"] <= epsilon * (1 - share) * (1 + 1e-12)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(("epsilon", "delta", "bound"), BUDGETS)
def test_discover_needs_no_more_than_it_claims(ordered, epsilon, delta, bound) -> None:
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=delta)
    needed = worst_of_discovery(dpsel.Discover(ordered=ordered), privacy, 2, bound)
    assert 0.2 * epsilon < needed.epsilon <= epsilon
    assert 0 < needed.delta <= delta


@pytest.mark.statistical
@pytest.mark.parametrize("ordered", [True, False])
def test_discover_picks_as_computed(ordered) -> None:
    mechanism, privacy = dpsel.Discover(ordered=ordered), dpsel.ApproxDP(epsilon=4.0, delta=0.1)
    counts, draws = [3, 5, 5], 1000
    groups = tuple((users, (item,)) for item, users in enumerate(counts))
    sampler = DiscoverSampler(mechanism, privacy, 2, 3)
    found = sampler.draw(Neighbours("", groups, ()), draws).without
    law = law_of_discovery(mechanism, privacy, 2, 3)(counts)
    # Sets come back in any order.
    seen = Counter({o if ordered else tuple(sorted(o)): 0 for o in law})
    for outcome, number in found.items():
        seen[outcome if ordered else tuple(sorted(outcome))] += number
    assert seen.keys() == law.keys()
    for outcome, chance in law.items():
        assert stats.binomtest(seen[outcome], draws, min(chance, 1.0)).pvalue > ALPHA
