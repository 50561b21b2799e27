"""``ByLength``: what the look shows, what it costs, and what follows from it, against plain Python."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dpsel
from dpsel import testing
from dpsel.exceptions import CalibrationError, InvalidParameterError
from dpsel.release import Report
from false_alarm import ALPHA
from reference import look
from reference.mechanisms import sets_of
from rounds import look_at, play
from strategies import rows
from support import KEY, items_of, report_of, select, table
from weak import WEAK

pytestmark = WEAK

PRIVACY = dpsel.ApproxDP(epsilon=4.0, delta=0.05)
#: With so few users as here, noise chooses either mechanism.
CHOICE = dpsel.ByLength(dpsel.Matching(), dpsel.Steered(rounds=3, reach=2), size=2, percent=100, share=0.3)
KEYS = st.binary(min_size=32, max_size=32)


def released(data, key: bytes = KEY, mechanism=CHOICE, privacy=PRIVACY):
    return select(table(data), privacy=privacy, max_items_per_user=3, mechanism=mechanism, key=key)


@given(data=rows(), key=KEYS, size=st.integers(1, 4), percent=st.integers(0, 100))
def test_the_look_is_that_of_plain_python(data, key, size, percent) -> None:
    choice = dpsel.ByLength(CHOICE.short, CHOICE.long, size, percent, 0.3)
    found = report_of(released(data, key, choice))["look"]
    expected = look_at(choice, PRIVACY, sets_of(data), key)
    assert tuple(found["users"]) == expected.users
    assert found["lists"] == ("short" if expected.is_short else "long")


@given(data=rows(), key=KEYS)
def test_the_release_is_that_of_the_chosen_mechanism_for_the_rest(data, key) -> None:
    """The same items as if it were named, with the budget that is left."""
    release = released(data, key)
    found = report_of(release)["look"]
    rest = dpsel.ApproxDP(epsilon=found["rest"]["epsilon"], delta=found["rest"]["delta"])
    alone = released(data, key, {"short": CHOICE.short, "long": CHOICE.long}[found["lists"]], rest)
    assert items_of(release) == items_of(alone)
    assert release.report["calibration"] == alone.report["calibration"]


@given(data=rows(), key=KEYS)
def test_releases_are_those_of_plain_python(data, key) -> None:
    """The look, the choice, the budget that is left, and the rounds."""
    curves = dpsel.Sips(rounds=2, ratio=0.2, release="curve"), dpsel.WeightedGaussian(release="curve")
    for short, long in ((dpsel.Matching(), dpsel.Matching(screening=True)), curves):
        choice = dpsel.ByLength(short, long, size=2, percent=100, share=0.3)
        expected, _ = play(choice, PRIVACY, data, 3, key)
        assert items_of(released(data, key, choice)) == sorted(expected)


def test_both_mechanisms_are_chosen_for_enough_users() -> None:
    def lists(length: int) -> str:
        data = [(user, item) for user in range(400) for item in range(length)]
        choice = dpsel.ByLength(CHOICE.short, CHOICE.long, size=3, percent=20, share=0.1)
        release = released(data, mechanism=choice)
        assert items_of(release) == list(range(length))
        taken = CHOICE.short if length <= 3 else CHOICE.long
        assert f"released by {taken!r}, chosen by a noisy look" in str(release)
        return release.report["look"]["lists"]

    assert [lists(length) for length in (1, 3, 4, 20)] == ["short", "short", "long", "long"]


def test_what_a_user_may_contribute_is_said_of_the_chosen_mechanism() -> None:
    few, many = ([(user, 1) for user in range(users)] for users in (1, 300))
    choice = dpsel.ByLength(dpsel.Matching(), dpsel.Steered(reach=2), percent=50, share=0.2)
    assert "6 items (2 x 3) per user at most" in str(released(few, mechanism=choice))
    assert "3 items per user at most" in str(released(many, mechanism=choice))


@given(tables=testing.neighbours(), key=KEYS)
def test_one_user_changes_one_number_by_one(tables, key) -> None:
    """Under one key the noise is the same, so the noisy numbers differ as the exact ones do."""

    def numbers(data, key):
        return dict(enumerate(report_of(released(data, key))["look"]["users"]))

    found = testing.replay(numbers, tables, key=key, l0=1, l1=1, linf=1)
    assert found.lowered == 0
    users = [{user for user, _ in data} for data in tables]
    assert found.l1 == len(users[1] - users[0])


def test_lengths_are_those_before_any_limit_without_repeated_rows_or_rows_without_items() -> None:
    choice = dpsel.ByLength(CHOICE.short, CHOICE.long, size=3, percent=50, share=0.3)
    lists = {
        0: [1, 2, 3, 4, 5],
        1: [7, 7, 7, 7, 7],
        2: [1, 2, 3],
        3: [None, None, None, None],
        4: [5, None, 6],
    }
    data = [(user, item) for user, items in lists.items() for item in items]
    found = released(data, mechanism=choice).report["look"]["users"]
    noise = [look.noise(KEY, at, 0.3 * PRIVACY.epsilon) for at in range(2)]
    assert found == [3 + noise[0], 1 + noise[1]]


@pytest.mark.parametrize("share", [1e-6, 0.01, 1 / 3, 0.7])
@pytest.mark.parametrize("epsilon", [0.3, 1.765, 6.0])
def test_look_and_rest_cost_no_more_than_epsilon(epsilon, share) -> None:
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=1e-3)
    choice = dpsel.ByLength(dpsel.Matching(), dpsel.Matching(), share=share)
    found = report_of(released([(1, 1)], mechanism=choice, privacy=privacy))["look"]
    spent = Fraction(found["epsilon"]) + Fraction(found["rest"]["epsilon"])
    assert 1 - Fraction(1, 10**12) < spent / Fraction(epsilon) <= 1
    assert math.isclose(found["epsilon"], share * epsilon)
    assert found["rest"]["delta"] == privacy.delta


@pytest.mark.statistical
def test_noisy_numbers_have_the_geometric_law() -> None:
    """Fresh keys; cells of single numbers, and one for either tail."""
    choice = dpsel.ByLength(dpsel.OneItem(), dpsel.OneItem(), share=0.2)
    data, privacy = table([(1, 1), (2, 1), (3, 2)]), dpsel.ApproxDP(epsilon=2.5, delta=1e-3)

    def numbers() -> list[int]:
        release = select(data, privacy=privacy, max_items_per_user=1, mechanism=choice, key=None)
        return report_of(release)["look"]["users"]

    found = np.array([numbers() for _ in range(4_000)]) - [3, 0]
    a, inner = math.exp(-0.5), np.arange(-7, 8)
    tail = a**8 / (1 + a)
    chances = np.array([tail, *((1 - a) / (1 + a) * a ** np.abs(inner)), tail])
    assert math.isclose(chances.sum(), 1)
    for noise in found.T:
        seen = np.histogram(noise, bins=[-(10**9), *(inner - 0.5), 7.5, 10**9])[0]
        assert stats.chisquare(seen, chances * len(noise)).pvalue > ALPHA
    # The two noises are independent: so are their signs.
    assert stats.chi2_contingency(np.histogram2d(*np.sign(found).T, bins=3)[0]).pvalue > ALPHA


def changed(release, **fields) -> dpsel.release.CheckResult:
    """The check of the report with other numbers in its look, and no valid fingerprint of course."""
    data = json.loads(release.report.to_json())
    data["look"] |= fields
    return dpsel.check(Report(json.dumps(data)))


def test_check_derives_the_look_again() -> None:
    release = select(
        table([(user, 1) for user in range(300)]),
        privacy=PRIVACY,
        max_items_per_user=3,
        mechanism=CHOICE,
        key=None,
    )
    assert dpsel.check(release).ok
    look_words = "the look is not what its noisy numbers and the request call for"
    for fields in ({"margin": 1}, {"epsilon": 0.01}, {"lists": "long"}, {"users": [-900, 10]}):
        found = changed(release, **fields)
        assert not found.ok
        assert look_words in found.reason, fields
    data = json.loads(release.report.to_json())
    without = {key: value for key, value in data.items() if key != "look"}
    assert (
        "a look, or none, other than the request calls for" in dpsel.check(Report(json.dumps(without))).reason
    )
    data["request"]["mechanism"] = dpsel.Matching().to_json()
    assert "a look, or none, other than the request calls for" in dpsel.check(Report(json.dumps(data))).reason


def test_whether_there_is_a_calibration_does_not_depend_on_rows() -> None:
    """OneItem takes no limit of 3; it would not be chosen here."""
    choice = dpsel.ByLength(short=dpsel.OneItem())
    with pytest.raises(InvalidParameterError, match="max_items_per_user"):
        released([(1, 1)], mechanism=choice)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"short": 3}, "short must be a mechanism of select_partitions"),
        ({"long": dpsel.Joint()}, "long must be a mechanism of select_partitions"),
        ({"long": dpsel.UnitGreedy()}, "long must be a mechanism that can be chosen after the rows are read"),
        ({"short": dpsel.ByLength()}, "got another choice by length"),
        ({"size": 0}, "size must be between 1 and 10,000,000"),
        ({"percent": 101}, "percent must be between 0 and 100"),
        ({"share": 0}, "share must be above 0 and below 1"),
        ({"share": 1}, "share must be above 0 and below 1"),
        ({"share": math.nan}, "share must be above 0 and below 1"),
        ({"share": "1"}, "share must be a number"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        dpsel.ByLength(**arguments)


def test_guarantees_and_weights_that_there_are_not() -> None:
    with pytest.raises(InvalidParameterError, match="ByLength divides epsilon"):
        released([(1, 1)], privacy=dpsel.ZCDP(rho=0.1, delta=1e-5))
    with pytest.raises(InvalidParameterError, match="one of the two mechanisms that ByLength takes"):
        select(table([(1, 1)]), privacy=PRIVACY, max_items_per_user=3, mechanism=CHOICE, with_weights=True)
    with pytest.raises(CalibrationError, match="a look and a mechanism"):
        released([(1, 1)], privacy=dpsel.ApproxDP(epsilon=1e-15, delta=0.1))


def test_a_look_is_in_no_gaussian_entry_of_a_budget() -> None:
    """Its noise is not Gaussian: the call is entered by its epsilon and delta."""
    choice = dpsel.ByLength(dpsel.CountGaussian(), dpsel.WeightedGaussian())
    with_look, without = (released([(1, 1)], mechanism=each) for each in (choice, dpsel.WeightedGaussian()))
    parts = [dpsel._core_calls.gaussian_part(each.report.to_json()) for each in (with_look, without)]
    assert parts[0] is None
    assert parts[1] is not None


def test_a_plan_is_that_of_long_lists() -> None:
    arguments = {"privacy": dpsel.ApproxDP(epsilon=6.0, delta=1e-6), "max_items_per_user": 10}
    (row,) = dpsel.plan(mechanisms=dpsel.ByLength(), **arguments).rows
    release = select(table([(1, 1)]), mechanism=dpsel.ByLength(), **arguments)
    assert release.report["look"]["lists"] == "long"
    assert row["rounds"] == release.report.rounds
    assert row["items_per_user"] == 30
