"""Plans: figures without data, side by side."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-8)


def test_one_row_for_each_limit_and_mechanism():
    mechanisms = [dpsel.WeightedGaussian(), dpsel.CountLaplace(), "auto"]
    rows = dpsel.plan(privacy=PRIVACY, max_items_per_user=[1, 5], mechanisms=mechanisms).rows
    assert [row["max_items_per_user"] for row in rows] == [1, 1, 1, 5, 5, 5]
    assert [row["mechanism"] for row in rows[3:]] == [
        "WeightedGaussian()",
        "CountLaplace()",
        repr(dpsel.MatchingOr(share=0.005)),
    ]


def test_thresholds_are_those_of_a_release():
    for mechanism in (dpsel.WeightedLaplace(), dpsel.Sips(rounds=2)):
        row = dpsel.plan(privacy=PRIVACY, max_items_per_user=7, mechanisms=mechanism).rows[0]
        release = dpsel.select_partitions(
            [(1, 1)], privacy=PRIVACY, max_items_per_user=7, mechanism=mechanism
        )
        assert row["rounds"] == release.report.rounds


@pytest.mark.parametrize(
    "mechanism",
    [
        dpsel.CountLaplace(),
        dpsel.CountGaussian(),
        dpsel.WeightedLaplace(),
        dpsel.WeightedGaussian(),
        dpsel.Sips(),
    ],
    ids=str,
)
def test_keep_probabilities_rise_and_meet_the_needed_users(mechanism):
    users = [1, 5, 20, 100, 1000, 100_000]
    row = dpsel.plan(privacy=PRIVACY, max_items_per_user=20, mechanisms=mechanism, users=users).rows[0]
    keep = [row["keep"][str(number)] for number in users]
    assert keep == sorted(keep)
    assert 0 <= keep[0] <= 1e-8
    assert keep[-1] == pytest.approx(1.0)
    for target in (50, 95, 99):
        needed = row[f"users_for_{target}"]
        again = dpsel.plan(
            privacy=PRIVACY, max_items_per_user=20, mechanisms=mechanism, users=[needed - 1, needed]
        ).rows[0]["keep"]
        assert again[str(needed - 1)] < target / 100 <= again[str(needed)]


def test_users_of_more_items_than_a_row_keeps_contribute_as_many_as_it_keeps():
    limits, mechanisms = [10, 50, 200], [dpsel.Sips(), dpsel.Steered(reach=3)]
    plan = dpsel.plan(privacy=PRIVACY, max_items_per_user=limits, mechanisms=mechanisms, items_per_user=100)
    assert [row["items_kept"] for row in plan.rows] == [10, 30, 50, 100, 100, 100]
    assert {row["items_per_user"] for row in plan.rows} == {100}


PARTS = [dpsel.Steered(reach=3), dpsel.Sips(), dpsel.CountGaussian(), dpsel.Mad(), dpsel.MatchingOr()]


@pytest.mark.parametrize("mechanism", PARTS, ids=repr)
@pytest.mark.parametrize("longer", [1, 5, 22])
def test_each_user_of_a_long_list_keeps_the_item_by_a_chance_of_its_own(mechanism, longer):
    """The number of those who keep it is binomial, and the law of the release is summed over it."""
    given = {"privacy": PRIVACY, "max_items_per_user": 3, "mechanisms": mechanism}
    users = [1, 7, 40, 150]
    (known,) = dpsel.plan(users=range(1, 151), **given).rows
    most = known["items_kept"]
    held = most + longer
    (row,) = dpsel.plan(items_per_user=held, users=users, **given).rows
    for number in users:
        parts = (math.comb(number, by) * most**by * longer ** (number - by) for by in range(1, number + 1))
        exact = sum(Fraction(part) * Fraction(known["keep"][str(by)]) for by, part in enumerate(parts, 1))
        assert row["keep"][str(number)] == pytest.approx(float(exact / held**number), rel=1e-9)
    needed = row["users_for_95"]
    (beside,) = dpsel.plan(items_per_user=held, users=[needed - 1, needed], **given).rows
    before, at = beside["keep"].values()
    assert before < 0.95 <= at


def test_many_users_are_summed_over_in_steps():
    given = {"privacy": dpsel.ApproxDP(epsilon=1e-4, delta=1e-9), "max_items_per_user": 3}
    rows = dpsel.plan(items_per_user=[3, 6, 3000], mechanisms=dpsel.WeightedGaussian(), **given).rows
    # The noise is far wider than the spread of the keepers.
    for row, times in zip(rows, (1, 2, 1000), strict=True):
        assert row["users_for_95"] == pytest.approx(times * rows[0]["users_for_95"], rel=2e-4)


def test_items_come_out_as_often_as_planned():
    """2,000 items, each of as many users as the plan wants for 95 %, who have four times the limit."""
    given = {"privacy": dpsel.ApproxDP(epsilon=2.0, delta=1e-6), "max_items_per_user": 2}
    mechanism, held, groups = dpsel.WeightedGaussian(), 8, 250
    (row,) = dpsel.plan(mechanisms=mechanism, items_per_user=held, **given).rows
    users = range(row["users_for_95"])
    rows = (
        (f"{group}-{user}", [f"{group}-{place}" for place in range(held)])
        for group in range(groups)
        for user in users
    )
    release = dpsel.select_partitions(rows, mechanism=mechanism, insecure_test_key=bytes(32), **given)
    items = held * groups
    assert abs(len(release) / items - 0.95) < 4 * math.sqrt(0.95 * 0.05 / items)


def test_a_plan_of_typical_lists_points_to_limits_that_keep_them():
    """The worst case of a larger limit needs more users. Users of typical lists need fewer, or as many."""
    grid = {"privacy": PRIVACY, "max_items_per_user": [5, 10, 100]}
    worst = [row["users_for_95"] for row in dpsel.plan(**grid).rows]
    assert worst == sorted(worst)
    plan = dpsel.plan(items_per_user=[5, 40], **grid)
    assert [(row["max_items_per_user"], row["items_per_user"]) for row in plan.rows] == [
        (limit, items) for limit in (5, 10, 100) for items in (5, 40)
    ]
    typical = [row["users_for_95"] for row in plan.rows if row["items_per_user"] == 40]
    assert typical == sorted(typical, reverse=True)
    short = [row["users_for_95"] for row in plan.rows if row["items_per_user"] == 5]
    assert max(short) < 1.05 * min(short)
    assert "items per user" in str(plan).splitlines()[0]
    assert "a random part counts" in str(plan).splitlines()[-1]
    assert "worst case" not in str(plan)
    assert plan.plot() is not None
    for text in (str(dpsel.plan(**grid)), dpsel.plan(**grid)._repr_html_()):
        assert "worst case: users who hold the item keep as many items as they may" in text
        assert "larger limit often releases more" in text
        assert "items_per_user" in text


def test_fewer_items_per_user_need_fewer_users():
    worst = dpsel.plan(privacy=PRIVACY, max_items_per_user=100).rows[0]
    light = dpsel.plan(privacy=PRIVACY, max_items_per_user=100, items_per_user=1).rows[0]
    assert light["users_for_95"] < worst["users_for_95"]
    assert light["threshold"] == worst["threshold"]


def test_texts_and_frames():
    plan = dpsel.plan(privacy=PRIVACY, max_items_per_user=[1, 10], users=[50])
    lines = str(plan).splitlines()
    assert len(lines) == 6
    assert "a noisy look" in lines[-2]
    assert "worst case" in lines[-1]
    assert lines[0].split("  ")[0] == "mechanism"
    assert "users for 95%" in lines[0]
    assert "keep at 50" in lines[0]
    assert plan._repr_html_().count("<tr>") == 3
    assert plan.to_polars().height == len(plan.to_pandas()) == 2
    assert "keep_50" in plan.to_polars().columns
    assert json.loads(plan.to_json())["rows"][0]["users_for_95"] == plan.rows[0]["users_for_95"]


def test_rows_are_copies():
    plan = dpsel.plan(privacy=PRIVACY, max_items_per_user=1)
    plan.rows[0]["keep"].clear()
    assert plan.rows[0]["keep"]


def test_plot(tmp_path):
    plan = dpsel.plan(privacy=PRIVACY, max_items_per_user=[1, 10])
    path = tmp_path / "plan.svg"
    axes = plan.plot(path)
    assert path.stat().st_size > 1000
    assert len(axes.get_lines()) == 2
    assert plan.plot(ax=axes) is axes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"items_per_user": 0}, "items_per_user must be at least 1, got 0"),
        ({"items_per_user": [5, 0]}, "items_per_user must be at least 1, got 0"),
        ({"users": [0]}, "users must be at least 1, got 0"),
        ({"users": [1.5]}, "users must be a whole number, got float"),
        ({"max_items_per_user": []}, "need at least one entry"),
        ({"max_items_per_user": [0]}, "max_items_per_user must be between 1"),
        ({"mechanisms": 3}, "mechanism must be 'auto' or a mechanism"),
        ({"privacy": 1.0}, "privacy must be ApproxDP"),
        ({"privacy": dpsel.ZCDP(rho=1, delta=1e-6), "mechanisms": dpsel.CountLaplace()}, "(?i)zcdp"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        dpsel.plan(**({"privacy": PRIVACY, "max_items_per_user": 10} | arguments))


def test_the_worst_case_is_a_user_of_all_items_that_are_kept():
    wide, narrow = (
        dpsel.plan(privacy=PRIVACY, max_items_per_user=limit, mechanisms=dpsel.Steered(reach=reach)).rows[0]
        for limit, reach in ((10, 3), (30, 1))
    )
    assert (wide["max_items_per_user"], wide["items_per_user"]) == (10, 30)
    assert wide["keep"] == narrow["keep"]
    assert wide["threshold"] == narrow["threshold"]


@pytest.mark.parametrize("limit", [1, 5, 10, 20])
def test_plan_shows_the_price_of_weights(limit):
    """With weights ``auto`` plans what a call with weights runs.

    An item never needs fewer users then, but for a limit of 1: without weights, users keep several items.
    From 4 on there is a look without weights, which costs 0.5 % of epsilon.
    """
    privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-8)
    arguments = {"privacy": privacy, "max_items_per_user": limit}
    without, priced = (dpsel.plan(with_weights=flag, **arguments).rows[0] for flag in (False, True))
    release = dpsel.select_partitions([(1, 2)], with_weights=True, **arguments)
    assert priced["rounds"] == release.report.rounds
    assert (1.02 * priced["users_for_95"] > without["users_for_95"]) is (limit > 1)
    assert (priced["mechanism"] != without["mechanism"]) is (limit == 1 or limit >= 4)
    with pytest.raises(InvalidParameterError, match="with_weights=True asks for noisy weights"):
        dpsel.plan(mechanisms=dpsel.Mad(), with_weights=True, **arguments)
