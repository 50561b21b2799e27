"""``public_items=``, ``exclude=`` and ``min_users=``: what they leave out, add and promise."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError, SchemaError
from mechanisms import MECHANISMS
from support import items_of, report_of, select, table, units_of

PRIVACY = dpsel.ApproxDP(epsilon=3.0, delta=0.01)
#: Items 0..9 of up to 60 users each, and 30 items with one user each.
ROWS = [(u, i) for u in range(60) for i in range(10) if (u * 7 + i * 11) % 10 >= i] + [
    (u, 10 + u) for u in range(30)
]
UNIT = 1 << 30
pytestmark = pytest.mark.filterwarnings("ignore::dpsel.WeakGuaranteeWarning")
PLAIN = (
    dpsel.CountLaplace(),
    dpsel.CountGaussian(),
    dpsel.WeightedLaplace(),
    dpsel.WeightedGaussian(),
    dpsel.Sips(),
)
CURVES = (dpsel.OneItem(), dpsel.WeightedGaussian(release="curve"), dpsel.Sips(release="curve"))


@pytest.mark.parametrize("case", MECHANISMS, ids=lambda case: case.name)
def test_an_excluded_item_might_as_well_never_have_been_there(case) -> None:
    arguments = {"privacy": PRIVACY, "max_items_per_user": 3, "mechanism": case.mechanism}
    without = select(table([(u, i) for u, i in ROWS if i not in (1, 4)]), **arguments)
    excluded = select(table(ROWS), exclude=[1, 4], **arguments)
    assert items_of(excluded) == items_of(without)
    assert dpsel.check(select(table(ROWS), exclude=[1, 4], key=None, **arguments)).ok


@pytest.mark.parametrize("option", ["exclude", "public_items"])
def test_a_look_does_not_see_listed_items(option) -> None:
    """Otherwise a stop word that everybody has would be filled and held as well."""
    rows = [(user, user % 1_500) for user in range(12_000)]
    arguments = {"privacy": dpsel.ApproxDP(epsilon=6.0, delta=1e-6), "max_items_per_user": 10}
    arguments["mechanism"] = "auto"
    without = select(table(rows), **arguments)
    listed = select(
        table([*rows, *((user, 9_999) for user in range(12_100))]), **{option: [9_999]}, **arguments
    )
    assert report_of(listed)["look"] == report_of(without)["look"]
    assert report_of(without)["look"]["lists"] == "short"
    released = (
        listed.to_pylist() if option == "public_items" else [(item, False) for item in items_of(listed)]
    )
    assert [item for item, mark in released if not mark] == items_of(without)


def test_no_item_is_in_both_lists_and_each_counts_once() -> None:
    arguments = {"privacy": PRIVACY, "max_items_per_user": 3, "mechanism": dpsel.Sips()}
    for exclude, public in (([1], [np.int64(1)]), ([np.str_("1")], ["1"]), (["1"], [1])):
        with pytest.raises(InvalidParameterError, match="in common"):
            select(table(ROWS), exclude=exclude, public_items=public, **arguments)
    counted = select(table(ROWS), exclude=[1, np.int64(1), 2], **arguments)
    assert report_of(counted)["request"]["exclude"]["items"] == 2


def test_public_items_come_out_marked_and_cost_no_place_in_the_limit() -> None:
    arguments = {"privacy": PRIVACY, "max_items_per_user": 3, "mechanism": dpsel.WeightedGaussian()}
    excluded = select(table(ROWS), exclude=[1, 4, 99], **arguments)
    public = select(table(ROWS), public_items=[99, 4, 1, 4], **arguments)
    rows = public.to_pylist()
    assert [item for item, mark in rows if not mark] == items_of(excluded)
    assert [item for item, mark in rows if mark] == [1, 4, 99]
    assert rows == sorted(rows)
    assert report_of(public)["request"]["public_items"]["items"] == 3
    # In the same call with noisy weights, public items have none.
    weighted = select(table(ROWS), public_items=[99], with_weights=True, **arguments)
    assert [weight for item, weight, mark in weighted.to_pylist() if mark] == [None]
    assert all(weight is not None for item, weight, mark in weighted.to_pylist() if not mark)


@pytest.mark.parametrize(
    "data",
    [
        pl.DataFrame({"user": range(300), "item": ["tea"] * 300}),
        pl.DataFrame({"user": range(300), "item": ["tea"] * 300}).with_columns(
            pl.col("item").cast(pl.Categorical)
        ),
        [(user, "tea") for user in range(300)],
    ],
    ids=["declared", "categories", "pairs"],
)
def test_public_items_take_the_types_of_the_data(data) -> None:
    arguments = {"privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-6), "max_items_per_user": 1}
    release = select(data, public_items=["gin"], **arguments)
    assert release.to_pylist() == [("gin", True), ("tea", False)]
    assert select(data, public_items=[], **arguments).to_pylist() == [("tea", False)]
    with pytest.raises(SchemaError, match="public_items= has integers"):
        select(data, public_items=[1], **arguments)
    with pytest.raises(SchemaError, match="exclude= has integers"):
        select(data, exclude=[1], **arguments)


def test_a_release_of_nothing_has_its_public_items() -> None:
    release = select([(1, 5)], public_items=[2**63 - 1, 7], privacy=PRIVACY, max_items_per_user=1)
    assert release.to_pylist() == [(7, True), (2**63 - 1, True)]


def test_ngrams_and_several_columns() -> None:
    texts = [(user, "tea and milk") for user in range(300)]
    privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
    words = dpsel.select_partitions(
        texts, ngrams=(1, 2), exclude=["and", "tea and"], privacy=privacy, max_items_per_user=3
    )
    assert words.items == ["and milk", "milk", "tea"]
    trips = [(user, ("Oslo", 1)) for user in range(300)]
    keys = dpsel.select_partitions(
        trips, item=["city", "day"], public_items=[("Lima", 2)], privacy=privacy, max_items_per_user=1
    )
    assert keys.items == [("Lima", 2, True), ("Oslo", 1, False)]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"exclude": "tea"}, "exclude must be a list of items, got str"),
        ({"exclude": 5}, "exclude must be a list of items, got int"),
        ({"public_items": [1, None]}, "public_items must have no missing item"),
        ({"public_items": [[1]]}, "public_items must have items that can be looked up"),
        ({"public_items": [1], "exclude": [1]}, "no item in common"),
        *(
            (
                {name: frame},
                rf"^{name} must be a list of items, got p.*(Frame|Table); give the values of its column",
            )
            for name in ("public_items", "exclude")
            for frame in (
                pl.DataFrame({"item": ["a"]}),
                pl.LazyFrame({"item": ["a"]}),
                pa.table({"item": ["a"]}),
                pd.DataFrame({"item": ["a"]}),
            )
        ),
        ({"min_users": 0}, "min_users must be at least 1, got 0"),
        ({"min_users": 2.5}, "min_users must be a whole number"),
        ({"min_users": 2**32}, "min_users must be below"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, text) -> None:
    with pytest.raises(InvalidParameterError, match=text):
        select(table(ROWS), privacy=PRIVACY, max_items_per_user=3, **options)


def test_a_column_of_the_name_of_the_marks_is_refused() -> None:
    data = pl.DataFrame({"user": [1], "public": [1]})
    arguments = {"privacy": PRIVACY, "max_items_per_user": 1}
    assert select(data, item="public", **arguments) is not None
    with pytest.raises(InvalidParameterError, match="adds a column 'public'"):
        select(data, item="public", public_items=[1], **arguments)


# The least number of users.


def users_of(rows) -> Counter:
    return Counter(item for _, item in set(rows))


@pytest.mark.parametrize("mechanism", PLAIN + CURVES, ids=repr)
@pytest.mark.parametrize("least", [2, 7, 30])
def test_no_item_of_fewer_users_is_ever_released(mechanism, least) -> None:
    """At this epsilon and delta an item of a single user is often released without a least number."""
    privacy = dpsel.ApproxDP(epsilon=20.0, delta=0.9)
    rows = [(f"{user} {item}", item) for item in range(40) for user in range(item + 1)]
    users = users_of(rows)
    found = set()
    for seed in range(30):
        arguments = {
            "privacy": privacy,
            "max_items_per_user": 1,
            "mechanism": mechanism,
            "key": bytes([seed] * 32),
        }
        items = items_of(select(table(rows), min_users=least, **arguments))
        assert all(users[item] >= least for item in items)
        found |= {users[item] for item in items_of(select(table(rows), **arguments))}
    assert min(found) < least, "without a least number there are such items, so the test can fail"


@pytest.mark.parametrize(
    "mechanism", [dpsel.CountLaplace(), dpsel.CountGaussian(), dpsel.WeightedGaussian()], ids=repr
)
@pytest.mark.parametrize("least", [2, 5, 12])
def test_the_rule_is_that_of_the_proof(mechanism, least) -> None:
    """Released iff the weight is above k - 1 units, and the noisy weight reaches the threshold plus k - 1."""
    privacy = dpsel.ApproxDP(epsilon=3.0, delta=0.5)
    arguments = {"privacy": privacy, "max_items_per_user": 1, "mechanism": mechanism, "with_weights": True}
    rows = [(f"{item} {user}", item) for item in range(200) for user in range(item // 5 + 1)]
    shown = units_of(select(table(rows), **arguments))
    lowered = select(table(rows), min_users=least, **arguments)
    threshold = report_of(lowered)["calibration"]["rounds"][0]["threshold"]
    off, users = (least - 1) * UNIT, users_of(rows)
    expected = {
        item: weight for item, weight in shown.items() if users[item] >= least and weight >= threshold + off
    }
    assert units_of(lowered) == expected
    assert expected
    assert len(expected) < len(shown)


def test_mechanisms_without_the_proof_are_refused() -> None:
    allowed = {mechanism.name for mechanism in PLAIN + CURVES}
    for case in MECHANISMS:
        arguments = {"privacy": PRIVACY, "max_items_per_user": 3, "mechanism": case.mechanism}
        if case.mechanism.name in allowed:
            assert dpsel.check(select(table(ROWS), min_users=4, key=None, **arguments)).ok
            continue
        with pytest.raises(InvalidParameterError, match="min_users= has a proof only"):
            select(table(ROWS), min_users=4, **arguments)


@pytest.mark.parametrize(
    "privacy", [dpsel.ApproxDP(epsilon=1.0, delta=1e-6), dpsel.ZCDP(rho=0.1, delta=1e-6)]
)
def test_auto_takes_counts_and_plan_says_what_it_costs(privacy) -> None:
    data = table([(user, 1) for user in range(1000)])
    release = select(data, privacy=privacy, max_items_per_user=5, min_users=20, key=None)
    assert items_of(release) == [1]
    assert report_of(release)["request"]["mechanism"]["name"] in {"count_gaussian", "count_laplace"}
    assert report_of(release)["request"]["min_users"] == 20
    assert dpsel.check(release).ok
    assert "at least 20 users" in str(release)
    rows = [
        dpsel.plan(privacy=privacy, max_items_per_user=5, mechanisms=dpsel.CountGaussian(), min_users=k).rows[
            0
        ]
        for k in (1, 20)
    ]
    assert rows[1]["users_for_95"] == rows[0]["users_for_95"] + 19
    few = dpsel.plan(privacy=privacy, max_items_per_user=5, min_users=20, users=[19]).rows[0]
    assert few["keep"]["19"] == 0.0


def test_a_report_of_another_least_number_does_not_pass() -> None:
    release = select(table(ROWS), privacy=PRIVACY, max_items_per_user=3, min_users=4, key=None)
    text = release.report.to_json().replace('"min_users": 4', '"min_users": 5')
    assert not dpsel.check(dpsel.Report(text)).ok


def test_a_least_number_beyond_all_users_releases_nothing() -> None:
    release = select(table(ROWS), privacy=PRIVACY, max_items_per_user=3, min_users=2**32 - 1)
    assert items_of(release) == []
