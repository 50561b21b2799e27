"""Every top-k mechanism: its law, its guarantee on all neighbours of tiny inputs, and its invariances."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import exp, log

import pytest
from scipy.stats import chi2

import dpsel
from dpsel.auditing import _laws as laws
from false_alarm import ALPHA
from reference import topk
from top_k_cases import CASES, NOISY

DRAWS = 4000


def draw(case, counts, k, number, **arguments):
    """One draw under the key of a number."""
    return dpsel.top_k_from_counts(
        counts,
        k=k,
        privacy=case.privacy,
        mechanism=case.mechanism,
        ordered=case.mechanism.ordered,
        insecure_test_key=number.to_bytes(32, "little"),
        **arguments,
    )


def calibration_of(case, k) -> dict:
    return draw(case, [3, 2, 1, 1][: max(k, 3)], k, 0).report["calibration"]


INSTANCES = [([10, 10, 5], 2), ([4, 3, 3], 1), ([6, 4, 1], 3), ([9, 9, 2, 0, 7], 2), ([5, 5, 5, 5], 2)]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(("counts", "k"), INSTANCES)
def test_draws_have_the_enumerated_law(case, counts, k) -> None:
    if case.mechanism.name in NOISY:
        counts, k = counts[:3], min(k, 3)
    law = case.law(counts, k, calibration_of(case, k))
    seen = Counter(tuple(draw(case, counts, k, number).items) for number in range(DRAWS))
    assert set(seen) <= set(law)
    assert all(len(set(outcome)) == len(outcome) for outcome in seen)
    likely = {outcome: p * DRAWS for outcome, p in law.items() if p * DRAWS >= 5}
    cells = [(seen[outcome], expected) for outcome, expected in likely.items()]
    rest = DRAWS - sum(expected for _, expected in cells)
    if rest >= 5:
        cells.append((DRAWS - sum(number for number, _ in cells), rest))
    statistic = sum((number - expected) ** 2 / expected for number, expected in cells)
    assert chi2.sf(statistic, max(1, len(cells) - 1)) > ALPHA


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.mechanism.name not in {*NOISY, "limit_domain"}], ids=str
)
@pytest.mark.parametrize("neighbours", ["add_remove", "swap"])
@pytest.mark.parametrize("k", [1, 2])
def test_the_log_ratio_of_all_neighbours_is_at_most_epsilon(case, neighbours, k) -> None:
    release = draw(case, [2, 1, 0], k, 0, neighbours=neighbours)
    calibration, epsilon = release.report["calibration"], case.privacy.epsilon
    steps = [(0, 1), (-1, 0, 1)][neighbours == "swap"]
    worst = 0.0
    for counts in product(range(4), repeat=3):
        law = case.law(list(counts), k, calibration)
        for change in product(steps, repeat=3):
            other = case.law([c + d for c, d in zip(counts, change, strict=True)], k, calibration)
            worst = max(worst, *(abs(log(law[o] / other[o])) for o in law))
    assert worst <= epsilon * (1 + 1e-9)
    # Half of the budget would not do: the guarantee is not vacuous.
    assert worst > 0.2 * epsilon


@pytest.mark.parametrize("name", ["gamma", "laplace_top_k"])
@pytest.mark.parametrize("neighbours", ["add_remove", "swap"])
def test_the_log_ratio_of_noisy_mechanisms(name, neighbours) -> None:
    case = next(case for case in CASES if case.mechanism.name == name)
    calibration = draw(case, [2, 1], 2, 0, neighbours=neighbours).report["calibration"]
    law = {"gamma": laws.gamma, "laplace_top_k": laws.laplace_top_k}[name]
    steps = [(0, 1), (-1, 0, 1)][neighbours == "swap"]
    worst = 0.0
    for counts in product(range(3), repeat=2):
        here = law(list(counts), 2, calibration["rate"], 60)
        for change in product(steps, repeat=2):
            there = law([c + d for c, d in zip(counts, change, strict=True)], 2, calibration["rate"], 60)
            worst = max(worst, *(abs(log(here[o] / there[o])) for o in here))
    assert 0.1 < worst <= case.privacy.epsilon * (1 + 1e-4)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("bound", [None, 1])
def test_limit_domain_holds_epsilon_and_delta_on_all_neighbours(k, bound) -> None:
    """The hockey-stick divergence of the enumerated laws; items that nobody holds are not in the data."""
    privacy = dpsel.ApproxDP(epsilon=1.0, delta=0.05)
    mechanism = dpsel.LimitDomain(candidates=2)
    arguments = {"k": k, "privacy": privacy, "mechanism": mechanism, "max_items_per_user": bound}
    calibration = dpsel.top_k_from_counts([1, 1], **arguments).report["calibration"]
    numbers = calibration["rate"], calibration["candidates"], calibration["threshold"]
    worst = 0.0
    for counts in product((0, 1, 2, 9, 12), repeat=3):
        here = laws.limit_domain(list(counts), k, *numbers)
        for change in product((0, 1), repeat=3):
            if bound is not None and sum(change) > bound:
                continue
            there = laws.limit_domain([c + d for c, d in zip(counts, change, strict=True)], k, *numbers)
            for one, other in ((here, there), (there, here)):
                excess = sum(max(0.0, p - exp(1.0) * other.get(o, 0.0)) for o, p in one.items())
                worst = max(worst, excess)
    assert 0 < worst <= privacy.delta


def test_the_level_law_in_fractions_gives_the_law_of_sequences() -> None:
    """The identity behind the sampler: a level, then a uniform sequence within it."""
    counts, k, q = [5, 4, 4, 1], 2, Fraction(3, 5)
    levels = topk.level_law(counts, k, q)
    weights = laws.joint(counts, k, -log(3 / 5))
    best = sorted(counts, reverse=True)
    for sequence, probability in weights.items():
        loss = max(best[place] - counts[item] for place, item in enumerate(sequence))
        mixture = sum(
            p / topk.sequences_within(counts, k, level) for level, p in levels.items() if level >= loss
        )
        assert float(mixture) == pytest.approx(probability, rel=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_labels_order_and_shift_do_not_matter(case) -> None:
    counts, labels = [7, 30, 5, 5, 0, 19], ["g", "a", "z", "b", "q", "m"]
    for number in range(20):
        one = draw(case, counts, 3, number, labels=labels)
        turned = draw(case, counts[::-1], 3, number, labels=labels[::-1])
        assert one.items == turned.items
        assert one.report.to_json() == turned.report.to_json()
        if case.mechanism.name != "limit_domain":
            assert draw(case, [c + 1000 for c in counts], 3, number, labels=labels).items == one.items


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_k_from_one_to_all(case) -> None:
    counts = [2**62, 5, 5, 0, 3, 3, 3]
    most = 3 if case.mechanism.name == "limit_domain" else len(counts)
    for k in range(1, most + 1):
        items = draw(case, counts, k, k).items
        assert len(set(items)) == len(items) <= k
        if case.mechanism.name != "limit_domain":
            assert len(items) == k
            assert 0 in items
