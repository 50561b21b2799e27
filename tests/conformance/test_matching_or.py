"""``MatchingOr``: what the look shows, what it costs, and what follows from it, against plain Python."""

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
from dpsel.exceptions import CalibrationError, InvalidParameterError, MemoryLimitError
from dpsel.release import Report
from false_alarm import ALPHA
from reference import filled
from reference.mechanisms import sets_of
from rounds import SHORT, look_at, play
from strategies import rows
from support import KEY, items_of, report_of, select, table
from weak import WEAK

pytestmark = WEAK

PRIVACY = dpsel.ApproxDP(epsilon=4.0, delta=0.05)
#: With so few users as here, noise chooses either mechanism.
CHOICE = dpsel.MatchingOr(dpsel.Steered(rounds=3, reach=2), share=0.3)
KEYS = st.binary(min_size=32, max_size=32)
#: A key whose noise is below 0.
BELOW = bytes(32)


def released(data, key=KEY, mechanism=CHOICE, privacy=PRIVACY, limit: int = 3, **options):
    return select(
        table(data), privacy=privacy, max_items_per_user=limit, mechanism=mechanism, key=key, **options
    )


def long_lists(users: int) -> st.SearchStrategy:
    """Rows of users with longer lists than a look sees: by one item, up to three times as long."""
    lists = st.sets(st.integers(0, 3 * filled.SEEN), min_size=filled.SEEN + 1)
    return st.lists(lists, max_size=users).map(
        lambda found: [(user, item) for user, kept in enumerate(found) for item in kept]
    )


@given(data=rows(), key=KEYS, limit=st.integers(1, 4), share=st.floats(0.05, 0.9))
def test_the_look_is_that_of_plain_python(data, key, limit, share) -> None:
    choice = dpsel.MatchingOr(CHOICE.otherwise, share)
    found = report_of(released(data, key, choice, limit=limit))["look"]
    expected = look_at(choice, PRIVACY, sets_of(data), limit, key)
    assert found["score"] == expected.score
    # Numbers are paid for after the look.
    assert report_of(released(data, key, choice, limit=limit, counts=0.4))["look"] == found
    assert found["lists"] == ("short" if expected.is_short else "long")
    assert math.isclose(found["rest"]["epsilon"], expected.rest.epsilon)


@pytest.mark.long("long lists in plain Python")
@given(data=long_lists(5), key=KEYS, limit=st.sampled_from([1, 10, filled.SEEN, filled.SEEN + 1, 45]))
def test_of_long_lists_it_sees_so_many_by_their_priorities(data, key, limit) -> None:
    """They are no longer than the limit, or than three times that, which the other mechanism keeps."""
    choice = dpsel.MatchingOr(dpsel.Steered(rounds=3, reach=3), share=0.3)
    found = report_of(released(data, key, choice, limit=limit))["look"]
    assert found["score"] == look_at(choice, PRIVACY, sets_of(data), limit, key).score


@given(data=rows(), key=KEYS)
def test_the_release_is_that_of_the_chosen_mechanism_for_the_rest(data, key) -> None:
    """The same items as if it were named, with the budget that is left."""
    release = released(data, key)
    found = report_of(release)["look"]
    rest = dpsel.ApproxDP(epsilon=found["rest"]["epsilon"], delta=found["rest"]["delta"])
    alone = released(data, key, SHORT if found["lists"] == "short" else CHOICE.otherwise, rest)
    assert items_of(release) == items_of(alone)
    assert release.report["calibration"] == alone.report["calibration"]


@given(data=rows(), key=KEYS)
def test_releases_are_those_of_plain_python(data, key) -> None:
    """The look, the choice, the budget that is left, and the rounds."""
    for otherwise in (dpsel.Matching(), dpsel.Sips(rounds=2, ratio=0.2, release="curve")):
        choice = dpsel.MatchingOr(otherwise, share=0.3)
        expected, _ = play(choice, PRIVACY, data, 3, key)
        assert items_of(released(data, key, choice)) == sorted(expected)


@given(data=rows(), key=KEYS, shuffled=st.randoms(use_true_random=False), threads=st.integers(1, 8))
def test_rows_in_any_order_and_any_threads_make_the_same_release(data, key, shuffled, threads) -> None:
    again = [*data, *data[:3]]
    shuffled.shuffle(again)
    one, other = released(data, key), released(again, key, threads=threads)
    assert items_of(one) == items_of(other)
    assert report_of(one) == report_of(other)


def held_by(items: int) -> int:
    """How much a user of so many items lowers the score at most, by what it holds."""
    return 8 * min(items, filled.SEEN)


@given(tables=testing.neighbours(), key=KEYS, limit=st.integers(1, 4), share=st.floats(0.05, 0.9))
def test_one_user_changes_the_score_by_what_its_noise_is_for(tables, key, limit, share) -> None:
    """Under one key the noise is the same, so the noisy scores differ as the exact ones do."""
    choice = dpsel.MatchingOr(CHOICE.otherwise, share)
    before, after = (report_of(released(data, key, choice, limit=limit))["look"]["score"] for data in tables)
    items = max((len(each) for each in sets_of(tables[1]).values()), default=0)
    assert -held_by(items) <= after - before <= filled.MOST_FILLED


@given(data=long_lists(7), added=st.sets(st.integers(0, 60)), key=KEYS, limit=st.integers(1, 50))
def test_so_does_one_user_of_a_list_of_any_length(data, added, key, limit) -> None:
    before, after = (
        report_of(released(each, key, limit=limit))["look"]["score"]
        for each in (data, data + [(99, item) for item in added])
    )
    assert -filled.MOST_HELD <= after - before <= filled.MOST_FILLED


def quota(privacy, choice) -> int:
    """The slots of each item in the look."""
    rest = dpsel.ApproxDP(epsilon=privacy.epsilon * (1 - choice.share), delta=privacy.delta)
    (first, _) = released([], mechanism=SHORT, privacy=rest).report["calibration"]["rounds"]
    return first["weighting"]["matching"]["quota"]


@pytest.mark.parametrize("items", [1, 4, 15, filled.SEEN, 30])
@pytest.mark.parametrize("limit", [3, 10, 1000])
def test_both_ends_of_the_change_are_met(limit, items) -> None:
    """Everybody has the same items: one is filled if they are few, and all have a quota of holders."""
    privacy, score = dpsel.ApproxDP(epsilon=1.0, delta=1e-3), {}
    full = quota(privacy, CHOICE)
    assert full >= 4
    for users in (full - 1, full, full + 1):
        data = [(user, item) for user in range(users) for item in range(items)]
        score[users] = report_of(released(data, privacy=privacy, limit=limit))["look"]["score"]
    slot = filled.MOST_FILLED if items < filled.SEEN else 0
    assert score[full] - score[full - 1] == slot - held_by(items)
    assert score[full + 1] - score[full] == -held_by(items)
    assert held_by(filled.SEEN) == filled.MOST_HELD


def test_both_mechanisms_are_chosen_for_enough_users() -> None:
    def lists(length: int) -> str:
        """With long lists half as many users as items, which all have holders enough."""
        users, items = (12_000, 4_000) if length <= 2 else (4_000, 8_000)
        data = [(user, (7 * user + step) % items) for user in range(users) for step in range(length)]
        release = released(data, mechanism=dpsel.MatchingOr(CHOICE.otherwise, share=0.1), limit=40, key=None)
        taken = SHORT if length <= 2 else CHOICE.otherwise
        word = "lists are short" if length <= 2 else "lists are not short"
        cost = "by a noisy look that cost 10 % of epsilon"
        assert f"released by {taken!r}: {word}, {cost}" in str(release)
        assert f"{taken!r}: {word}, {cost}" in dpsel.release.Card(release.report).to_html()
        assert dpsel.check(release).ok
        return release.report["look"]["lists"]

    assert [lists(length) for length in (1, 2, 30, 40)] == ["short", "short", "long", "long"]


def test_what_a_user_may_contribute_is_said_of_the_chosen_mechanism() -> None:
    few, many = [(1, 1)], [(user, user % 250) for user in range(1_000)]
    choice = dpsel.MatchingOr(dpsel.Steered(reach=2), share=0.2)
    assert "6 items (2 x 3) per user at most" in str(released(few, BELOW, choice))
    assert "3 items per user at most" in str(released(many, BELOW, choice))


@pytest.mark.parametrize("share", [1e-6, 0.01, 1 / 3, 0.7])
@pytest.mark.parametrize("epsilon", [0.3, 1.765, 6.0])
def test_look_and_rest_cost_no_more_than_epsilon(epsilon, share) -> None:
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=1e-3)
    found = report_of(released([(1, 1)], mechanism=dpsel.MatchingOr(share=share), privacy=privacy))["look"]
    spent = Fraction(found["epsilon"]) + Fraction(found["rest"]["epsilon"])
    assert 1 - Fraction(1, 10**12) < spent / Fraction(epsilon) <= 1
    assert math.isclose(found["epsilon"], share * epsilon)
    assert found["rest"]["delta"] == privacy.delta
    assert found["margin"] == math.ceil(filled.MOST_HELD / found["epsilon"])


@pytest.mark.statistical
def test_the_score_has_the_geometric_law() -> None:
    """Fresh keys; cells of a third of the scale, and one for either tail."""
    data, choice = [(1, 1), (2, 1), (3, 2)], dpsel.MatchingOr(dpsel.OneItem(), share=0.5)
    privacy = dpsel.ApproxDP(epsilon=4.0, delta=1e-3)

    def score() -> int:
        return released(data, None, choice, privacy, limit=1).report["look"]["score"]

    true = look_at(choice, privacy, sets_of(data), 1, KEY).score - noise_of(choice, privacy)
    found = np.array([score() for _ in range(4_000)]) - true
    a = math.exp(-choice.share * privacy.epsilon / filled.MOST_HELD)
    edges = np.arange(-210, 211, 21) - 0.5

    def below(edge: float) -> float:
        """P[Z < edge] for an edge between two whole numbers."""
        n = math.floor(edge)
        return a**-n / (1 + a) if n < 0 else 1 - a ** (n + 1) / (1 + a)

    chances = np.diff([0, *map(below, edges), 1])
    seen = np.histogram(found, bins=[-(10**9), *edges, 10**9])[0]
    assert stats.chisquare(seen, chances * len(found)).pvalue > ALPHA


def noise_of(choice, privacy) -> int:
    """The noise of the test key: the score of a table without rows is 0."""
    return look_at(choice, privacy, {}, 1, KEY).score


def changed(release, **fields) -> dpsel.release.CheckResult:
    """The check of the report with other numbers in its look, and no valid fingerprint of course."""
    data = json.loads(release.report.to_json())
    data["look"] |= fields
    return dpsel.check(Report(json.dumps(data)))


def test_check_derives_the_look_again() -> None:
    data = [(user, user % 1_500) for user in range(12_000)]
    release = released(data, None)
    assert release.report["look"]["lists"] == "short"
    assert dpsel.check(release).ok
    look_words = "the look is not what its noisy numbers and the request call for"
    for fields in ({"margin": 1}, {"epsilon": 0.01}, {"lists": "long"}, {"score": -900}):
        found = changed(release, **fields)
        assert not found.ok
        assert look_words in found.reason, fields
    data = json.loads(release.report.to_json())
    without = {key: value for key, value in data.items() if key != "look"}
    other = "a look, or none, other than the request calls for"
    assert other in dpsel.check(Report(json.dumps(without))).reason
    data["request"]["mechanism"] = SHORT.to_json()
    assert other in dpsel.check(Report(json.dumps(data))).reason


def test_whether_there_is_a_calibration_does_not_depend_on_rows() -> None:
    """OneItem takes no limit of 3; it would hardly be chosen here."""
    choice = dpsel.MatchingOr(dpsel.OneItem())
    with pytest.raises(InvalidParameterError, match="max_items_per_user"):
        released([(user, user % 50) for user in range(1_000)], mechanism=choice)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"otherwise": 3}, "otherwise must be a mechanism of select_partitions"),
        ({"otherwise": dpsel.Joint()}, "otherwise must be a mechanism of select_partitions"),
        ({"otherwise": dpsel.UnitGreedy()}, "otherwise must be a mechanism that can be chosen after"),
        ({"otherwise": dpsel.MatchingOr()}, "got another one that looks first"),
        ({"share": 0}, "share must be above 0 and below 1"),
        ({"share": 1}, "share must be above 0 and below 1"),
        ({"share": math.nan}, "share must be above 0 and below 1"),
        ({"share": "1"}, "share must be a number"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        dpsel.MatchingOr(**arguments)


def test_guarantees_and_options_that_there_are_not() -> None:
    with pytest.raises(InvalidParameterError, match="MatchingOr divides epsilon"):
        released([(1, 1)], privacy=dpsel.ZCDP(rho=0.1, delta=1e-5))
    with pytest.raises(InvalidParameterError, match="and Matching, which MatchingOr may take, has none"):
        released([(1, 1)], with_weights=True)
    with pytest.raises(InvalidParameterError, match="min_users"):
        released([(1, 1)], min_users=2)
    with pytest.raises(InvalidParameterError, match="no proof for levels="):
        released([(1, "a/b")], levels="/")
    with pytest.raises(CalibrationError, match="a look and a mechanism"):
        released([(1, 1)], privacy=dpsel.ApproxDP(epsilon=1e-15, delta=0.1))


def test_rows_beyond_memory_are_an_error_and_take_no_other_mechanism(tmp_path) -> None:
    """Whether rows fit chooses nothing, as it is secret; with a folder or a limit "auto" takes no look."""
    data = table([(user, item) for user in range(20_000) for item in range(40)])
    arguments = {"privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-6), "max_items_per_user": 20}
    with pytest.raises(MemoryLimitError, match="memory limit"):
        select(data, memory_limit=4 << 20, scratch=None, **arguments)
    for place in ({"scratch": tmp_path}, {}):
        release = select(data, memory_limit=64 << 20, **place, **arguments)
        assert "look" not in release.report
        assert release.report["request"]["mechanism"] == dpsel.Steered(reach=3).to_json()
    assert "look" in select(data, memory_limit="1GiB", scratch=None, **arguments).report


def test_a_look_is_in_no_gaussian_entry_of_a_budget() -> None:
    """Its noise is not Gaussian: the call is entered by its epsilon and delta."""
    choice = dpsel.MatchingOr(dpsel.WeightedGaussian())
    with_look, without = (released([(1, 1)], mechanism=each) for each in (choice, dpsel.WeightedGaussian()))
    parts = [dpsel._core_calls.gaussian_part(each.report.to_json()) for each in (with_look, without)]
    assert parts[0] is None
    assert parts[1] is not None


def test_a_plan_is_that_of_long_lists_and_says_so() -> None:
    arguments = {"privacy": dpsel.ApproxDP(epsilon=6.0, delta=1e-6), "max_items_per_user": 10}
    plan = dpsel.plan(**arguments)
    (row,) = plan.rows
    release = select(table([(1, 1)]), key=BELOW, **arguments)
    assert release.report["look"]["lists"] == "long"
    assert row["mechanism"] == "MatchingOr(share=0.002)"
    assert row["rounds"] == release.report.rounds
    assert row["items_per_user"] == 30
    words = "a noisy look that costs 0.2 % of epsilon takes Matching(screening=True) where lists are short"
    assert words in str(plan)
    assert words not in str(dpsel.plan(mechanisms=dpsel.Steered(reach=3), **arguments))


@pytest.mark.parametrize(("items", "lists"), [(1, "short"), (40, "long")])
def test_the_guarantee_names_the_look_beside_numbers_too(items, lists) -> None:
    rows = [(user, (7 * user + item) % (200 * items)) for user in range(4000) for item in range(items)]
    data = table(rows)
    release = select(data, privacy=dpsel.ApproxDP(epsilon=6.0, delta=1e-6), max_items_per_user=10, counts=0.2)
    assert release.report["look"]["lists"] == lists
    guarantee = release.report["guarantee"]
    assert guarantee["proof"] == "docs/algorithms/matching_or.md"
    assert "the look shows one noisy number" in guarantee["statement"]
    assert "counts" in guarantee["counts"]
    (difference,) = dpsel.check(release.report).differences
    assert "insecure_test_key" in difference
