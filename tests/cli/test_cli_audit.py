"""``dpsel audit``: what stands, what is refuted, and functions of others."""

from __future__ import annotations

import json

import pytest

BROKEN = "def everything(rows):\n    return {item for _, item in rows}\n"
CLAIM = ("--epsilon", "2", "--delta", "0.02", "--max-items-per-user", "3")


@pytest.mark.long("a whole audit")
def test_a_mechanism_stands(dpsel_run, folder):
    run = dpsel_run("audit", "one-item", "--quick", "--report", "audit.json")
    assert (run.code, run.err) == (0, "")
    assert "every claim stands" in run.out
    findings = json.loads((folder / "audit.json").read_text())["findings"]
    assert {finding["subject"] for finding in findings} == {"one-item"}


def test_a_report_on_standard_output_is_json_alone(dpsel_run, folder):
    run = dpsel_run("audit", "LaplaceTopK", "--quick", "--report", "-")
    assert run.code == 0
    findings = json.loads(run.out)["findings"]
    assert {finding["subject"] for finding in findings} == {"laplace-top-k"}
    assert "every claim stands" in run.err
    assert list(folder.iterdir()) == []


@pytest.mark.long("whole audits")
def test_parameters_are_audited_and_a_refuted_claim_has_its_own_exit_code(dpsel_run):
    run = dpsel_run("audit", "greedy-frequency(calibration=published)", "--quick")
    assert run.code == 4
    assert "greedy-frequency-published" in run.out
    assert "REFUTED" in run.out
    assert "warning: no guarantee" in run.err


def test_a_broken_function_is_refuted(dpsel_run, folder):
    (folder / "theirs.py").write_text(BROKEN)
    run = dpsel_run("audit", "--callable", "theirs:everything", *CLAIM, "--copies", "3", "--report", "a.json")
    assert run.code == 4
    assert "theirs:everything" in run.out
    (finding,) = json.loads((folder / "a.json").read_text())["findings"]
    assert finding["witness"]["replay"].startswith("from theirs import everything as function\n")
    for line in finding["witness"]["replay"].splitlines():
        assert line in run.out


def test_what_a_function_prints_is_not_in_the_report(dpsel_run, folder):
    (folder / "loud.py").write_text(BROKEN.replace("    return", "    print('debug')\n    return"))
    run = dpsel_run("audit", "--callable", "loud:everything", *CLAIM, "--report", "-")
    assert run.code == 4
    assert json.loads(run.out)["findings"]
    assert "debug" in run.err


def test_what_stands_says_what_would_have_been_seen(dpsel_run, folder):
    (folder / "mine.py").write_text("def nothing(rows):\n    return [item for _, item in rows if item < 0]\n")
    options = ("--rho", "0.5", "--delta", "0.02", "--max-items-per-user", "2", "--neighbours", "swap")
    further = ("--items", "int", "--domain", "40", "--padding", "1", "--calls", "2000")
    run = dpsel_run("audit", "--callable", "mine:nothing", *options, *further)
    assert run.code == 0
    assert "would have been seen" in run.out
    assert "rho 0.5" in run.out


@pytest.mark.long("a whole audit")
def test_the_limit_and_the_budget_are_honoured(dpsel_run):
    run = dpsel_run("audit", "count-laplace", *CLAIM)
    assert run.code == 0
    rows = [line.split() for line in run.out.splitlines() if line.startswith("count-laplace")]
    assert len(rows) == 2
    assert all("0.02" in row for row in rows)
    assert "3 items of nobody else" in run.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("siphs",), "did you mean sips?"),
        (("weeks",), "for MECHANISM: there is no mechanism 'weeks'; use one of sips"),
        (("weeks",), "beside mechanisms there are quantile, counts, series, count-series"),
        (("sips(rounds=x)",), "rounds of sips must be a whole number"),
        (("auto",), "no mechanism 'auto'"),
        (("--delta", "0.1"), "--delta needs --epsilon"),
        (("--copies", "3"), "--copies belongs to --callable"),
        (("sips", "--callable", "a:b"), "either mechanisms or --callable"),
        (("--callable", "json:dumps"), "--callable needs what the function claims"),
        (("--callable", "json", *CLAIM), "MODULE:FUNCTION"),
        (
            ("--callable", "math:sqrt", *CLAIM),
            "math:sqrt raised TypeError: must be real number, not list; this was on the table",
        ),
        (("--callable", "no_such_module:f", *CLAIM), "cannot import"),
        (("--callable", "json:no_such_name", *CLAIM), "cannot import"),
        (("--callable", "json:__name__", *CLAIM), "is not a function"),
    ],
)
def test_wrong_use_is_a_usage_error(dpsel_run, arguments, words):
    run = dpsel_run("audit", *arguments)
    assert run.code == 2
    assert words in run.error


def test_no_report_is_left_by_a_failure(dpsel_run, folder):
    run = dpsel_run("audit", "siphs", "--report", "audit.json")
    assert run.code == 2
    assert list(folder.iterdir()) == []
