"""What is said about several users together: by reports and on cards, without an option."""

from __future__ import annotations

import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError

ROWS = [(user, "tea") for user in range(500)]
APPROX = dpsel.ApproxDP(epsilon=1.0, delta=1e-8)


def released(privacy=APPROX, **options):
    return dpsel.select_partitions(ROWS, privacy=privacy, max_items_per_user=1, **options)


@pytest.mark.parametrize("privacy", [APPROX, dpsel.ZCDP(rho=0.1, delta=1e-9)], ids=["approx_dp", "zcdp"])
def test_a_report_says_what_holds_for_any_group(privacy) -> None:
    release = released(privacy)
    assert release.report.for_group(3) == dpsel.for_group(privacy, 3)
    assert "any 3 users" in release.card().to_html()


@pytest.mark.parametrize(
    ("users", "message"),
    [
        (40, "users_per_group = 40 is too many"),
        (0, "users_per_group must be at least 1"),
        (1.5, "users_per_group must be a whole number"),
    ],
)
def test_what_cannot_be_promised_is_refused(users, message) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        released().report.for_group(users)


def test_a_card_speaks_of_users_and_never_of_persons() -> None:
    """A user of several columns, such as a day of a person, is not a person."""
    table = {"id": list(range(500)), "day": [1] * 500, "item": ["tea"] * 500}
    release = dpsel.select_partitions(
        table, user=["id", "day"], item="item", privacy=APPROX, max_items_per_user=1
    )
    page = release.card().to_html()
    assert "id and day" in page
    assert "any 10 users" in page
    assert "person" not in page
    assert "people" not in page
