"""The audit of items with numbers: what ships stands and needs most of its claim, and planted bugs fall."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from itertools import count
from math import exp, isqrt
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import integrate, stats

import dpsel
from dpsel.auditing import _cases, _counts_run, _exact, _number_attacks
from dpsel.auditing._counts_run import ATTACKED, CLEAR, LARGE, USUAL, law_with_numbers
from dpsel.auditing._exact import TOLERANCE, excess, worst_of_selection
from dpsel.auditing._number_attacks import on_items_with_numbers, on_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The chance that a bound is too large. Keys are fixed, so a test fails always or never.
ALPHA = 1e-9
ROWS = 200_000
FAULT = 1.3
CLAIM = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
SELECTIONS = [case for case in _cases.every_case() if not case.is_top_k and not case.control]
OF_ROWS = ATTACKED[2][1]


def keys() -> Iterator[bytes]:
    return (sha256(number.to_bytes(8, "big")).digest() for number in count())


def shown(mechanism) -> str:
    return f"{mechanism[0].name}-{mechanism[1].count}"


@pytest.mark.long("integrates densities")
@pytest.mark.parametrize("case", SELECTIONS, ids=lambda case: case.name)
def test_beside_every_selection_numbers_need_most_of_the_claim_and_no_more(case) -> None:
    law = law_with_numbers(case.mechanism, CLAIM, _counts_run._limit(case.mechanism, None), LARGE)
    assert 0.89 * CLAIM.epsilon <= law.epsilon <= CLAIM.epsilon
    assert law.delta <= CLAIM.delta


@pytest.mark.long("integrates densities")
@pytest.mark.parametrize("counted", USUAL, ids=shown)
def test_usual_shares_need_most_of_the_claim_and_no_more(counted) -> None:
    law = law_with_numbers(counted[0], CLAIM, 10, counted[1])
    assert 0.8 * CLAIM.epsilon <= law.epsilon <= CLAIM.epsilon
    assert 0.4 * CLAIM.delta <= law.delta <= CLAIM.delta


@pytest.mark.long("integrates densities")
@pytest.mark.parametrize(("epsilon", "delta", "bound"), [(0.3, 1e-9, 3), (4.0, 0.01, 1), (8.0, 1e-5, 30)])
@pytest.mark.parametrize("counted", USUAL, ids=shown)
def test_other_budgets_need_no_more_than_they_claim(counted, epsilon, delta, bound) -> None:
    law = law_with_numbers(counted[0], dpsel.ApproxDP(epsilon=epsilon, delta=delta), bound, counted[1])
    assert 0.6 * epsilon <= law.epsilon <= epsilon
    assert 0.1 * delta <= law.delta <= delta


@pytest.mark.parametrize("likely", [0.0, 1e-6, 0.3, 1.0])
@pytest.mark.parametrize("rare", [0.0, 1e-6, 0.5])
@pytest.mark.parametrize(("epsilon", "moved"), [(0.0, 0.7), (1.0, 0.2), (3.0, 2.0), (1.0, 0.0)])
def test_the_divergence_with_a_normal_number_is_that_of_its_densities(likely, rare, epsilon, moved) -> None:
    def over(x: float) -> float:
        return max(0.0, likely * stats.norm.pdf(x - moved) - exp(epsilon) * rare * stats.norm.pdf(x))

    expected = integrate.quad(over, -12, 14, limit=400, epsabs=1e-12)[0]
    assert excess(likely, rare, epsilon, moved) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("mechanism", [dpsel.CountGaussian(), dpsel.CountLaplace(), dpsel.Sips()], ids=repr)
def test_numbers_that_cost_nothing_are_refuted(mechanism, monkeypatch) -> None:
    """The selection is calibrated as if there were no numbers; these have their usual noise."""
    moved = _exact.moved_numbers(mechanism, CLAIM, 10, LARGE)
    request = _exact.selection_request
    monkeypatch.setattr(_exact, "moved_numbers", lambda *_: moved)
    monkeypatch.setattr(_exact, "selection_request", lambda *given, **_: request(*given))
    law = worst_of_selection(mechanism, CLAIM, 10, LARGE)
    assert law.delta > CLAIM.delta * (1 + 1e-9) + TOLERANCE
    assert law.epsilon > CLAIM.epsilon


def test_too_little_noise_of_numbers_is_refuted_by_the_law(monkeypatch) -> None:
    moved = _exact.moved_numbers
    monkeypatch.setattr(_exact, "moved_numbers", lambda *given: FAULT * moved(*given))
    for mechanism in (dpsel.CountGaussian(), dpsel.CountLaplace()):
        law = worst_of_selection(mechanism, CLAIM, 10, LARGE)
        assert law.delta > CLAIM.delta * (1 + 1e-9) + TOLERANCE


@pytest.mark.long("hundreds of thousands of draws")
@pytest.mark.parametrize("attacked", ATTACKED, ids=shown)
def test_what_ships_stands_and_numbers_need_most_of_their_claim(attacked) -> None:
    both, numbers = (make(attacked[0], CLEAR, attacked[1]) for make in (on_items_with_numbers, on_numbers))
    found = both.run(ROWS, ALPHA, keys())
    assert not found.refutes(both.claim)
    assert found.epsilon >= 0.45 * both.claim.epsilon
    found = numbers.run(ROWS, ALPHA, keys())
    assert not found.refutes(numbers.claim)
    assert found.epsilon >= 0.7 * numbers.claim.epsilon


def faulty(noise: float = 1.0, *, squares: int = 2):
    """Return a release with the shipped items, and numbers as they would be with a fault.

    Each call has a generator of its own. With a shared one, draws would depend on the tests that ran before.
    """
    draws = np.random.default_rng(1)

    def select(users, *, counts, **options):
        released = dpsel.select_partitions(users, counts=counts, **options)
        scale = released.report.counts["scale"] / noise
        rows = counts.max_rows_per_item or 1
        norm = counts.to_json(1)["max_counted_items"] * rows**2
        there = {item for item, *_ in released.items}
        sums: Counter[int] = Counter()
        for _, held in users:
            capped = {item: min(rows, n) for item, n in Counter(held).items() if item in there}
            size = sum(n**squares for n in capped.values())
            whole = min(1 << 30, isqrt((norm << 60) // max(1, size)))
            for item, n in capped.items():
                sums[item] += n * whole
        noises = draws.normal(0, scale, len(there))
        numbers = {item: round(sums[item] / (1 << 30) + x) for item, x in zip(there, noises, strict=True)}
        return SimpleNamespace(items=[(item, numbers[item]) for item, *_ in released.items])

    return select


def test_the_same_numbers_without_a_fault_stand(monkeypatch) -> None:
    """The reference: what the planted bugs below change is all that is wrong with them."""
    monkeypatch.setattr(_number_attacks, "select_partitions", faulty())
    attack = on_numbers(dpsel.CountLaplace(), CLEAR, OF_ROWS)
    assert not attack.run(ROWS, ALPHA, keys()).refutes(attack.claim)


@pytest.mark.long("hundreds of thousands of draws")
@pytest.mark.parametrize(
    ("fault", "counts", "rows"),
    [
        # The smallest fault, and one row of each item: most samples are needed.
        ({"noise": FAULT}, ATTACKED[0][1], 2 * ROWS),
        ({"noise": FAULT}, OF_ROWS, ROWS),
        ({"squares": 1}, OF_ROWS, ROWS),
        ({"squares": 0}, OF_ROWS, ROWS),
    ],
    ids=["noise", "noise of rows", "a norm of rows", "a norm of items"],
)
@pytest.mark.parametrize("mechanism", [dpsel.CountGaussian(), dpsel.CountLaplace()], ids=repr)
def test_planted_bugs_are_refuted(mechanism, fault, counts, rows, monkeypatch) -> None:
    monkeypatch.setattr(_number_attacks, "select_partitions", faulty(**fault))
    attack = on_numbers(mechanism, CLEAR, counts)
    assert attack.run(rows, ALPHA, keys()).refutes(attack.claim)


@pytest.mark.long("hundreds of thousands of draws")
def test_items_with_numbers_that_cost_nothing_are_refuted_by_samples(monkeypatch) -> None:
    """The same numbers with a selection that has the whole budget, against a tenth of that."""
    counts = dpsel.Counts(share=0.5, max_counted_items=1)
    small, whole = dpsel.ApproxDP(epsilon=0.8, delta=0.02), dpsel.ApproxDP(epsilon=4.0, delta=0.1)
    attack = on_items_with_numbers(dpsel.CountLaplace(), small, counts)

    def select(users, **options):
        return dpsel.select_partitions(users, **(options | {"privacy": whole}))

    monkeypatch.setattr(_number_attacks, "select_partitions", select)
    assert attack.run(ROWS, ALPHA, keys()).refutes(attack.claim)


@pytest.mark.long("hundreds of thousands of draws")
def test_items_of_nobody_else_are_seen_beside_numbers(monkeypatch) -> None:
    """Items that always come out need a delta of 1, whatever their numbers."""
    mechanism, counts = ATTACKED[0]
    attack = on_items_with_numbers(mechanism, CLEAR, counts)

    def select(users, **options):
        release = dpsel.select_partitions(users, **options)
        there = {item for item, *_ in release.items}
        held = {item for _, items in users for item in items} - there
        return SimpleNamespace(items=[*release.items, *((item, 0) for item in held)])

    monkeypatch.setattr(_number_attacks, "select_partitions", select)
    found = attack.run(ROWS, ALPHA, keys())
    assert found.delta > 0.9
    assert found.refutes(attack.claim)


def test_tables_are_neighbours_and_copies_are_apart() -> None:
    for mechanism, counts in ATTACKED:
        for make in (on_items_with_numbers, on_numbers):
            for tables in make(mechanism, CLEAR, counts).tables:
                pair = tables.neighbours
                without, added = (pair.users(2, with_user=side) for side in (False, True))
                assert len(added) - len(without) == 2
                assert all(row in added for row in without)
                assert max(Counter(pair.added).values()) >= (counts.max_rows_per_item or 1)
                assert tables.public >= counts.to_json(1)["max_counted_items"]


@pytest.mark.long("a whole audit of numbers")
def test_the_audit_has_lines_of_every_selection_and_refuses_a_pure_claim() -> None:
    report = dpsel.audit("counts", false_alarm=ALPHA)
    assert report.ok, str(report)
    subjects = {finding.subject for finding in report.findings}
    assert {f"counts, {case.name}" for case in SELECTIONS} <= subjects
    assert {"counts of rows, steered", "counts of rows, count-laplace"} <= subjects
    exact = [finding for finding in report.findings if finding.method == "exact"]
    assert len(exact) == len(SELECTIONS) + len(USUAL)
    assert len(report.findings) == len(exact) + 2 * len(ATTACKED)
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="counts beside a selection"):
        dpsel.audit("counts", privacy=dpsel.PureDP(epsilon=1.0))
    assert "counts" not in {case.name for case in _cases.with_guarantee(dpsel.PureDP(epsilon=1.0))}
