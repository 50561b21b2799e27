"""What is said about several users together: in the report, in plans, and on the command line."""

from __future__ import annotations

import json

import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError

ROWS = [(user, "tea") for user in range(500)]
APPROX = dpsel.ApproxDP(epsilon=1.0, delta=1e-8)


def released(privacy=APPROX, **options):
    return dpsel.select_partitions(ROWS, privacy=privacy, max_items_per_user=1, **options)


@pytest.mark.parametrize("privacy", [APPROX, dpsel.ZCDP(rho=0.1, delta=1e-9)], ids=["approx_dp", "zcdp"])
def test_the_report_says_what_holds_for_a_group(privacy) -> None:
    release = released(privacy, users_per_group=3)
    group = dpsel.for_group(privacy, 3)
    assert release.report["request"]["users_per_group"] == 3
    assert release.report.group == group
    assert dpsel.check(release).ok
    assert f"(epsilon = {group.epsilon:.6g}, delta = {group.delta:.6g})-DP for any 3 users together" in str(
        release
    )
    assert "any 3 users" in release.card()._groups()


def test_a_group_of_another_size_is_on_the_card() -> None:
    assert "any 7 users" in released(users_per_group=7).card()._groups()
    assert "any 7 users" not in released().card()._groups()


def test_without_a_group_nothing_is_said() -> None:
    release = released()
    assert release.report.group is None
    assert "together" not in str(release)
    assert "users_per_group" not in release.report["request"]


def test_a_group_changes_nothing_but_what_is_said() -> None:
    alone, told = (released(insecure_test_key=bytes(32), users_per_group=users) for users in (None, 3))
    assert alone.to_pylist() == told.to_pylist()
    assert alone.report["calibration"] == told.report["calibration"]


def test_a_changed_group_does_not_pass_the_check() -> None:
    text = released(users_per_group=3).report.to_json()
    changed = text.replace('"users_per_group": 3', '"users_per_group": 2')
    assert changed != text
    assert "the fingerprint" in dpsel.check(dpsel.Report(changed)).reason


@pytest.mark.parametrize(
    ("users", "message"),
    [
        (40, "users_per_group = 40 is too many"),
        (0, "users_per_group must be at least 1"),
        (1.5, "users_per_group must be a whole number"),
    ],
)
def test_what_cannot_be_promised_is_refused_before_rows_are_read(users, message) -> None:
    def never():
        pytest.fail("a row was read")
        yield

    with pytest.raises(InvalidParameterError, match=message):
        dpsel.select_partitions(never(), privacy=APPROX, max_items_per_user=1, users_per_group=users)
    with pytest.raises(InvalidParameterError, match=message):
        dpsel.plan(privacy=APPROX, max_items_per_user=1, users_per_group=users)


def test_a_plan_says_it_too() -> None:
    plan = dpsel.plan(privacy=APPROX, max_items_per_user=1, users_per_group=3)
    assert plan.group == dpsel.for_group(APPROX, 3)
    assert str(plan).endswith("for any 3 users together: (epsilon = 3, delta = 1.11073e-07)-DP")
    assert json.loads(plan.to_json())["group"] == plan.group.to_json()
    without = dpsel.plan(privacy=APPROX, max_items_per_user=1)
    assert without.group is None
    assert "group" not in json.loads(without.to_json())
    assert plan.rows == without.rows


def test_a_plan_says_nothing_of_groups_where_nothing_holds() -> None:
    with pytest.warns(dpsel.exceptions.DpselWarning, match="no guarantee"):
        published = dpsel.GreedyFrequency(calibration="published")
    with pytest.raises(InvalidParameterError, match="GreedyFrequency has no guarantee"):
        dpsel.plan(privacy=APPROX, max_items_per_user=3, mechanisms=published, users_per_group=3)


def test_a_card_speaks_of_users_and_never_of_persons() -> None:
    """A user of several columns, such as a day of a person, is not a person."""
    table = {"id": list(range(500)), "day": [1] * 500, "item": ["tea"] * 500}
    release = dpsel.select_partitions(
        table, user=["id", "day"], item="item", privacy=APPROX, max_items_per_user=1, users_per_group=10
    )
    page = release.card().to_html()
    assert "id and day" in page
    assert "any 10 users" in page
    assert "person" not in page
    assert "people" not in page
