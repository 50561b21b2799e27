"""``Quantile``: what the look shows, what it costs, and the limit that follows, against plain Python."""

from __future__ import annotations

import json
import math
import re
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
from dpsel.release._look import limit_within, look_half_width
from false_alarm import ALPHA
from reference import quantile as reference
from reference.mechanisms import sets_of
from strategies import rows
from support import KEY, items_of, report_of, select, table
from weak import WEAK

pytestmark = WEAK

PRIVACY = dpsel.ApproxDP(epsilon=4.0, delta=0.05)
CONCENTRATED = dpsel.ZCDP(rho=1.0, delta=0.05)
QUANTILE = dpsel.Quantile(0.6, share=0.3, most=5)
KEYS = st.binary(min_size=32, max_size=32)
MECHANISMS = (
    dpsel.Steered(rounds=3, reach=2),
    dpsel.Sips(rounds=2),
    dpsel.CountGaussian(),
    dpsel.UnitGreedy(prior={1: 3, 2: 2}),
)


def released(data, limit=QUANTILE, *, key=KEY, privacy=PRIVACY, mechanism=MECHANISMS[0], **options):
    return select(
        table(data), privacy=privacy, max_items_per_user=limit, mechanism=mechanism, key=key, **options
    )


@given(data=rows(), key=KEYS, most=st.integers(1, 9), part=st.floats(0.01, 0.99))
def test_the_look_is_that_of_plain_python(data, key, most, part) -> None:
    found = report_of(released(data, dpsel.Quantile(part, share=0.3, most=most), key=key))["look"]
    assert found["users"] == reference.noisy_users(most, found["epsilon"], sets_of(data), key)
    assert found["limit"] in {
        reference.limit(most, near, found["users"])
        for near in (part, math.nextafter(part, 0), math.nextafter(part, 1))
    }


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
@pytest.mark.parametrize("privacy", [PRIVACY, CONCENTRATED], ids=["approx_dp", "zcdp"])
@given(data=rows(), key=KEYS)
def test_the_release_is_that_of_the_limit_for_the_rest(privacy, mechanism, data, key) -> None:
    """The same items as if the limit had been given as a number, with the budget that is left."""
    if privacy.kind not in mechanism.guarantees:
        return
    release = released(data, key=key, privacy=privacy, mechanism=mechanism)
    found = report_of(release)["look"]
    rest = type(privacy)(**{name: value for name, value in found["rest"].items() if name != "kind"})
    alone = released(data, found["limit"], key=key, privacy=rest, mechanism=mechanism)
    assert items_of(release) == items_of(alone)
    assert release.report["calibration"] == alone.report["calibration"]
    assert release.report.limit == found["limit"]


@given(tables=testing.neighbours(), key=KEYS)
def test_one_user_changes_one_number_by_one(tables, key) -> None:
    """Under one key the noise is the same, so the noisy numbers differ as the exact ones do."""

    def numbers(data, key):
        return dict(enumerate(report_of(released(data, key=key))["look"]["users"]))

    found = testing.replay(numbers, tables, key=key, l0=1, l1=1, linf=1)
    assert found.lowered == 0
    users = [{user for user, _ in data} for data in tables]
    assert found.l1 == len(users[1] - users[0])


def test_lengths_are_those_before_any_limit_without_repeated_rows_public_items_or_rows_without_items() -> (
    None
):
    lists = {0: [1, 2, 3, 4, 5, 6], 1: [7, 7, 7], 2: [1, 2, 90], 3: [None], 4: [5, None, 91], 5: [90, 91]}
    data = [(user, item) for user, items in lists.items() for item in items]
    limit = dpsel.Quantile(0.5, share=0.3, most=3)
    found = released(data, limit, public_items=[90], exclude=[91]).report["look"]["users"]
    exact = reference.noisy_users(3, 0.3 * PRIVACY.epsilon, {0: range(6), 1: [7], 2: [1, 2], 4: [5]}, KEY)
    assert found == exact


@pytest.mark.parametrize("quantile", [(0.5, 3), (0.75, 4), (0.9, 6), (0.99, 6)])
def test_with_enough_users_it_is_the_quantile(quantile) -> None:
    """2,000 users with each of 1, 2, 3, 4 and 5 items."""
    part, expected = quantile
    data = [(user, item) for user in range(10_000) for item in range(1 + user % 5)]
    release = released(data, dpsel.Quantile(part, share=0.5, most=50))
    assert release.report.limit == expected
    assert f"limit {expected}: a noisy {part:g} quantile" in str(release)
    assert f"{2 * expected} items (2 x {expected}) per user at most" in str(release)
    assert f"{expected} items, a noisy {part:g} quantile" in release.card()._made()
    assert dpsel.explain(release).rows[0]["items_per_user"] == 2 * expected


@pytest.mark.parametrize("share", [1e-6, 0.02, 1 / 3, 0.7])
@pytest.mark.parametrize("amount", [0.3, 1.765, 6.0])
def test_look_and_rest_cost_no_more_than_the_budget(amount, share) -> None:
    quantile = dpsel.Quantile(0.5, share=share, most=4)
    found = report_of(released([(1, 1)], quantile, privacy=dpsel.ApproxDP(epsilon=amount, delta=1e-3)))[
        "look"
    ]
    spent = Fraction(found["epsilon"]) + Fraction(found["rest"]["epsilon"])
    assert 1 - Fraction(1, 10**12) < spent / Fraction(amount) <= 1
    found = report_of(released([(1, 1)], quantile, privacy=dpsel.ZCDP(rho=amount, delta=1e-3)))["look"]
    spent = Fraction(found["epsilon"]) ** 2 / 2 + Fraction(found["rest"]["rho"])
    assert 1 - Fraction(1, 10**12) < spent / Fraction(amount) <= 1
    assert math.isclose(found["epsilon"], math.sqrt(2 * share * amount))
    assert found["rest"]["delta"] == 1e-3


def test_counts_are_in_the_rest() -> None:
    data = [(user, item) for user in range(4_000) for item in range(1 + user % 3)]
    release = released(data, dpsel.Quantile(0.9, share=0.2, most=10), counts=0.3)
    rest = release.report["look"]["rest"]
    alone = released(
        data,
        release.report.limit,
        privacy=dpsel.ApproxDP(epsilon=rest["epsilon"], delta=rest["delta"]),
        counts=dpsel.Counts(share=0.3, max_counted_items=10),
    )
    assert release.to_pylist() == alone.to_pylist()
    assert release.report.counts == alone.report.counts


@pytest.mark.statistical
def test_noisy_numbers_have_the_geometric_law() -> None:
    """Fresh keys; cells of single numbers, and one for either tail."""
    data, privacy = table([(1, 1), (2, 1), (2, 2), (3, 2)]), dpsel.ApproxDP(epsilon=2.5, delta=1e-3)
    quantile = dpsel.Quantile(0.5, share=0.2, most=2)

    def numbers() -> list[int]:
        release = select(
            data, privacy=privacy, max_items_per_user=quantile, mechanism=dpsel.CountGaussian(), key=None
        )
        return report_of(release)["look"]["users"]

    found = np.array([numbers() for _ in range(4_000)]) - [2, 1, 0]
    a, inner = math.exp(-0.5), np.arange(-7, 8)
    tail = a**8 / (1 + a)
    chances = np.array([tail, *((1 - a) / (1 + a) * a ** np.abs(inner)), tail])
    for noise in found.T:
        seen = np.histogram(noise, bins=[-(10**9), *(inner - 0.5), 7.5, 10**9])[0]
        assert stats.chisquare(seen, chances * len(noise)).pvalue > ALPHA
    # The noises are independent: so are their signs.
    for one, other in ((0, 1), (1, 2), (0, 2)):
        signs = np.histogram2d(np.sign(found[:, one]), np.sign(found[:, other]), bins=3)[0]
        assert stats.chi2_contingency(signs).pvalue > ALPHA


def test_check_derives_the_limit_again() -> None:
    release = released([(user, 1) for user in range(300)], key=None)
    assert dpsel.check(release).ok
    data = json.loads(release.report.to_json())
    assert "quantile.md" in data["guarantee"]["limit"]
    words = "the look is not what its noisy numbers and the request call for"
    for fields in ({"limit": data["look"]["limit"] + 1}, {"epsilon": 0.01}, {"users": [0, 0, 0, 0, 0, 900]}):
        changed = json.dumps(data | {"look": data["look"] | fields})
        assert words in dpsel.check(Report(changed)).reason, fields
    other = "a look, or none, other than the request calls for"
    for look in ({"look": data["look"] | {"users": [1, 2]}}, {"look": None}):
        changed = {name: value for name, value in (data | look).items() if value is not None}
        assert other in dpsel.check(Report(json.dumps(changed))).reason
    request = {name: value for name, value in data["request"].items() if name != "quantile"}
    assert other in dpsel.check(Report(json.dumps(data | {"request": request}))).reason


def test_whether_there_is_a_calibration_does_not_depend_on_rows() -> None:
    """OneItem takes a limit of 1 alone, which may well be the one that is found."""
    with pytest.raises(InvalidParameterError, match="OneItem needs max_items_per_user = 1"):
        released([(user, 1) for user in range(300)], mechanism=dpsel.OneItem())


def test_auto_takes_no_second_look() -> None:
    arguments = {"privacy": dpsel.ApproxDP(epsilon=6.0, delta=1e-3), "mechanism": "auto", "key": None}
    assert "look" in released([(1, 1)], 50, **arguments).report
    release = released([(1, 1)], dpsel.Quantile(0.5, most=50), **arguments)
    assert "limit" in release.report["look"]
    assert dpsel.check(release).ok
    with pytest.raises(InvalidParameterError, match="both look at the data first"):
        released([(1, 1)], mechanism=dpsel.MatchingOr())


def test_a_plan_has_a_row_for_each_limit() -> None:
    plan = dpsel.plan(privacy=PRIVACY, max_items_per_user=QUANTILE, mechanisms=dpsel.CountGaussian())
    assert [row["max_items_per_user"] for row in plan.rows] == [1, 2, 3, 4, 5]
    found = report_of(released([(1, 1)], mechanism=dpsel.CountGaussian()))["look"]
    rest = dpsel.ApproxDP(epsilon=found["rest"]["epsilon"], delta=found["rest"]["delta"])
    alone = dpsel.plan(privacy=rest, max_items_per_user=[1, 2, 3, 4, 5], mechanisms=dpsel.CountGaussian())
    for row, other in zip(plan.rows, alone.rows, strict=True):
        assert row["look_epsilon"] == found["epsilon"]
        assert {name: row[name] for name in other if name != "request"} == {
            name: value for name, value in other.items() if name != "request"
        }
    # Beyond the half-width lie at most 5 per cent, and beyond one less more than that.
    a, width = math.exp(-found["epsilon"]), plan.rows[0]["look_half_width"]
    beyond = [2 * a ** (z + 1) / (1 + a) for z in (width, width - 1)]
    assert beyond[0] <= 0.05 < beyond[1]
    assert "to find the limit costs epsilon = 1.2;" in str(plan)


def test_a_release_its_report_and_its_card_say_how_uncertain_the_limit_is() -> None:
    """With ten times the users the part that the limit covers is known ten times as well."""
    covers = r"limit: users of at most (\d) items are about [\d.]+ % of all, within ([\d.]+) % with 95 %"
    width = r"each noisy number of users is within (\d+) with 95 %"
    within = []
    for users in (500, 5_000):
        data = table([(user, item) for user in range(users) for item in range(1 + user % 2)])
        release = dpsel.select_partitions(
            data, user="user", item="item", privacy=PRIVACY, max_items_per_user=QUANTILE
        )
        for text in (str(release), str(release.report)):
            assert int(re.search(covers, text)[1]) == release.report.limit
        within.append(float(re.search(covers, str(release))[2]))
        (row, *_) = dpsel.plan(privacy=PRIVACY, max_items_per_user=QUANTILE).rows
        assert int(re.search(width, str(release))[1]) == row["look_half_width"]
        assert re.search(width, release.card().to_html())
    assert within[0] == pytest.approx(10 * within[1], rel=0.6)


def test_a_limit_of_few_users_says_that_it_says_nothing() -> None:
    assert "which says nothing of so few users" in str(released([(1, 1)], dpsel.Quantile(0.6, share=0.01)))


@given(epsilon=st.floats(0.01, 20.0))
def test_the_half_width_holds_95_per_cent(epsilon) -> None:
    width, decay = look_half_width(epsilon), math.exp(-epsilon)

    def beyond(number: int) -> float:
        return 2 * decay ** (number + 1) / (1 + decay)

    assert beyond(width) <= 0.05 * (1 + 1e-9)
    assert width == 0 or beyond(width - 1) > 0.05 * (1 - 1e-9)


def test_what_is_said_of_the_limit_holds_as_often_as_it_says() -> None:
    """Of exact numbers that are known, the true part lies within what is said in 95 of 100 releases."""
    rng = np.random.default_rng(7)
    true, epsilon, trials = [4000, 3000, 2000, 800, 200, 0], 0.05, 1500
    held = 0
    for _ in range(trials):
        noise = rng.geometric(1 - math.exp(-epsilon), 6) - rng.geometric(1 - math.exp(-epsilon), 6)
        noisy = [int(number + z) for number, z in zip(true, noise, strict=True)]
        at = next(at for at in range(1, 6) if sum(noisy[:at]) >= 0.6 * sum(noisy))
        look = {"users": noisy, "epsilon": epsilon, "limit": at}
        said = limit_within({"look": look, "request": {"quantile": {"quantile": 0.6}}})
        part, off = map(float, re.search(r"about ([\d.]+) % of all, within ([\d.]+) %", said).groups())
        held += abs(100 * sum(true[:at]) / sum(true) - part) <= off
    assert 0.92 < held / trials < 0.98


def test_rows_on_the_disk_make_the_same_release(tmp_path) -> None:
    data = [(user, item) for user in range(3_000) for item in range(1 + user % 4)]
    options = {"memory_limit": "64MiB", "scratch": tmp_path}
    assert released(data).to_pylist() == released(data, **options).to_pylist()


def test_it_is_in_no_gaussian_entry_of_a_budget() -> None:
    found = [
        dpsel._core_calls.gaussian_part(
            released([(1, 1)], limit, mechanism=dpsel.CountGaussian()).report.to_json()
        )
        for limit in (QUANTILE, 5)
    ]
    assert found[0] is None
    assert found[1] is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quantile": 0}, "quantile must be above 0 and below 1"),
        ({"quantile": 1}, "quantile must be above 0 and below 1"),
        ({"quantile": math.nan}, "quantile must be above 0 and below 1"),
        ({"quantile": "0.5"}, "quantile must be a number"),
        ({"share": 0}, "share must be above 0 and below 1"),
        ({"share": 1}, "share must be above 0 and below 1"),
        ({"most": 0}, "most must be between 1 and 10,000,000"),
        ({"most": 10_000_001}, "most must be between 1 and 10,000,000"),
        ({"most": 2.5}, "most must be a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        dpsel.Quantile(**({"quantile": 0.5} | arguments))


def test_where_it_does_not_apply() -> None:
    with pytest.raises(CalibrationError, match="a limit that is a quantile, and a selection"):
        released([(1, 1)], privacy=dpsel.ApproxDP(epsilon=1e-15, delta=0.1))
    for call in (
        lambda: dpsel.compare([(1, 1)], privacy=PRIVACY, max_items_per_user=QUANTILE, public_data=True),
        lambda: dpsel.select_top_k([(1, 1)], k=1, privacy=PRIVACY, max_items_per_user=QUANTILE),
    ):
        with pytest.raises(
            InvalidParameterError, match="must be a whole number, got dpsel.accounting.Quantile"
        ):
            call()
