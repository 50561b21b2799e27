"""``release.shrunken_counts()``: estimates from published numbers alone, and what they are good for."""

from __future__ import annotations

import json
import random
import statistics
from itertools import pairwise

import pyarrow as pa
import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError
from dpsel.release import Report, _shrunken
from dpsel.release._shrunken import _release_probability, shrunken
from support import released, select, table

PRIVACY = dpsel.ZCDP(rho=0.1, delta=1e-5)


def report_with(scale: float) -> Report:
    """The report of a selection whose counts have this noise, nearly."""
    share = 10 / scale**2 / 0.2
    asked = dpsel.Counts(share=share, max_counted_items=10)
    made = select(
        table([]), privacy=PRIVACY, max_items_per_user=10, mechanism=dpsel.CountGaussian(), counts=asked
    )
    assert made.report.counts["scale"] == pytest.approx(scale)
    return made.report


def power_law(items: int, least: float, slope: float, seed: int) -> list[float]:
    draw = random.Random(seed)
    return [least * draw.random() ** (-1 / (slope - 1)) for _ in range(items)]


def noisy(true: list[float], scale: float, seed: int) -> list[int]:
    draw = random.Random(seed)
    return [round(number + draw.gauss(0, scale)) for number in true]


def error(numbers: list, true: list[float]) -> float:
    """The median relative error."""
    return statistics.median(abs(number - exact) / exact for number, exact in zip(numbers, true, strict=True))


@pytest.mark.parametrize("slope", [1.6, 2.2, 3.0])
@pytest.mark.parametrize("scale", [40.0, 120.0])
def test_errors_fall_where_sizes_fall_like_a_power(slope, scale) -> None:
    true = power_law(3000, 90, slope, 1)
    numbers = noisy(true, scale, 2)
    estimates = shrunken(report_with(scale), numbers, [False] * len(numbers))
    assert error(estimates, true) < 0.95 * error(numbers, true)
    ranked = sorted(range(len(true)), key=true.__getitem__)
    rare = ranked[: len(true) // 2]
    assert error([estimates[at] for at in rare], [true[at] for at in rare]) < 0.8 * error(
        [numbers[at] for at in rare], [true[at] for at in rare]
    )


def test_an_estimate_is_the_mean_of_what_has_such_a_number() -> None:
    """What Bayes promises: among items of a published number, the truth is the estimate on average."""
    scale, draw = 50.0, random.Random(5)
    report = report_with(scale)
    kept = _release_probability(report)
    true = [number for number in power_law(150_000, 10, 2.0, 3) if draw.random() < kept(number * 4)]
    assert len(true) > 10_000
    numbers = noisy(true, scale, 4)
    estimates = shrunken(report, numbers, [False] * len(numbers))
    for low in range(0, 1200, 100):
        there = [at for at, number in enumerate(numbers) if low <= number < low + 100]
        means = [statistics.fmean(values[at] for at in there) for values in (estimates, true, numbers)]
        assert abs(means[0] - means[1]) < 0.06 * means[1] + 4 * scale / len(there) ** 0.5, (low, means)


def test_estimates_ascend_with_the_numbers_and_leave_large_ones_alone() -> None:
    scale = 30.0
    numbers = [*noisy(power_law(500, 80, 2.0, 5), scale, 6), -200, 0, 10**6, 10**7]
    estimates = shrunken(report_with(scale), numbers, [False] * len(numbers))
    pairs = sorted(zip(numbers, estimates, strict=True))
    assert all(low[1] <= high[1] * (1 + 1e-3) for low, high in pairwise(pairs))
    assert all(estimate > 0 for estimate in estimates)
    assert abs(estimates[-2] - 10**6) < 1
    assert abs(estimates[-1] - 10**7) < 1


def test_they_are_the_same_each_time_and_for_any_order() -> None:
    scale, numbers = 30.0, noisy(power_law(300, 80, 2.0, 7), 30.0, 8)
    report, public = report_with(scale), [False] * 300
    first = shrunken(report, numbers, public)
    assert shrunken(report, numbers, public) == first
    assert shrunken(Report(report.to_json()), numbers[::-1], public)[::-1] == pytest.approx(first, rel=1e-12)


@pytest.mark.parametrize("numbers", [[], [120], [-50], [0, 0], [90, 10**6]], ids=str)
def test_few_numbers_have_estimates_too(numbers) -> None:
    estimates = shrunken(report_with(40.0), numbers, [False] * len(numbers))
    assert len(estimates) == len(numbers)
    assert all(estimate > 0 for estimate in estimates)


def test_public_items_keep_their_numbers_and_teach_nothing() -> None:
    scale, numbers = 30.0, noisy(power_law(300, 80, 2.0, 9), 30.0, 10)
    alone = shrunken(report_with(scale), numbers, [False] * 300)
    beside = shrunken(report_with(scale), [*numbers, -7, numbers[0]], [False] * 300 + [True, True])
    assert beside == [*alone, -7.0, float(numbers[0])]
    assert alone[0] != numbers[0]


def test_hardly_any_noise_leaves_the_numbers() -> None:
    asked = dpsel.Counts(share=0.9, max_counted_items=1)
    privacy = dpsel.ApproxDP(epsilon=30.0, delta=1e-3)
    report = select(table([]), privacy=privacy, max_items_per_user=1, counts=asked).report
    assert report.counts["scale"] < 0.5
    assert shrunken(report, [5, 9, 1000], [False] * 3) == [5.0, 9.0, 1000.0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"counts": dpsel.Counts(share=0.3, count="rows", max_rows_per_item=3)},
        {"public_items": ["item 1", "nobody's"]},
        {"mechanism": dpsel.UnitGreedy()},
        {"mechanism": dpsel.MatchingOr(dpsel.Steered())},
        {"max_items_per_user": dpsel.Quantile(0.9)},
        {"min_users": 30},
    ],
    ids=str,
)
def test_every_release_with_counts_has_them(options, tmp_path) -> None:
    rows = [(user, f"item {item}") for item in range(1, 60) for user in range(3000 // item)]
    asked = {"privacy": dpsel.ApproxDP(epsilon=2.0, delta=1e-5), "max_items_per_user": 10, "counts": 0.3}
    release = select(rows, **(asked | options))
    estimates = release.shrunken_counts()
    assert len(estimates) == len(release) > 0
    column = "rows" if "rows" in released(release).column_names else "users"
    largest = max(zip(released(release)[column].to_pylist(), estimates, strict=True))
    assert largest[1] == pytest.approx(largest[0], rel=0.1)
    release.write(tmp_path / "items.csv")
    release.report.save(tmp_path / "items.json")
    assert dpsel.Release.load(tmp_path / "items.csv").shrunken_counts() == estimates


def test_without_counts_there_is_nothing_to_shrink() -> None:
    with pytest.raises(InvalidParameterError, match="asked to, with counts="):
        select(table([(1, 1)]), privacy=PRIVACY, max_items_per_user=1).shrunken_counts()


def test_they_are_a_function_of_what_is_published() -> None:
    """Post-processing: two tables with the same numbers and reports have the same estimates."""
    rows = [(user, item) for item in range(1, 30) for user in range(2000 // item)]
    release = select(table(rows), privacy=PRIVACY, max_items_per_user=10, counts=0.3)
    numbers = pa.table(release)["users"].to_pylist()
    again = shrunken(
        Report(json.dumps(json.loads(release.report.to_json()))), numbers, [False] * len(numbers)
    )
    assert again == release.shrunken_counts()


def test_where_nothing_of_the_grid_can_come_out_estimates_are_at_its_end() -> None:
    """All users that an item can have lie beyond the grid, so the nearest point has the mass."""
    nothing = [0.0] * len(_shrunken._POINTS)
    for number in (-100.0, 0.0, 22.5, 31.9, 32.0, 39.0):
        assert _shrunken._mean(number, nothing, 3.0) == _shrunken._END
    assert _shrunken._mean(60.0, nothing, 3.0) == 60.0 - 3.0 / 60.0
