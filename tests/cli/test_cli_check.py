"""``dpsel check``: a true report holds, a changed one does not."""

from __future__ import annotations

import json

import pytest
from cli_support import BUDGET, COLUMNS, KEY

pytestmark = pytest.mark.usefixtures("rows")


@pytest.fixture
def report(dpsel_run, folder):
    """The report of a release, as a file."""
    run = dpsel_run(
        "select",
        "rows.csv",
        *COLUMNS,
        *BUDGET,
        "--mechanism",
        "sips",
        "-o",
        "items.csv",
        "--report",
        "report.json",
    )
    assert run.code == 0
    return folder / "report.json"


def test_a_report_holds(dpsel_run, report):
    run = dpsel_run("check", report)
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith(f"{report}: ")


def test_a_changed_curve_is_told_by_its_names_in_the_report(dpsel_run, report):
    again = ("--mechanism", "sips(release=curve)", "-o", "items.csv", "--report", report)
    assert dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, *again).code == 0
    data = json.loads(report.read_text())
    data["calibration"]["rounds"][1]["half"] = 7
    report.write_text(json.dumps(data))
    run = dpsel_run("check", report)
    assert run.code == 4
    assert "round 2: half 7 instead of " in run.out
    assert "{" not in run.out


def test_a_report_holds_no_data(report):
    text = report.read_text()
    # The commitment is random, so is the fingerprint over it: they may contain any digits.
    read = json.loads(text)
    text = text.replace(read["key"]["commitment"], "").replace(read["fingerprint"], "")
    assert "secret" not in text
    assert "kiwi" not in text
    assert "400" not in text


def lower_threshold(data):
    data["calibration"]["rounds"][0]["threshold"] -= 1


def less_noise(data):
    noise = data["calibration"]["rounds"][0]["noise"]
    field = next(key for key, value in noise.items() if isinstance(value, int | float))
    noise[field] *= 0.5


def smaller_epsilon(data):
    data["request"]["privacy"]["epsilon"] = 0.5


def smaller_delta(data):
    data["request"]["privacy"]["delta"] = 1e-9


def larger_limit(data):
    data["request"]["max_items_per_user"] = 500


def one_round_fewer(data):
    data["calibration"]["rounds"].pop()


def other_words(data):
    data["guarantee"]["statement"] = "no attack is known"


def other_neighbours(data):
    data["guarantee"]["neighbours"] = "add or remove one row"


def other_reason(data):
    data["chosen"] = "auto: it is the best there is"


def other_column(data):
    data["request"]["columns"]["items"] = ["age"]


@pytest.mark.parametrize(
    "change",
    [
        lower_threshold,
        less_noise,
        smaller_epsilon,
        smaller_delta,
        larger_limit,
        one_round_fewer,
        other_words,
        other_neighbours,
        other_reason,
        other_column,
    ],
)
def test_a_changed_report_fails(dpsel_run, report, change):
    data = json.loads(report.read_text())
    change(data)
    report.write_text(json.dumps(data))
    run = dpsel_run("check", report)
    assert run.code == 4
    assert run.out.startswith(f"{report}: ")


def test_one_bad_report_among_good_ones_fails(dpsel_run, report, folder):
    data = json.loads(report.read_text())
    lower_threshold(data)
    (folder / "bad.json").write_text(json.dumps(data))
    run = dpsel_run("check", "report.json", "bad.json", "report.json")
    assert run.code == 4
    lines = run.out.splitlines()
    assert [line[:9] for line in lines] == ["report.js", "bad.json:", "  round 1", "report.js"]
    assert lines[1].startswith("bad.json: FAILED: the fingerprint is not")


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", "not json", '{"version": "secret"}'])
def test_what_is_no_report_is_a_data_error(dpsel_run, folder, text):
    (folder / "report.json").write_text(text)
    run = dpsel_run("check", "report.json")
    assert run.code == 3
    assert "secret" not in run.error


@pytest.mark.parametrize("text", [b"", b"not json", b"\xff"])
def test_a_file_that_is_not_json_is_said_to_be_none(dpsel_run, folder, text):
    (folder / "report.json").write_bytes(text)
    for command in (("check", "report.json"), ("card", "report.json", "-o", "card.html")):
        assert "not a dpsel report: report.json is not JSON" in dpsel_run(*command).error


def test_json_that_is_no_report_is_named(dpsel_run, folder):
    (folder / "report.json").write_text("{}")
    for command in (("check", "report.json"), ("card", "report.json", "-o", "card.html")):
        assert dpsel_run(*command).error.startswith("error: report.json: not a dpsel report: ")


def test_a_missing_report_is_a_data_error(dpsel_run):
    assert dpsel_run("check", "report.json").code == 3


def test_a_test_key_is_pointed_out(dpsel_run):
    dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, "--insecure-test-key", KEY, "--report", "report.json")
    run = dpsel_run("check", "report.json")
    assert run.code == 4
    assert "insecure_test_key" in run.out


def test_the_stamp_of_a_test_key_cannot_be_wiped_alone(dpsel_run, folder):
    dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, "--insecure-test-key", KEY, "--report", "report.json")
    path = folder / "report.json"
    data = json.loads(path.read_text())
    data["key"]["insecure_test_key"] = False
    path.write_text(json.dumps(data))
    run = dpsel_run("check", "report.json")
    assert run.code == 4
    assert "fingerprint" in run.out
