"""Published counts of a top-k: their noise covers what one user changes, whichever rows are counted."""

from __future__ import annotations

import json

import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError
from top_k_cases import CASES

ITEMS = [f"item {number}" for number in range(10)]
#: Each item has forty users of its own.
OTHERS = [(f"{item}, {number}", item) for item in ITEMS for number in range(40)]
#: So large that the noise is zero and the counts can be read.
NOTHING = dpsel.PureDP(epsilon=1e4)

FINDERS = [dpsel.LimitDomain(candidates=20), dpsel.Discover(), dpsel.Discover(ordered=False)]
LISTED = [case.mechanism for case in CASES if case.mechanism.name != "limit_domain"]


def counted(mechanism, rows, bound, neighbours="add_remove") -> tuple[dict[str, int], float]:
    """The published counts, and the most change of their sum that their noise covers."""
    finds = mechanism in FINDERS
    release = dpsel.select_top_k(
        rows,
        k=len(ITEMS),
        privacy=dpsel.ApproxDP(epsilon=50.0, delta=1e-3) if finds else dpsel.PureDP(epsilon=50.0),
        mechanism=mechanism,
        ordered=getattr(mechanism, "ordered", True),
        domain=None if finds else ITEMS,
        max_items_per_user=bound,
        neighbours=neighbours,
        counts=NOTHING,
        insecure_test_key=bytes(32),
    )
    rate = json.loads(release.report.to_json())["calibration"]["counts_rate"]
    return dict(zip(release.items, release.counts, strict=True)), NOTHING.epsilon / rate


def change(before: dict[str, int], after: dict[str, int]) -> int:
    assert before.keys() == after.keys() == set(ITEMS)
    return sum(abs(after[item] - before[item]) for item in ITEMS)


@pytest.mark.parametrize(
    ("mechanism", "bound"),
    [
        (mechanism, bound)
        for mechanism in [*LISTED, *FINDERS]
        # Discover is for users of a limited number of items only.
        for bound in [None, 1, 3, 10, 50][mechanism.needs_rows :]
    ],
    ids=str,
)
def test_a_user_of_every_item_changes_no_more_than_the_noise_covers(mechanism, bound) -> None:
    before, covered = counted(mechanism, OTHERS, bound)
    after, _ = counted(mechanism, [*OTHERS, *(("everything", item) for item in ITEMS)], bound)
    assert 0 < change(before, after) <= covered * (1 + 1e-9)
    # The noise is not larger than that either.
    assert change(before, after) == round(covered)


@pytest.mark.parametrize("bound", [None, 2, 5])
@pytest.mark.parametrize("mechanism", LISTED, ids=str)
def test_a_user_for_another_one(mechanism, bound) -> None:
    first = [*OTHERS, *(("first", item) for item in ITEMS[:5])]
    second = [*OTHERS, *(("second", item) for item in ITEMS[5:])]
    before, covered = counted(mechanism, first, bound, "swap")
    after, _ = counted(mechanism, second, bound, "swap")
    assert change(before, after) == round(covered)


@pytest.mark.parametrize("mechanism", [dpsel.Gamma(), dpsel.LaplaceTopK()], ids=str)
def test_noise_on_every_count_needs_every_count(mechanism) -> None:
    """An item that the caller left out would never be picked, so leaving it out would show."""
    arguments = {
        "k": 1,
        "privacy": dpsel.PureDP(epsilon=1.0),
        "mechanism": mechanism,
        "max_items_per_user": 1,
    }
    with pytest.raises(InvalidParameterError, match="draws noise for every item"):
        dpsel.top_k_from_counts([3, 2], domain=3, **arguments)
    assert len(dpsel.top_k_from_counts([3, 2], domain=2, **arguments).items) == 1


@pytest.mark.parametrize("bound", [None, 3])
@pytest.mark.parametrize("sensitivity", [1, 5])
@pytest.mark.parametrize("neighbours", ["add_remove", "swap", "any"])
def test_gaussian_noise_covers_the_euclidean_change(bound, sensitivity, neighbours) -> None:
    """rho is the square rate times the square of the distance; the noise is no larger than that."""
    k, rho = 8, 0.3
    release = dpsel.top_k_from_counts(
        [9] * 12,
        k=k,
        privacy=dpsel.PureDP(epsilon=1.0),
        max_items_per_user=bound,
        neighbours=neighbours,
        sensitivity=sensitivity,
        publish_counts=dpsel.ZCDP(rho=rho, delta=1e-9),
    )
    changed = k if bound is None else min(k, bound * (2 if neighbours == "swap" else 1))
    covered = release.report["calibration"]["counts_square_rate"] * changed * sensitivity**2
    assert rho * (1 - 1e-9) <= covered <= rho
    assert dpsel.check(release.report).ok
    assert f"counts: (rho = {rho}, delta = 1e-09)-zCDP on top" in str(release)


@pytest.mark.parametrize(
    "budget", [dpsel.ZCDP(rho=0.02, delta=1e-9), dpsel.ApproxDP(epsilon=1.0, delta=1e-6)]
)
def test_noise_grows_with_the_root_of_k(budget) -> None:
    """Against k / epsilon of Laplace noise; the counts drawn have the deviation that the plan says."""
    k, true = 400, 10**6
    given = {"k": k, "privacy": dpsel.PureDP(epsilon=1.0)}
    release = dpsel.top_k_from_counts([true] * k, publish_counts=budget, **given)
    planned = dpsel.plan_top_k(items=k, counts=budget, **given).rows[0]["counts_deviation"]
    squares = sum((count - true) ** 2 for count in release.counts) / planned**2
    # A chi-square of 400 degrees of freedom leaves this range with a probability below 1e-9.
    assert 235 < squares < 615
    assert planned < 0.25 * k * 2**0.5
    assert len(set(release.counts)) > 150


def test_approximate_counts_take_the_smaller_noise() -> None:
    """One count is better off with Laplace noise at the same epsilon."""
    budget = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
    for k, kind in ((1, "counts_rate"), (100, "counts_square_rate")):
        report = dpsel.top_k_from_counts(
            [5] * 200, k=k, privacy=dpsel.PureDP(epsilon=1.0), publish_counts=budget
        ).report
        assert kind in report["calibration"]
        assert dpsel.check(report).ok


@pytest.mark.parametrize("neighbours", ["add_remove", "swap", "any"])
@pytest.mark.parametrize("bound", [None, 2])
def test_laplace_noise_covers_counts_that_change_by_more(neighbours, bound) -> None:
    given = {
        "k": 6,
        "privacy": dpsel.PureDP(epsilon=1.0),
        "neighbours": neighbours,
        "max_items_per_user": bound,
    }
    rate = dpsel.top_k_from_counts(
        [9] * 12, sensitivity=7, publish_counts=dpsel.PureDP(epsilon=0.5), **given
    ).report["calibration"]["counts_rate"]
    changed = 6 if bound is None else bound * (2 if neighbours == "swap" else 1)
    assert rate == pytest.approx(0.5 / (7 * changed))
