"""``select_top_k`` and ``top_k_from_counts``: arguments, sources, what comes back, and what is refused."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpsel
from dpsel import _core
from dpsel.exceptions import CalibrationError, DataError, InvalidParameterError, SchemaError
from dpsel.mechanisms import top_k_mechanisms
from weak import WEAK

pytestmark = WEAK

ROOT = Path(__file__).resolve().parents[2]
KEY = bytes(range(32))
PURE, APPROX = dpsel.PureDP(epsilon=1.0), dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
ROWS = [(user, item) for user in range(400) for item in ("tea", "milk", "ale")[: 1 + user % 3]] + [(7, "gin")]
MENU = ["ale", "gin", "ink", "milk", "tea"]


def rows(**arguments):
    return dpsel.select_top_k(ROWS, insecure_test_key=KEY, **({"k": 3, "privacy": PURE} | arguments))


def counted(counts=(900, 20, 700, 0), **arguments):
    return dpsel.top_k_from_counts(counts, insecure_test_key=KEY, **({"k": 2, "privacy": PURE} | arguments))


def test_rows_with_a_domain_give_the_items_in_order() -> None:
    release = rows(domain=MENU)
    assert release.items == ["tea", "milk", "ale"]
    assert release.to_table().columns == ["item", "rank"]
    assert release.to_table().column("rank") == [1, 2, 3]


def test_a_set_is_sorted_by_its_items() -> None:
    release = rows(domain=MENU, ordered=False)
    assert release.items == ["ale", "milk", "tea"]
    assert release.to_table().columns == ["item"]
    assert release.report["request"]["mechanism"]["name"] == "joint_set"


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_tables_come_back_as_what_came_in(make) -> None:
    users, items = zip(*ROWS, strict=True)
    data = make({"who": list(users), "what": list(items)})
    release = dpsel.select_top_k(data, user="who", item="what", k=3, privacy=PURE, domain=MENU)
    assert type(release.items) is type(data)
    assert set(release.to_pylist()) == {"ale", "milk", "tea"}


def test_several_columns_and_files(tmp_path) -> None:
    path = tmp_path / "rows.parquet"
    users = [user for user in range(300) for _ in range(2)]
    pl.DataFrame({"u": users, "a": ["x", "y"] * 300, "b": [1, 2] * 300}).write_parquet(path)
    release = dpsel.select_top_k(
        path,
        user="u",
        item=["a", "b"],
        k=2,
        privacy=PURE,
        domain=[("x", 1), ("y", 2), ("z", 3)],
        ordered=False,
    )
    assert release.to_pylist() == [("x", 1), ("y", 2)]


def test_the_order_of_rows_and_of_the_domain_and_threads_do_not_matter() -> None:
    once = rows(domain=MENU, k=4)
    assert (
        once.items
        == dpsel.select_top_k(
            ROWS[::-1] + ROWS[:50], k=4, privacy=PURE, domain=MENU[::-1], insecure_test_key=KEY, threads=1
        ).items
    )
    assert once.report.to_json() == rows(domain=MENU[::-1], k=4).report.to_json()


def test_items_of_the_domain_that_nobody_holds_count_nothing() -> None:
    assert set(rows(domain=MENU, k=5).items) == set(MENU)
    assert rows(domain=[*MENU, "x", "y"], k=2, counts=dpsel.PureDP(epsilon=5.0)).items == ["tea", "milk"]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_rows_of_items_outside_of_the_list_do_not_matter(limit) -> None:
    """Users of a thousand other items used to lose the listed ones to the limit."""
    listed = [(user, drink) for user in range(60) for drink in MENU[: 1 + user % 5]]
    others = [(user, f"other {number}") for user in range(70) for number in range(200)]
    given = {
        "k": 5,
        "privacy": PURE,
        "domain": MENU,
        "ordered": False,
        "max_items_per_user": limit,
        "counts": dpsel.PureDP(epsilon=1e4),
        "insecure_test_key": KEY,
    }
    alone = dpsel.select_top_k(listed, **given)
    assert sum(alone.counts) == sum(min(limit, 1 + user % 5) for user in range(60))
    mixed = dpsel.select_top_k(others + listed, **given)
    assert (mixed.items, mixed.counts) == (alone.items, alone.counts)


def test_noisy_counts_are_near_and_in_order_of_the_items() -> None:
    release = rows(domain=MENU, counts=dpsel.PureDP(epsilon=3.0))
    assert release.to_table().columns == ["item", "rank", "count"]
    assert all(abs(got - true) < 30 for got, true in zip(release.counts, [400, 266, 133], strict=True))
    ordered = rows(domain=MENU, ordered=False, counts=dpsel.PureDP(epsilon=3.0))
    by_name = dict(zip(ordered.items, ordered.counts, strict=True))
    assert all(abs(by_name[item] - n) < 30 for item, n in (("tea", 400), ("milk", 266), ("ale", 133)))
    assert "epsilon = 3)-DP on top" in str(release)


def test_free_counts_only_where_the_proof_covers_them() -> None:
    free = {"mechanism": dpsel.LaplaceTopK(), "domain": MENU, "counts": "free"}
    assert len(rows(max_items_per_user=3, **free).counts) == 3
    assert len(rows(domain=MENU, mechanism=dpsel.Gamma(), counts="free").counts) == 3
    for arguments in ({}, {"max_items_per_user": 4}):
        with pytest.raises(InvalidParameterError, match="no noisy counts"):
            rows(**free, **arguments)
    with pytest.raises(InvalidParameterError, match="no noisy counts"):
        rows(domain=MENU, counts="free")
    assert rows(domain=MENU, mechanism=dpsel.Gamma()).counts is None


@pytest.mark.parametrize("mechanism", [dpsel.LimitDomain(), dpsel.Discover()])
def test_without_a_domain_only_items_of_many_users_come_out(mechanism) -> None:
    release = rows(privacy=APPROX, mechanism=mechanism, max_items_per_user=3)
    assert set(release.items) <= {"tea", "milk", "ale"}
    assert release.items[:2] == ["tea", "milk"]
    assert rows(privacy=APPROX, mechanism=mechanism, max_items_per_user=3, k=50).items[0] == "tea"
    none = dpsel.select_top_k([(1, "a")], k=1, privacy=APPROX, mechanism=mechanism, max_items_per_user=1)
    assert none.items == []


def test_bounded_users_contribute_that_many_items() -> None:
    many = [(user, item) for user in range(50) for item in range(20)]
    release = dpsel.select_top_k(
        many,
        k=20,
        privacy=dpsel.PureDP(epsilon=1000.0),
        domain=range(20),
        max_items_per_user=2,
        mechanism=dpsel.LaplaceTopK(),
        counts="free",
    )
    assert sum(release.counts) == 100


AUTO = [
    ({"domain": MENU}, "joint"),
    ({"domain": MENU, "ordered": False}, "joint_set"),
    ({"domain": MENU, "privacy": APPROX}, "gumbel_peel"),
    ({"domain": MENU, "privacy": dpsel.ZCDP(rho=0.1, delta=1e-9)}, "gumbel_peel"),
    ({"privacy": APPROX}, "limit_domain"),
    ({"privacy": APPROX, "max_items_per_user": 3}, "discover"),
    ({"privacy": APPROX, "max_items_per_user": 3, "ordered": False}, "discover"),
    ({"privacy": APPROX, "max_items_per_user": 3, "k": 10}, "discover"),
    ({"privacy": APPROX, "max_items_per_user": 3, "k": 11}, "select_and_count"),
    ({"privacy": APPROX, "max_items_per_user": 3, "counts": "free"}, "select_and_count"),
    ({"privacy": APPROX, "max_items_per_user": 3, "k": 11, "ordered": False}, "discover"),
    ({"privacy": APPROX, "max_items_per_user": 3, "k": 11, "counts": APPROX}, "discover"),
    ({"privacy": APPROX, "k": 11}, "limit_domain"),
]


@pytest.mark.parametrize(("arguments", "name"), AUTO)
def test_auto_decides_by_public_facts_and_says_why(arguments, name) -> None:
    report = rows(**arguments).report
    assert report["request"]["mechanism"]["name"] == name
    assert report["chosen"].startswith("auto: ")
    assert "the reason" not in dpsel.check(report).reason


def test_the_guide_has_the_table_of_auto() -> None:
    text = (ROOT / "docs/guide/top-k.md").read_text()
    assert all(f"`{cls.__name__}`" in text for cls in top_k_mechanisms().values())


REFUSED = [
    ({}, "public list of items", InvalidParameterError),
    ({"domain": MENU, "k": 6}, "k = 6, but the list has 5 distinct items", InvalidParameterError),
    ({"domain": MENU, "k": 0}, "k must be between", InvalidParameterError),
    ({"domain": MENU, "k": 2.0}, "k must be a whole number", InvalidParameterError),
    (
        {"domain": MENU, "mechanism": dpsel.LimitDomain(), "privacy": APPROX},
        "finds the items",
        InvalidParameterError,
    ),
    ({"mechanism": dpsel.LimitDomain()}, "epsilon and delta", InvalidParameterError),
    ({"mechanism": dpsel.Discover(), "privacy": APPROX}, "max_items_per_user", InvalidParameterError),
    (
        {"privacy": APPROX, "neighbours": "swap", "max_items_per_user": 3},
        "no proof for neighbours other",
        InvalidParameterError,
    ),
    ({"domain": MENU, "neighbours": "any"}, 'use neighbours="swap"', InvalidParameterError),
    ({"privacy": APPROX, "ordered": False}, "max_items_per_user", InvalidParameterError),
    ({"domain": MENU, "mechanism": dpsel.Joint(), "ordered": False}, "JointSet", InvalidParameterError),
    ({"domain": MENU, "neighbours": "other"}, "neighbours must be", InvalidParameterError),
    ({"domain": MENU, "counts": 1.0}, "counts must be", InvalidParameterError),
    ({"domain": MENU, "mechanism": "spis"}, "there is no mechanism", InvalidParameterError),
    (
        {"domain": MENU, "mechanism": dpsel.Gamma},
        r"or a top-k mechanism, got a class; write Gamma\(\)$",
        InvalidParameterError,
    ),
    *(
        (
            {"domain": MENU, "mechanism": mechanism},
            "^Steered selects items; it belongs to select_partitions$",
            InvalidParameterError,
        )
        for mechanism in (dpsel.Steered(), dpsel.Steered, "Steered")
    ),
    (
        {"domain": list(range(20_000)), "k": 10_001, "ordered": False},
        "10,000 for a set",
        InvalidParameterError,
    ),
    ({"domain": 5}, "found in rows are secret", InvalidParameterError),
    ({"domain": "tea"}, "domain must be a list", SchemaError),
    ({"domain": MENU, "privacy": dpsel.PureDP(epsilon=1e-15)}, "top-k in which one user", CalibrationError),
    ({"domain": MENU, "max_items_per_user": 0}, "max_items_per_user", InvalidParameterError),
    ({"domain": MENU, "item": "rank"}, "'rank'", InvalidParameterError),
]


@pytest.mark.parametrize(("arguments", "message", "kind"), REFUSED)
def test_refusals_say_what_and_why(arguments, message, kind) -> None:
    if "mechanism" not in arguments and "domain" not in arguments and arguments == {}:
        arguments = {"mechanism": dpsel.Joint()}
    with pytest.raises(kind, match=message):
        rows(**arguments)


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_counts_of_any_integer_type(kind) -> None:
    counts = np.array([100, 3, 90, 0], dtype=kind)
    assert set(counted(counts).items) == {0, 2}
    assert counted(counts).items == counted([100, 3, 90, 0]).items == counted(pl.Series(counts)).items
    assert counted(counts).items == counted(pa.array(counts)).items == counted(pd.Series(counts)).items
    assert counted(counts).items == counted(np.repeat(counts, 3)[::3]).items


def test_large_counts_are_counts() -> None:
    assert counted(np.array([2**62, 0, 2**61], dtype=np.uint64)).items == [0, 2]
    for counts in (np.array([2**62 + 1, 0, 1], dtype=np.uint64), np.array([2**64 - 1, 0], dtype=np.uint64)):
        with pytest.raises(DataError, match="position 0"):
            counted(counts)
    with pytest.raises(DataError, match="position 1"):
        counted([5, 2**80, 7])
    with pytest.raises(DataError, match="negative"):
        counted([5, -1], domain=10)


@pytest.mark.parametrize(
    "counts", [[1.0, 2.0], np.array([1.0, np.nan]), [True, False], ["a"], 7, pa.array([1, None])]
)
def test_what_is_no_vector_of_counts_is_refused(counts) -> None:
    with pytest.raises(SchemaError, match="whole numbers"):
        counted(counts)


def test_the_index_of_a_series_is_not_lost() -> None:
    drinks = pd.Series({"tea": 900, "gin": 20, "milk": 700})
    for lost in (drinks, pd.Series([900, 20, 700], index=[2, 1, 0]), pd.Series([1, 900, 800])[1:]):
        with pytest.raises(SchemaError, match=r"pass counts\.to_dict\(\)"):
            counted(lost)
    assert counted(drinks.to_dict()).items == ["tea", "milk"]
    assert counted(drinks, labels=["tea", "gin", "milk"]).items == ["tea", "milk"]
    assert counted(pd.Series([900, 20, 700], index=[0, 1, 2])).items == [0, 2]


def test_a_mapping_is_labels_and_counts() -> None:
    drinks = Counter({"tea": 900, "gin": 20, "milk": 700, "ink": 0})
    assert counted(drinks).items == ["tea", "milk"]
    # The keys were read as counts.
    assert counted(dict.fromkeys([10**6, 2, 3], 0) | {7: 900, 5: 800}).items == [7, 5]
    assert counted(drinks).items == counted(list(drinks.values()), labels=list(drinks)).items
    with pytest.raises(SchemaError, match="keys are the labels"):
        counted(drinks, labels=["a", "b", "c", "d"])
    for counts, labels, got in (([5, 3], ["a"], "2 counts but 1 label"), ([5], ["a", "b"], "1 count but 2")):
        with pytest.raises(SchemaError, match=f"^got {got}"):
            counted(counts, labels=labels, k=1)


@pytest.mark.parametrize("kind", [">i8", ">i4", ">u2", "<i8", "<u4"])
def test_counts_in_any_order_of_bytes(kind) -> None:
    """Large counts were read as small ones: 1 as 2^56."""
    counts = np.array([256, 1, 255, 3], dtype=kind)
    given = {"privacy": dpsel.PureDP(epsilon=100.0)}
    assert counted(counts, **given).items == [0, 2]
    assert counted(counts, labels=list("abcd"), **given).items == ["a", "c"]
    if not counts.dtype.isnative:
        with pytest.raises(SchemaError, match="whole numbers"):
            counted(memoryview(counts), **given)


@pytest.mark.parametrize(
    "counts",
    [
        np.array([[5, 3], [2, 1]]),
        np.array(5),
        pl.DataFrame({"a": [1, 2], "b": [3, 4]}),
        pd.DataFrame({"a": [1, 2]}),
        memoryview(np.array([[5, 3], [2, 1]])),
        b"counts",
        bytearray(b"counts"),
        memoryview(b"counts"),
        {5, 3, 1},
        np.ma.masked_array([5, 3, 1], mask=[0, 1, 0]),
    ],
    ids=lambda counts: type(counts).__name__,
)
@pytest.mark.parametrize("labels", [None, list("abcd")])
def test_what_has_no_one_order_of_counts_is_refused(counts, labels) -> None:
    with pytest.raises(SchemaError, match="whole numbers in one dimension"):
        counted(counts, labels=labels, k=1)


def test_sensitivity_and_neighbours_of_counts_are_enforced_and_reported() -> None:
    once, more = counted(), counted(sensitivity=10, neighbours="any")
    assert more.report["calibration"]["rate"] == pytest.approx(once.report["calibration"]["rate"] / 20)
    assert more.report["request"]["sensitivity"] == 10
    assert "`sensitivity`" in more.report["guarantee"]["neighbours"]
    assert "changes counts by at most 10 each, up or down" in str(more)
    assert "sensitivity" not in once.report["request"]
    data = json.loads(dpsel.top_k_from_counts([5, 3], k=1, privacy=PURE, sensitivity=4).report.to_json())
    assert dpsel.check(dpsel.Report(json.dumps(data))).ok
    for field, value in (("sensitivity", 3), ("sensitivity", 5), ("neighbours", "any")):
        changed = data | {"request": data["request"] | {field: value}}
        assert "rate" in dpsel.check(dpsel.Report(json.dumps(changed))).reason
    for sensitivity in (0, -1, 2**32, 1.5, True):
        with pytest.raises(InvalidParameterError, match="sensitivity"):
            counted(sensitivity=sensitivity)
    request = {
        "task": "top_k",
        "columns": {"user": "u", "items": ["i"]},
        "k": 1,
        "sensitivity": 2,
        "mechanism": {"name": "joint"},
    }
    request |= {"privacy": PURE.to_json(), "domain": {"kind": "listed"}}
    with pytest.raises(InvalidParameterError, match="leave sensitivity out"):
        _core.calibrate(json.dumps(request))


def test_zcdp_divides_between_discovery_and_ranking() -> None:
    zcdp = dpsel.ZCDP(rho=0.5, delta=1e-6)
    release = rows(privacy=zcdp, max_items_per_user=3, mechanism=dpsel.Discover(share=0.4))
    assert release.items[:2] == ["tea", "milk"]
    found = release.report["calibration"]
    alone = dpsel.select_partitions(
        ROWS, privacy=dpsel.ZCDP(rho=0.2, delta=1e-6), max_items_per_user=3, mechanism=dpsel.Sips()
    )
    expected = alone.report["calibration"]["rounds"]
    assert [each["noise"]["sigma"] for each in found["discovery"]["rounds"]] == pytest.approx(
        [each["noise"]["sigma"] for each in expected]
    )
    # The rest, 0.3, as the exponential mechanism whose rho is epsilon^2 / 8.
    assert found["rate"] == pytest.approx((8 * 0.3) ** 0.5 / 2)


@pytest.mark.parametrize(
    ("labels", "message"),
    [(["a", "b", "a", "c"], "distinct"), (["a", 1, "b", "c"], "sortable"), (["a"], "one for each")],
)
def test_labels_that_do_not_fit(labels, message) -> None:
    with pytest.raises(SchemaError, match=message):
        counted(labels=labels)


def test_all_alike_one_item_and_none() -> None:
    assert sorted(counted([0, 0, 0], k=3).items) == [0, 1, 2]
    assert counted([5], k=1).items == [0]
    with pytest.raises(InvalidParameterError, match="k = 1, but the list has 0 distinct items"):
        counted([], k=1)


def test_unseen_items_of_a_sized_domain_come_back_as_none() -> None:
    assert counted([900, 800], domain=10**9, k=2).items == [0, 1]
    assert counted([900, 800], domain=10, k=4).items == [0, 1, None, None]
    assert counted([], domain=10, k=2).items == [None, None]
    with pytest.raises(InvalidParameterError, match="at least the number of counts"):
        counted([1, 2, 3], domain=2)


def test_reports_check_and_hold_no_data() -> None:
    for arguments, _ in AUTO:
        release = dpsel.select_top_k(ROWS, **({"k": 3, "privacy": PURE} | arguments))
        assert dpsel.check(release.report).ok
        data = json.loads(release.report.to_json())
        # A mechanism that draws nothing has no rate.
        data["calibration"]["rate"] = 2 * data["calibration"].get("rate", 1.0)
        assert "rate" in dpsel.check(dpsel.Report(json.dumps(data))).reason
        assert "milk" not in release.report.to_json()
    assert not dpsel.check(rows(domain=MENU).report).ok


def test_every_mechanism_states_its_guarantee_and_has_its_page() -> None:
    for mechanism in (cls() for cls in top_k_mechanisms().values()):
        unknown = mechanism.finds_domain
        release = rows(
            mechanism=mechanism,
            privacy=APPROX if unknown else PURE,
            domain=None if unknown else MENU,
            max_items_per_user=3,
            ordered=mechanism.ordered,
        )
        stated = release.report["guarantee"]
        assert "one user" in stated["neighbours"]
        assert len((ROOT / stated["proof"]).read_text().split()) > 100
        assert type(mechanism).__name__ in repr(release)


def test_two_releases_differ_and_one_is_final() -> None:
    flat = [1] * 200
    one, two = (dpsel.top_k_from_counts(flat, k=50, privacy=PURE) for _ in range(2))
    assert one.items != two.items
    assert one.items == one.items == pickle.loads(pickle.dumps(one)).items
    assert rows(domain=MENU).items == pickle.loads(pickle.dumps(rows(domain=MENU))).items


def test_plans_of_a_top_k() -> None:
    plan = dpsel.plan_top_k(
        privacy=PURE,
        k=[10, 100],
        items=10_000,
        mechanisms=[dpsel.Joint(), dpsel.JointSet(), dpsel.PermuteFlipPeel(), dpsel.Gamma()],
    )
    by_name = {(row["mechanism"], row["k"]): row for row in plan.rows}
    assert by_name[("PermuteFlipPeel()", 100)]["rate"] == pytest.approx(0.01)
    assert by_name[("PermuteFlipPeel()", 100)]["rounds"] == 100
    assert by_name[("JointSet()", 100)]["loss_95"] < by_name[("Joint()", 100)]["loss_95"]
    assert by_name[("Gamma()", 10)]["loss_95"] is None
    assert "loss at 95%" in str(plan)
    assert json.loads(plan.to_json())["rows"] == plan.rows
    assert plan.rows[0]["counts_deviation"] is None


def test_plans_know_sensitivity_neighbours_and_the_noise_of_counts() -> None:
    def row(**given):
        plan = dpsel.plan_top_k(privacy=PURE, k=100, items=1000, **given)
        assert ("noise on counts" in str(plan)) == ("counts" in given)
        return plan.rows[0]

    assert row(neighbours="any", sensitivity=3)["rate"] == pytest.approx(row()["rate"] / 6)
    assert row(counts=PURE)["counts_deviation"] == pytest.approx(2**0.5 * 100, rel=1e-3)
    zcdp = dpsel.ZCDP(rho=0.5, delta=1e-9)
    assert row(counts=zcdp)["counts_deviation"] == pytest.approx(10, rel=1e-3)
    assert row(counts=zcdp, sensitivity=4)["counts_deviation"] == pytest.approx(40, rel=1e-3)
    assert row(counts=zcdp, max_items_per_user=4)["counts_deviation"] == pytest.approx(2, rel=1e-3)
    assert row(counts=zcdp, max_items_per_user=4, neighbours="swap")["counts_deviation"] == pytest.approx(
        8**0.5, rel=1e-3
    )


def test_the_bound_of_the_loss_holds_in_draws() -> None:
    counts = np.arange(2000)[::-1] // 3
    best = np.sort(counts)[::-1]
    for mechanism in (dpsel.Joint(), dpsel.GumbelPeel(), dpsel.PermuteFlipPeel()):
        bound = dpsel.plan_top_k(privacy=PURE, k=5, items=2000, mechanisms=mechanism).rows[0]["loss_50"]
        losses = [
            (
                best[:5]
                - counts[dpsel.top_k_from_counts(counts, k=5, privacy=PURE, mechanism=mechanism).items]
            ).max()
            for _ in range(60)
        ]
        # Each exceeds the bound with a probability of at most 1/2: 58 of 60 do with less than 1e-14.
        assert sum(loss > bound for loss in losses) < 58


NOT_LISTS = {
    "pandas": lambda: pd.DataFrame({"item": ["a", "b"], "c": [1, 2]}),
    "polars": lambda: pl.DataFrame({"item": ["a", "b"]}),
    "pyarrow": lambda: pa.table({"item": ["a", "b"]}),
    "batch": lambda: pa.RecordBatch.from_pydict({"item": ["a", "b"]}),
    "mapping": lambda: {"a": 1, "b": 2},
}


@pytest.mark.parametrize("name", NOT_LISTS)
def test_a_table_or_a_mapping_is_no_list(name) -> None:
    table = NOT_LISTS[name]()
    fix = "; give one column of a table, or the keys of a mapping as a list"
    rows = [(1, "item"), (2, "c")]
    with pytest.raises(SchemaError, match=f"domain must be a list or an array, got .*{fix}"):
        dpsel.select_top_k(rows, k=1, privacy=dpsel.PureDP(epsilon=1.0), domain=table)
    with pytest.raises(SchemaError, match=f"labels must be a list or an array, got .*{fix}"):
        dpsel.top_k_from_counts([1, 2], labels=table, k=1, privacy=dpsel.PureDP(epsilon=1.0))


def test_the_items_of_a_release_and_labelled_series_are_lists() -> None:
    rows = pa.table({"user": range(600), "item": ["a", "b"] * 300})
    given = {"user": "user", "item": "item", "k": 2, "privacy": dpsel.PureDP(epsilon=50.0), "ordered": False}
    series = pd.Series(["a", "b"], index=["columns", "column_names"])
    first = dpsel.select_top_k(rows, domain=series, **given)
    again = dpsel.select_top_k(Streamed(rows), domain=["a", "b"], **given)
    third = dpsel.select_top_k(rows, domain=again.items, **given)
    assert first.to_pylist() == again.to_pylist() == third.to_pylist() == ["a", "b"]


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
def test_numpy_times_are_no_integers(unit) -> None:
    times = np.array(["2024-01-31", "2024-02-01"], dtype=f"datetime64[{unit}]")
    column = pa.array(times)
    rows = pa.table({"user": range(600), "item": pa.concat_arrays([column] * 300)})
    release = dpsel.select_top_k(
        rows, user="user", item="item", k=1, privacy=dpsel.PureDP(epsilon=50.0), domain=times, ordered=False
    )
    assert release.items.schema.field("item").type == column.type
    assert len(release) == 1
    counted = dpsel.top_k_from_counts([900, 1], labels=times, k=1, privacy=dpsel.PureDP(epsilon=50.0))
    assert counted.items == [times[0]]


class Streamed:
    """A table of which only the Arrow protocol is known."""

    def __init__(self, rows: pa.Table) -> None:
        self.__arrow_c_stream__ = rows.__arrow_c_stream__
