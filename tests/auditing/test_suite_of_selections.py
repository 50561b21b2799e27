"""The suite of broken and sound selections of the benchmark: its figures, and what an audit says."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from benches import audit_figures, audit_heldout_users, audit_more_selections
from benches import audit_selections as suite

import dpsel
from dpsel.auditing._answers import Answer
from dpsel.auditing._calls import Clock, Subject
from dpsel.auditing._families import Levels, family
from dpsel.auditing._probe import jumps_of
from dpsel.auditing._statistics import partners_of

#: Each of them was missed at first.
LEARNED = [
    "one_noise_for_each_of_16_buckets",
    "users_keep_the_item_that_most_have",
    "frequent_items_first",
    "limit_of_the_median_user",
    "only_the_first_fifty_rows",
]


def test_every_broken_selection_needs_what_the_bar_asks_for() -> None:
    assert len(suite.BROKEN) >= 80
    assert len(suite.SOUND) >= 24
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


def test_figures_of_coins_and_of_gaussian_noise() -> None:
    tight = audit_figures.of_coins([0.0, 0.3], [0.02, 0.3], 1.0)
    assert tight == pytest.approx(0.02, rel=1e-12)
    # Randomised response needs its epsilon and no delta.
    honest = math.e / (1 + math.e)
    assert audit_figures.of_coins([1 - honest], [honest], 1.0) == pytest.approx(0.0, abs=1e-12)
    # Balle and Wang 2018, Theorem 8, at epsilon 0: the total variation.
    assert audit_figures.gaussian_delta(1e-12, 2.0) == pytest.approx(math.erf(1 / math.sqrt(2)), rel=1e-9)


def test_items_beside_tell_the_noise_of_a_threshold() -> None:
    """The six items of the user alone need no delta; together with twenty others they do."""
    laws = [audit_heldout_users._sparse(users) for users in (17, 18)]
    beside = audit_heldout_users.BESIDE + 1
    alone = [[sum(law[place : place + beside]) for place in range(0, len(law), beside)] for law in laws]
    for before, after, least, most in ((*laws, 1.3 * suite.DELTA, 1.0), (*alone, -1e-12, 1e-6)):
        assert math.fsum(before) == pytest.approx(1.0)
        assert least < sum(max(0.0, q - math.e * p) for p, q in zip(before, after, strict=True)) < most


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


@pytest.mark.parametrize("bits", [6, 16])
def test_counts_that_start_again_are_found(bits) -> None:
    def starts_again(rows):
        counts = Counter(item for _, item in rows)
        return [item for item, users in sorted(counts.items()) if users % (1 << bits)]

    subject = Subject(starts_again, "starts again", Clock(600.0))
    found = jumps_of(subject, Levels((1, 1, 1), (1, 1, 1), 1), "int", 0)
    assert (1 << bits) - 1 in [pair.holders(1) for pair in found]


def test_an_order_that_changes_at_a_true_count_is_found() -> None:
    def frequent_first(rows):
        counts = Counter(item for _, item in rows)
        return sorted(counts, key=lambda item: (counts[item] < 30, item))

    subject = Subject(frequent_first, "frequent first", Clock(600.0))
    found = jumps_of(subject, Levels((3, 4, 5), (3, 4, 5), 1), "int", 0)
    assert [pair.holders(1) for pair in found] == [29]


def test_a_function_need_not_take_thousands_of_users() -> None:
    def small_only(rows):
        assert len(rows) < 1000
        return sorted({item for _, item in rows})

    subject = Subject(small_only, "small only", Clock(600.0))
    assert jumps_of(subject, Levels((1, 1, 1), (1, 1, 1), 1), "int", 0) == []


def test_answers_that_do_not_jump_have_no_such_tables() -> None:
    suite.seed(6)
    subject = Subject(lambda rows: suite.select(rows, 1, 1.0, 4.2), "sound", Clock(60.0))
    assert jumps_of(subject, Levels((2, 4, 6), (2, 4, 6), 1), "int", 0) == []


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
