"""The table of the page on accuracy is the one that the program prints from the file of sizes."""

from __future__ import annotations

from pathlib import Path

import pytest
from benches import accuracy, auto, bars
from benches.releases import EPSILONS, Cell, Figures

import dpsel

PAGE = Path(__file__).resolve().parents[2] / "docs/accuracy.md"


@pytest.fixture(scope="module")
def figures() -> Figures:
    return Figures()


def test_the_table_is_that_of_the_file(figures):
    page = PAGE.read_text(encoding="utf-8")
    assert accuracy.filled(page, accuracy.ratios(figures)) == page


def test_the_file_has_every_guarantee_for_data_that_was_held_out(figures):
    held_out = [case for case in accuracy.cases(figures) if case.data.startswith(accuracy.HELD_OUT)]
    assert {case.data for case in held_out} == {"deps_authors", "deps_recipes"}
    assert {case.epsilon for case in held_out} == set(EPSILONS)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("limit", auto.LIMITS)
def test_auto_and_its_rivals_were_measured(figures, epsilon, limit):
    """The choice of "auto", Sips and Steered, on every data set."""
    rivals = [auto.chosen(epsilon, limit), dpsel.Sips(release="curve"), dpsel.Steered()]
    names = accuracy.names(figures)
    assert len(names) >= 9
    for data in names:
        for mechanism in rivals:
            assert figures.mean_of(data, epsilon, limit, mechanism), (data, mechanism)


def test_no_release_exceeds_the_bound(figures):
    """On average; four standard deviations of a sum of independent decisions are allowed."""
    for cell in figures.found:
        if cell.mechanism in ("upper bound", accuracy.TRUE_ORDER) or cell.limit == 0:
            continue
        bound = figures.mean(Cell(cell.data, cell.epsilon, 0, "upper bound"))
        if bound is not None:
            assert figures.mean(cell) <= bound + 4 * bound**0.5, cell


def test_auto_meets_its_bars_at_every_documented_limit():
    cases = bars.cases(Figures(bars.FIGURES))
    documented, smaller = ([case for case in cases if test(case)] for test in (is_documented, is_smaller))
    assert all(case.of_best >= bars.LEAST for case in documented)
    page = (PAGE.parent / "decisions/0008-auto.md").read_text(encoding="utf-8")
    for some in (documented, smaller):
        mean, worst = bars.mean_of_best(some), min(case.of_best for case in some)
        assert float(mean) >= bars.LEAST_MEAN
        below = sum(case.of_best < bars.LEAST for case in some)
        assert f"| {len(some)} | {mean} | {worst:.3f} | {below} |" in page
    assert all(case.of_long >= bars.LEAST_OF_LONG for case in cases if case.mean_list > bars.SHORT)


def is_documented(case: bars.Case) -> bool:
    return case.counts


def is_smaller(case: bars.Case) -> bool:
    """Whether the limit is below the documented one, and "auto" looks all the same."""
    return 4 <= case.limit < bars.ROUND[0]
