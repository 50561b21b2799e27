"""Comparisons on public data: the grid, the counts and the upper bound."""

from __future__ import annotations

import csv

import pytest

import dpsel
from dpsel.comparison._bound import upper_bound

ROWS = [(user, item) for user in range(300) for item in range(user % 30)]
BUDGET = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
SEVERAL = {
    "privacy": [dpsel.ApproxDP(epsilon=0.5, delta=1e-6), BUDGET],
    "max_items_per_user": [10, 30],
    "mechanisms": [dpsel.WeightedGaussian(), dpsel.Sips()],
}


def compared(**arguments):
    defaults = {"privacy": BUDGET, "max_items_per_user": 30, "public_data": True, "seed": 1}
    return dpsel.compare(ROWS, **{**defaults, **arguments})


def optimum(epsilon, delta, users):
    """The recursion behind the closed form."""
    keep = 0.0
    for _ in range(users):
        grown = 2.718281828459045**epsilon * keep + delta
        keep = min(grown, 1 - 2.718281828459045**-epsilon * (1 - keep - delta), 1.0)
    return keep


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-3), (3.0, 4.54e-5), (1e-3, 1e-8), (0.5, 0.2)]
)
def test_upper_bound_is_the_one_item_optimum(epsilon, delta):
    for users in (1, 2, 3, 7, 12, 13, 14, 15, 29, 30, 31, 100, 1000):
        assert upper_bound(epsilon, delta, users) == pytest.approx(optimum(epsilon, delta, users), rel=1e-9)


def test_upper_bound_of_many_users_is_one():
    assert upper_bound(50.0, 1e-9, 10**9) == 1.0


@pytest.mark.parametrize("public", [False, None, 1, "yes"])
def test_private_use_is_refused_in_large_letters(public):
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="COSTS BUDGET"):
        compared(public_data=public)


def test_what_a_look_found_stands_beside_the_items():
    """One look of some is wrong, and halves a release: who compares sees which."""
    found = compared(mechanisms=[dpsel.MatchingOr(), dpsel.Sips()], repeats=3)
    looking, other = found.summary()
    answers = [row["lists"] for row in found.rows if row["mechanism"] == "MatchingOr()"]
    assert looking["looks"] == 3 == len(answers)
    assert set(answers) <= {"short", "long"}
    assert looking["short"] == answers.count("short")
    assert other["looks"] == 0
    assert f"short in {looking['short']} of 3" in str(found)
    assert "lists" not in str(compared(mechanisms=dpsel.Sips()))


def test_every_combination_has_a_row():
    rows = compared(**SEVERAL, repeats=2).rows
    assert len(rows) == 2 * 2 * 2 * 2
    assert {(row["epsilon"], row["max_items_per_user"], row["repeat"]) for row in rows} == {
        (epsilon, limit, repeat) for epsilon in (0.5, 1.0) for limit in (10, 30) for repeat in (0, 1)
    }
    for row in rows:
        assert 0 <= row["fraction"] == row["items"] / row["upper_bound"]


def test_counts_are_those_of_single_releases():
    (row,) = compared(mechanisms=dpsel.Sips(), seed=None).rows
    alone = dpsel.select_partitions(ROWS, privacy=BUDGET, max_items_per_user=30, mechanism=dpsel.Sips())
    # Items 0 to 9 have 200 users and more; nobody misses them.
    assert min(row["items"], len(alone)) >= 10
    held = [sum(user % 30 > item for user in range(300)) for item in range(29)]
    assert row["upper_bound"] == pytest.approx(sum(upper_bound(1.0, 1e-6, users) for users in held))


def test_with_numbers_it_says_how_far_they_may_be_off():
    found = compared(mechanisms=[dpsel.Sips(), dpsel.WeightedGaussian()], counts=0.3, repeats=2)
    for row in (*found.rows, *found.summary()):
        alone = dpsel.select_partitions(
            ROWS,
            privacy=BUDGET,
            max_items_per_user=30,
            mechanism=dpsel.Sips() if row["mechanism"].startswith("Sips") else dpsel.WeightedGaussian(),
            counts=0.3,
        )
        assert row["counts_half_width"] == alone.report.counts["half_width"]
    assert "numbers within" in str(found)
    assert f"{found.rows[0]['counts_half_width']:.4g}" in str(found)
    without = compared(mechanisms=dpsel.Sips())
    assert "counts_half_width" not in without.rows[0]
    assert "numbers within" not in str(without)


@pytest.mark.long("compares every mechanism three times")
def test_a_seed_makes_it_reproducible():
    # 400 items of 15 users each: about half of them are released.
    many = [(item * 15 + user, item) for item in range(400) for user in range(15)]
    one, two, other = (
        dpsel.compare(many, privacy=BUDGET, max_items_per_user=1, public_data=True, seed=seed, repeats=2)
        for seed in (1, 1, 2)
    )
    assert one.rows == two.rows
    assert one.rows != other.rows


def test_by_default_every_mechanism_with_that_guarantee():
    approx = {row["mechanism"] for row in compared().rows}
    zcdp = compared(privacy=dpsel.ZCDP(rho=0.1, delta=1e-6)).rows
    assert {"Sips(rounds=3, ratio=0.3333333333333333)", "WeightedLaplace()"} <= approx
    assert "WeightedLaplace()" not in {row["mechanism"] for row in zcdp}
    assert {row["upper_bound"] for row in zcdp} == {None}


def test_a_named_mechanism_without_the_guarantee_is_refused():
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="Laplace"):
        compared(privacy=dpsel.ZCDP(rho=0.1, delta=1e-6), mechanisms=dpsel.CountLaplace())


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"privacy": 1.0}, "privacy"),
        ({"max_items_per_user": 0}, "max_items_per_user"),
        ({"repeats": 0}, "repeats"),
    ],
)
def test_wrong_arguments_are_named(wrong, named):
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match=named):
        compared(**wrong)


def test_an_iterator_is_refused():
    with pytest.raises(dpsel.exceptions.InvalidParameterError, match="more than once"):
        dpsel.compare(iter(ROWS), privacy=BUDGET, max_items_per_user=30, public_data=True)


def test_tables_and_files(tmp_path):
    result = compared(**SEVERAL, repeats=2)
    result.write_csv(tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["items"]) for row in rows] == [row["items"] for row in result.rows]
    assert result.to_polars().height == result.to_pandas().shape[0] == len(rows)
    assert str(result).count("\n") == 1 + 8
    assert result._repr_html_().count("<tr>") == 1 + 8
    (first, *_) = result.summary()
    assert first["fewest"] <= first["items"] <= first["most"]


@pytest.mark.parametrize("fraction", [False, True])
def test_plots(tmp_path, fraction):
    pytest.importorskip("matplotlib", reason="plots are an extra")
    axes = compared(**SEVERAL).plot(tmp_path / "curves.svg", fraction=fraction)
    assert (tmp_path / "curves.svg").stat().st_size > 1000
    lines = axes.get_lines()
    assert len(lines) == 4 + (not fraction)
    assert [line.get_marker() for line in lines] == ["o"] * 4 + [""] * (not fraction)


def test_no_two_mechanisms_are_drawn_alike():
    pytest.importorskip("matplotlib", reason="plots are an extra")
    mechanisms = [dpsel.CountGaussian(), dpsel.WeightedGaussian(), *map(dpsel.Sips, range(1, 11))]
    lines = compared(mechanisms=mechanisms).plot().get_lines()
    styles = {(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines}
    assert len(lines) == len(styles) == 13


def test_every_source_counts_alike(tmp_path):
    polars = pytest.importorskip("polars", reason="a frame is one of the sources")
    frame = polars.DataFrame(ROWS, schema=["user", "item"], orient="row")
    frame.write_parquet(tmp_path / "rows.parquet")
    named = {"user": "user", "item": "item", "privacy": BUDGET, "max_items_per_user": 30, "public_data": True}
    bounds = {
        dpsel.compare(source, mechanisms=dpsel.Sips(), **named).rows[0]["upper_bound"]
        for source in (ROWS, frame, frame.to_arrow(), tmp_path / "rows.parquet")
    }
    assert len(bounds) == 1
