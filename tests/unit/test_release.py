"""What comes back: items, report, texts, pickles."""

from __future__ import annotations

import copy
import json
import pickle
import sys

import pytest

import dpsel
from dpsel.exceptions import FileError, InvalidParameterError, MissingFileError, ReportError

KEY = bytes(range(32))
PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
LARGE_EPSILON = dpsel.ApproxDP(epsilon=1.6, delta=1e-6)
#: What `"auto"` chooses, as it stands in reports.
STEERED = {"name": "steered", "rounds": 30, "reach": 3}
COUNTS = {"name": "count_laplace"}
SIPS = {"name": "sips", "rounds": 3, "ratio": 0.2, "release": "curve"}


def a_look(otherwise: dict, share: float = 0.005) -> dict:
    """A look at short lists, as it stands in reports; the share is that of an epsilon of 1."""
    return {"name": "matching_or", "otherwise": otherwise, "share": share}


#: How the differences begin that a check never leaves out here.
OF_ALL = ("the fingerprint", "made with insecure_test_key", "the commitment")
SECRET = "an unselected secret"
ROWS = [(user, drink) for user in range(500) for drink in ("tea", "<milk>")] + [(7, SECRET)]


@pytest.fixture(scope="module")
def release():
    return dpsel.select_partitions(
        ROWS, privacy=PRIVACY, max_items_per_user=3, mechanism=dpsel.Sips(), insecure_test_key=KEY
    )


def test_items(release):
    assert release.items == ["<milk>", "tea"]
    assert release.items is release.items
    assert len(release) == 2
    assert release.to_table().to_pylist() == release.to_pylist() == list(release.to_table())


def test_a_table_of_items_has_places(release):
    table = release.to_table()
    assert [table[0], table[1], table[-1]] == ["<milk>", "tea", "tea"]
    assert [table[:1], table[::-1], table[5:]] == [["<milk>"], ["tea", "<milk>"], []]
    assert repr(table).splitlines() == [
        "<dpsel.ItemTable: 2 items, column item>",
        "item",
        "------",
        "<milk>",
        "tea",
    ]
    with pytest.raises(IndexError):
        table[2]
    with pytest.raises(TypeError, match=r"places, from 0 on, and slices, got str; column\(name\) returns"):
        table["item"]
    weighted = dpsel.select_partitions(ROWS, privacy=PRIVACY, max_items_per_user=3, with_weights=True)
    assert weighted.to_table()[1] == weighted.items[1]
    assert weighted.items[1][0] == "tea"
    assert repr(weighted.to_table()).startswith("<dpsel.ItemTable: 2 items, columns item, weight>\n")


def test_a_table_of_one_item_says_so():
    one = dpsel.select_partitions(
        [(user, "tea") for user in range(500)], privacy=PRIVACY, max_items_per_user=1
    )
    assert repr(one.to_table()).startswith("<dpsel.ItemTable: 1 item, column item>\n")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_library_that_is_missing_is_named_with_its_command(release, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    plan = dpsel.plan(privacy=PRIVACY, max_items_per_user=3)
    method = {"pyarrow": "to_arrow"}.get(library, f"to_{library}")
    for result in (release, release.to_table(), *([plan] if library != "pyarrow" else [])):
        with pytest.raises(ImportError) as caught:
            getattr(result, method)()
        assert str(caught.value) == f"{method}() needs {library}; install it with pip install {library}"


def test_pandas_needs_pyarrow_for_arrow_data(release, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"^to_pandas\(\) needs pyarrow; install it with pip"):
        release.to_pandas()


def test_a_library_that_lacks_something_itself_says_so(release, monkeypatch, tmp_path):
    (tmp_path / "polars.py").write_text("import nonesuch\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "polars", raising=False)
    with pytest.raises(ModuleNotFoundError, match="No module named 'nonesuch'"):
        release.to_polars()


def test_str_is_four_lines_for_a_person(release):
    first, second, third, fourth = str(release).splitlines()
    assert first.startswith("NOT PRIVATE (insecure_test_key): 2 items released by Sips(rounds=3, ratio=")
    assert second == (
        "guarantee: (epsilon = 1, delta = 1e-06)-DP for one user added or removed, 3 items per user at most"
    )
    assert third == "protected: the user in user; released: item"
    assert fourth.count("threshold") == 4


def test_without_a_test_key_the_release_is_not_stamped():
    release = dpsel.select_partitions(ROWS, privacy=PRIVACY, max_items_per_user=3)
    assert "NOT PRIVATE" not in str(release)
    assert "insecure" not in repr(release)
    assert not release.report.is_insecure


def test_a_release_without_a_guarantee_claims_and_books_none():
    with pytest.warns(dpsel.exceptions.DpselWarning, match="no guarantee"):
        mechanism = dpsel.GreedyFrequency(calibration="published")
    options = {"max_items_per_user": 3, "mechanism": mechanism}
    release = dpsel.select_partitions(ROWS, privacy=PRIVACY, **options)
    refusal = "NOT PRIVATE: no guarantee (asked for (epsilon = 1, delta = 1e-06)-DP)"
    assert str(release).splitlines()[1] == f"{refusal}, 3 items per user at most"
    assert "guarantee: " not in str(release)
    texts = (repr(release), repr(release.report), release._repr_html_())
    assert all(refusal in text for text in texts)
    assert not release.report.has_guarantee
    with pytest.raises(InvalidParameterError, match="no budget covers it"):
        _ = release.report.cost
    budget = dpsel.Budget(PRIVACY)
    with pytest.raises(InvalidParameterError, match="no budget covers"):
        dpsel.select_partitions(ROWS, privacy=budget.spend(PRIVACY), **options)
    assert budget.spent[0].report is None


def test_repr_and_html(release):
    assert repr(release).startswith("<dpsel.Release: 2 items, Sips(")
    assert "insecure_test_key: true" in repr(release)
    page = release._repr_html_()
    assert "&lt;milk&gt;" in page
    assert "<milk>" not in page
    assert "<td>tea</td>" in page


def test_html_shows_the_first_items_only():
    rows = [(user, f"item {item:02}") for user in range(300) for item in range(25)]
    arguments = {"max_items_per_user": 25, "mechanism": dpsel.Steered()}
    page = dpsel.select_partitions(rows, privacy=PRIVACY, **arguments)._repr_html_()
    assert "item 09" in page
    assert "item 10" not in page
    assert "and 15 more" in page


@pytest.mark.parametrize("again", [lambda r: pickle.loads(pickle.dumps(r)), copy.deepcopy, copy.copy])
def test_pickles_and_copies(release, again):
    other = again(release)
    assert other.items == release.items
    assert other.report.to_json() == release.report.to_json()
    assert str(other) == str(release)
    table = again(release.to_table())
    assert table.to_pylist() == release.items


def test_nothing_unselected_in_any_text_or_pickle(release):
    forms = [pickle.dumps(release), pickle.dumps(release.to_table()), str(release), repr(release)]
    forms += [release._repr_html_(), release.report.to_json(), repr(release.report), repr(release.to_table())]
    for form in forms:
        assert SECRET not in (form.decode("latin-1") if isinstance(form, bytes) else form)


def test_a_damaged_pickle_is_refused(release):
    core, _ = release.to_table().__getstate__()
    with pytest.raises(ReportError, match="pickled items are damaged"):
        type(core).from_ipc(b"nonsense", core.report.text)
    whole = core.to_ipc()
    for length in (len(whole) - 1, len(whole) - 8, len(whole) // 2):
        with pytest.raises(ReportError, match="pickled items are damaged: .* cut off"):
            type(core).from_ipc(whole[:length], core.report.text)


def test_the_report_is_a_read_only_mapping(release):
    report = release.report
    assert report["request"]["max_items_per_user"] == 3
    assert set(report) == set(json.loads(report.to_json()))
    assert len(report) == len(list(report))
    report["request"]["max_items_per_user"] = 99
    assert report["request"]["max_items_per_user"] == 3
    with pytest.raises(TypeError):
        report["request"] = {}
    assert [round_["noise"] for round_ in report.rounds] == ["gaussian"] * 3
    assert pickle.loads(pickle.dumps(report)).to_json() == report.to_json()


def test_a_chosen_mechanism_has_no_reason():
    release = dpsel.select_partitions(ROWS, privacy=PRIVACY, max_items_per_user=3, mechanism=dpsel.Sips())
    assert "chosen" not in release.report


@pytest.mark.parametrize(
    ("arguments", "noises"),
    [
        ({"privacy": PRIVACY, "with_weights": True}, {"laplace", "gaussian"}),
        ({"privacy": dpsel.ZCDP(rho=0.1, delta=1e-6), "with_weights": True}, {"gaussian"}),
    ],
    ids=["approx", "zcdp"],
)
def test_auto_with_weights_for_one_item_per_user_has_the_lowest_threshold(arguments, noises):
    release = dpsel.select_partitions(ROWS, max_items_per_user=1, **arguments)
    assert release.report.rounds[0]["noise"] in noises
    assert "one item per user" in release.report["chosen"]
    rows = dpsel.plan(
        privacy=arguments["privacy"],
        max_items_per_user=1,
        mechanisms=[dpsel.CountGaussian(), *([dpsel.CountLaplace()] if "laplace" in noises else [])],
    ).rows
    # Publishing weights takes a little of delta.
    least = min(row["threshold"] for row in rows)
    assert least <= release.report.rounds[0]["threshold"] <= least * 1.001


@pytest.mark.parametrize(
    ("limit", "arguments", "mechanism"),
    [
        (1, {}, STEERED),
        (2, {}, STEERED),
        (3, {}, STEERED),
        (4, {}, a_look(STEERED)),
        (1000, {}, a_look(STEERED)),
        (1001, {}, a_look({"name": "steered", "rounds": 30})),
        (10_000_000, {}, a_look({"name": "steered", "rounds": 30})),
        (1, {"privacy": LARGE_EPSILON}, SIPS),
        (10, {"privacy": dpsel.ApproxDP(epsilon=0.499, delta=1e-6)}, STEERED),
        (10, {"privacy": dpsel.ApproxDP(epsilon=0.5, delta=1e-6)}, a_look(STEERED, 0.0071)),
        (10, {"privacy": dpsel.ApproxDP(epsilon=3.0, delta=1e-6), "with_weights": True}, STEERED),
        (10, {"min_users": 2}, {"name": "count_gaussian"}),
        (dpsel.Quantile(0.5, most=10), {}, STEERED),
        (3, {"privacy": dpsel.ApproxDP(epsilon=3.0, delta=1e-6)}, STEERED),
        (
            1001,
            {"privacy": dpsel.ApproxDP(epsilon=10.0, delta=1e-6)},
            a_look({"name": "steered", "rounds": 30}, 0.0016),
        ),
        (20, {"privacy": dpsel.ApproxDP(epsilon=10.001, delta=1e-6)}, STEERED),
        (1, {"privacy": dpsel.ApproxDP(epsilon=10.001, delta=1e-6)}, SIPS),
        (2, {"privacy": LARGE_EPSILON}, STEERED),
        (1, {"privacy": dpsel.ApproxDP(epsilon=1.5, delta=1e-6)}, STEERED),
        (1, {"privacy": dpsel.ApproxDP(epsilon=1.501, delta=1e-6)}, SIPS),
        (1, {"privacy": dpsel.ApproxDP(epsilon=0.01, delta=1e-6)}, STEERED),
        (19, {"privacy": dpsel.ApproxDP(epsilon=19.0, delta=1e-12)}, STEERED),
        (20, {"privacy": dpsel.ApproxDP(epsilon=11.0, delta=1e-6)}, STEERED),
        (2, {"privacy": dpsel.ApproxDP(epsilon=11.0, delta=1e-6)}, STEERED),
        (1, {"with_weights": True}, COUNTS),
        (2, {"with_weights": True}, STEERED),
        (2, {"with_weights": True, "privacy": LARGE_EPSILON}, STEERED),
        (1, {"privacy": dpsel.ZCDP(rho=0.1, delta=1e-6)}, STEERED),
        (10, {"privacy": dpsel.ZCDP(rho=0.1, delta=1e-6)}, STEERED),
    ],
)
def test_auto_goes_by_public_parameters(limit, arguments, mechanism):
    release = dpsel.select_partitions(ROWS, **{"privacy": PRIVACY, "max_items_per_user": limit} | arguments)
    assert release.report["request"]["mechanism"] == mechanism
    assert release.report["chosen"].startswith("auto: ")
    assert dpsel.check(release).ok


def test_check_takes_a_release(release):
    assert dpsel.check(release) == dpsel.check(release.report)
    top = dpsel.top_k_from_counts([900, 1], k=1, privacy=dpsel.PureDP(epsilon=1.0))
    assert dpsel.check(top).ok
    with pytest.raises(InvalidParameterError, match=r"pass release\.report"):
        dpsel.check(release.report["request"])


def test_check_says_whether_a_report_holds(tmp_path):
    release = dpsel.select_partitions(ROWS, privacy=PRIVACY, max_items_per_user=3)
    path = tmp_path / "report.json"
    release.report.save(path)
    assert dpsel.check(path).ok
    assert str(dpsel.check(str(path))).startswith("ok: ")
    assert dpsel.Report.load(path).to_json().strip() == release.report.to_json()


@pytest.mark.parametrize(("number", "named"), [("threshold", "threshold"), ("sigma", "noise.sigma")])
def test_check_fails_on_other_numbers(release, number, named):
    data = json.loads(release.report.to_json())
    stage = data["calibration"]["rounds"][1]
    if number == "threshold":
        stage["threshold"] -= 1
    else:
        stage["noise"]["sigma"] *= 0.999
    result = dpsel.check(dpsel.Report(json.dumps(data)))
    assert not result.ok
    first, key, second = str(result).splitlines()
    assert first == "FAILED: the fingerprint is not the one of this report: a part of it was changed"
    assert "insecure_test_key" in key
    assert second.startswith(f"  round 2: {named} ")


def test_check_tells_the_first_of_many_differences():
    """A changed budget changes each round; a report of thirty gave a line of several thousand characters."""
    release = dpsel.select_partitions(
        ROWS, privacy=PRIVACY, max_items_per_user=3, mechanism=dpsel.Steered(), insecure_test_key=KEY
    )
    data = json.loads(release.report.to_json())
    data["request"]["privacy"]["epsilon"] *= 2
    data["key"]["commitment"] = "none"
    result = dpsel.check(dpsel.Report(json.dumps(data)))
    lines = result.reason.splitlines()
    starts = (*OF_ALL, "cost", "cost", "round 1: ", "and ")
    assert all(line.startswith(start) for line, start in zip(lines, starts, strict=True))
    assert lines[:-1] == list(result.differences[:6])
    assert lines[-1] == f"and {len(result.differences) - 6} more"
    assert len(set(result.differences)) == len(result.differences) > 10


def test_check_fails_on_a_test_key(release):
    assert str(dpsel.check(release.report)) == "FAILED: made with insecure_test_key, so nothing is private"


def test_what_is_no_report(tmp_path):
    for text in ("", "[]", "{}", '{"request": 1, "calibration": 2, "key": 3}'):
        with pytest.raises(ReportError, match="not a dpsel report"):
            dpsel.check(dpsel.Report(text))
    path = tmp_path / "report.json"
    path.write_text("user,item\n")
    with pytest.raises(ReportError, match=r"^not a dpsel report: .*report\.json is not JSON$"):
        dpsel.check(path)
    with pytest.raises(ReportError, match="^not a dpsel report: the text is not JSON$"):
        dpsel.Report("user,item\n")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ReportError, match="not UTF-8"):
        dpsel.check(path)
    with pytest.raises(FileNotFoundError, match="cannot read") as caught:
        dpsel.check(tmp_path / "none.json")
    assert isinstance(caught.value, MissingFileError)


def test_write_by_extension(release, tmp_path):
    for extension in dpsel.release.EXTENSIONS:
        path = tmp_path / f"items{extension}"
        release.write(path)
        assert path.stat().st_size > 0
        assert SECRET.encode() not in path.read_bytes()
    assert len(list(tmp_path.iterdir())) == len(dpsel.release.EXTENSIONS)
    with pytest.raises(FileError, match="format"):
        release.write(tmp_path / "items.xlsx")


def test_write_into_a_folder_that_is_not_there(release, tmp_path):
    with pytest.raises(OSError, match="cannot"):
        release.write(tmp_path / "none" / "items.csv")
    with pytest.raises(dpsel.exceptions.FileError, match="cannot"):
        release.report.save(tmp_path / "none" / "report.json")
