"""`SelectAndCount` is a selection with counts, sorted, and nothing besides."""

from __future__ import annotations

import json

import pytest

import dpsel
from dpsel.exceptions import CalibrationError, InvalidParameterError
from support import KEY

APPROX = dpsel.ApproxDP(epsilon=2.0, delta=1e-3)
ZCDP = dpsel.ZCDP(rho=0.3, delta=1e-3)
ROWS = [(user, f"item {item}") for user in range(900) for item in range(user % 40)]
OTHERS = [(f"{item}, {number}", f"item {item}") for item in range(6) for number in range(400)]


def picked(rows, **options) -> dpsel.TopKRelease:
    given = {"k": 8, "privacy": APPROX, "mechanism": dpsel.SelectAndCount(), "max_items_per_user": 9}
    return dpsel.select_top_k(rows, insecure_test_key=KEY, **(given | options))


@pytest.mark.parametrize("privacy", [APPROX, ZCDP], ids=str)
@pytest.mark.parametrize(("share", "most"), [(0.3, 10), (0.7, 2)])
def test_it_is_the_head_of_a_selection_with_counts(privacy, share, most) -> None:
    mechanism = dpsel.SelectAndCount(share=share, max_counted_items=most)
    selection = dpsel.select_partitions(
        ROWS,
        privacy=privacy,
        mechanism=dpsel.Steered(),
        max_items_per_user=9,
        counts=dpsel.Counts(share=share, max_counted_items=most),
        insecure_test_key=KEY,
    )
    numbers = dict(selection.items)
    best = sorted(numbers.values(), reverse=True)
    for k in (1, 8, 1000):
        release = picked(ROWS, k=k, privacy=privacy, mechanism=mechanism, counts="free")
        assert release.counts == best[:k]
        assert [numbers[item] for item in release.items] == best[:k]
        assert len(set(release.items)) == len(release.items) == min(k, len(best))
    quiet = picked(ROWS, privacy=privacy, mechanism=mechanism)
    assert quiet.counts is None
    assert quiet.items == picked(ROWS, privacy=privacy, mechanism=mechanism, counts="free").items
    found = quiet.report["calibration"]["discovery"]
    assert found == {name: selection.report["calibration"][name] for name in ("rounds", "counts")}, (
        "the share of the counts is taken from the budget"
    )


def test_a_user_of_every_item_moves_counts_by_no_more_than_the_norm() -> None:
    """The noise of an item is that of its digest, so that the difference of two releases has none."""
    for most in (1, 2, 4):
        mechanism = dpsel.SelectAndCount(max_counted_items=most)
        everything = [(f"heavy {number}", f"item {item}") for number in range(300) for item in range(6)]
        before, after = (
            picked(rows, mechanism=mechanism, k=9, counts="free") for rows in (OTHERS, OTHERS + everything)
        )
        here, there = (dict(zip(each.items, each.counts, strict=True)) for each in (before, after))
        assert here.keys() == there.keys()
        moved = [(there[item] - here[item]) / 300 for item in here]
        assert len(moved) == 6
        assert sum(each**2 for each in moved) == pytest.approx(most, rel=0.02)


def test_what_has_no_calibration_is_refused_before_any_row_is_read() -> None:
    def rows():
        pytest.fail("rows were read")
        yield

    tiny = dpsel.SelectAndCount(share=1e-12)
    with pytest.raises(CalibrationError, match="change share, raise epsilon"):
        picked(rows(), privacy=dpsel.ApproxDP(epsilon=1e-3, delta=1e-6), mechanism=tiny)
    with pytest.raises(InvalidParameterError, match="noise on top"):
        picked(rows(), counts=APPROX)


@pytest.mark.parametrize("budget", [dpsel.PureDP(epsilon=1.0), ZCDP, APPROX], ids=str)
def test_noise_on_top_is_refused(budget) -> None:
    with pytest.raises(InvalidParameterError, match='set counts="free"'):
        picked(ROWS, counts=budget)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"privacy": dpsel.PureDP(epsilon=1.0)}, "its guarantee needs a delta"),
        ({"neighbours": "swap"}, "no proof for neighbours other than"),
        ({"max_items_per_user": None}, "users must be bounded"),
        ({"domain": ["item 1", "item 2"], "k": 1}, "finds the items itself"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_it_cannot_do_is_refused(options, said) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        picked(ROWS, **options)


def test_counts_alone_are_not_enough() -> None:
    with pytest.raises(InvalidParameterError, match="SelectAndCount selects partitions, for which rows"):
        dpsel.top_k_from_counts(
            [3, 2], k=1, privacy=APPROX, mechanism=dpsel.SelectAndCount(), max_items_per_user=1
        )


def test_a_plan_has_the_noise_of_the_counts() -> None:
    mechanism = dpsel.SelectAndCount()
    plan = dpsel.plan_top_k(privacy=APPROX, k=5, items=100, mechanisms=mechanism, max_items_per_user=9)
    [row] = plan.rows
    release = picked(ROWS, counts="free")
    assert row["counts_deviation"] == release.report.counts["scale"]
    assert (row["rate"], row["rounds"]) == (None, None)
    assert "noise on counts" in str(plan)


def test_the_report_has_the_noise_and_derives_it_again() -> None:
    release = dpsel.select_top_k(
        ROWS, k=4, privacy=APPROX, mechanism=dpsel.SelectAndCount(), max_items_per_user=9, counts="free"
    )
    assert dpsel.check(release.report)
    counts = release.report.counts
    assert counts["count"] == "count"
    assert counts["paid"] == "together"
    assert counts["max_counted_items"] == 10
    assert "one more adaptive Gaussian round" in release.report["guarantee"]["counts"]
    assert f"{counts['half_width']:.4g}" in release.card().to_html()
    assert "rate" not in release.report["calibration"]
    for name, value in (("half_width", 1.0), ("max_counted_items", 11)):
        changed = json.loads(release.report.to_json())
        changed["calibration"]["discovery"]["counts"][name] = value
        found = dpsel.check(dpsel.Report(json.dumps(changed)))
        assert "the noise of the counts is not what the request calls for" in found.reason
    silent = dpsel.select_top_k(
        ROWS, k=4, privacy=APPROX, mechanism=dpsel.SelectAndCount(), max_items_per_user=9
    )
    assert silent.report.counts is None
