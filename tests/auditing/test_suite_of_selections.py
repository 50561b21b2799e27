"""The suite of broken and sound selections of the benchmark: its figures, and what an audit says."""

from __future__ import annotations

import math
import random

import pytest
from benches import audit_figures, audit_more_selections
from benches import audit_selections as suite

import dpsel
from dpsel.auditing._answers import Answer
from dpsel.auditing._families import Levels, family
from dpsel.auditing._statistics import partners_of

#: Each of them was missed at first.
LEARNED = ["one_noise_for_each_of_16_buckets", "users_keep_the_item_that_most_have"]


def test_every_broken_selection_needs_what_the_bar_asks_for() -> None:
    assert len(suite.BROKEN) >= 40
    assert len(suite.SOUND) >= 15
    for each in suite.BROKEN:
        assert each.excess >= 1.3 - 1e-9, each.name
    assert all(each.excess == 0 for each in suite.SOUND)


@pytest.mark.parametrize(
    ("scale", "items", "delta"), [(1.0, 1, 0.02), (3.0, 3, 0.02), (1.0, 1, 0.2), (2.0, 2, 0.001)]
)
def test_figures_of_sound_noise_are_the_claims(scale, items, delta) -> None:
    """The formula that says what broken selections need says of sound ones that they need delta."""
    needed = audit_figures.of_counts(scale, suite.threshold(scale, items, delta), items)
    assert needed == pytest.approx(delta, rel=1e-9)


def test_figures_of_noise_that_is_too_small() -> None:
    at = suite.threshold(1 / 1.3, 1)
    # From two others to three: e^(-1.3 x) / 2 against e^1.3 times that.
    three, two = math.exp(-1.3 * (at - 3)) / 2, math.exp(-1.3 * (at - 2)) / 2
    assert audit_figures.of_counts(1 / 1.3, at) == pytest.approx(three - math.e * two, rel=1e-12)


def test_the_chance_of_an_item_is_that_of_the_formula() -> None:
    suite.seed(3)
    rows = [(user, "a") for user in range(5)]
    runs = 20_000
    hits = sum(bool(suite.select(rows, 1, 1.0, suite.threshold(1.0, 1))) for _ in range(runs))
    assert abs(hits / runs - suite.chance(5)) < 5 * math.sqrt(0.25 / runs)
    differences = sum(suite.laplace(1.0) - suite.laplace(1.0) >= 1 for _ in range(runs))
    assert abs(differences / runs - audit_more_selections.beats(1.0)) < 5 * math.sqrt(0.25 / runs)


@pytest.mark.statistical
@pytest.mark.parametrize("name", LEARNED)
def test_what_was_missed_at_first_is_refuted(name) -> None:
    (subject,) = [each for each in suite.BROKEN if each.name == name]
    suite.seed(1)
    report = dpsel.audit_callable(
        subject.function, privacy=subject.privacy, max_items_per_user=subject.bound, calls=60_000
    )
    assert not report.ok


def test_an_item_that_shares_noise_is_found_among_many() -> None:
    levels = Levels((2, 4, 6), (2, 4, 6), 1)
    (pair,) = [each for each in family(1, levels) if each.width == 256]
    draw, answers = random.Random(1), {}
    for _ in range(300):
        shared = draw.random() < 0.5
        held = {item for item in range(256) if draw.random() < 0.5} - {0, 77}
        answers[Answer(tuple(sorted(held | ({0, 77} if shared else set()))))] = 1
    assert partners_of(pair, (answers, {}))[0] == 77


def test_partners_need_answers_of_both_kinds() -> None:
    levels = Levels((2, 4, 6), (2, 4, 6), 1)
    (pair,) = [each for each in family(1, levels) if each.width == 256]
    assert partners_of(pair, ({Answer((1, 2)): 5}, {})) == []
