"""``dpsel audit``: what stands, what is refuted, and functions of others."""

from __future__ import annotations

import json

import pytest

BROKEN = "def everything(rows):\n    return {item for _, item in rows}\n"
CLAIM = ("--epsilon", "2", "--delta", "0.02", "--max-items-per-user", "3")


def test_a_mechanism_stands(dpsel_run, folder):
    run = dpsel_run("audit", "one-item", "--quick", "--report", "audit.json")
    assert (run.code, run.err) == (0, "")
    assert "every claim stands" in run.out
    findings = json.loads((folder / "audit.json").read_text())["findings"]
    assert {finding["subject"] for finding in findings} == {"one-item"}


def test_a_report_on_standard_output_is_json_alone(dpsel_run, folder):
    run = dpsel_run("audit", "OneItem", "--quick", "--report", "-")
    assert run.code == 0
    findings = json.loads(run.out)["findings"]
    assert {finding["subject"] for finding in findings} == {"one-item"}
    assert "every claim stands" in run.err
    assert list(folder.iterdir()) == []


def test_parameters_are_audited(dpsel_run):
    run = dpsel_run("audit", "greedy-frequency(calibration=published)", "--quick")
    assert run.code == 4
    assert "greedy-frequency-published" in run.out
    assert "warning: no guarantee" in run.err


def test_a_refuted_claim_has_its_own_exit_code(dpsel_run):
    run = dpsel_run("audit", "greedy-frequency-published", "--quick")
    assert run.code == 4
    assert "REFUTED" in run.out


def test_a_broken_function_is_refuted(dpsel_run, folder):
    (folder / "theirs.py").write_text(BROKEN)
    run = dpsel_run("audit", "--callable", "theirs:everything", *CLAIM, "--copies", "3")
    assert run.code == 4
    assert "theirs:everything" in run.out


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
        (("sips(rounds=x)",), "rounds of sips must be a whole number"),
        (("auto",), "no mechanism 'auto'"),
        (("--delta", "0.1"), "--delta needs --epsilon"),
        (("--copies", "3"), "--copies belongs to --callable"),
        (("sips", "--callable", "a:b"), "either mechanisms or --callable"),
        (("--callable", "json:dumps"), "--callable needs what the function claims"),
        (("--callable", "json", *CLAIM), "MODULE:FUNCTION"),
        (("--callable", "math:sqrt", *CLAIM), "the function to audit raised TypeError; it is called with"),
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
