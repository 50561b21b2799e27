"""``--mechanism``: one grammar for all commands, its errors, its completion, and the list of mechanisms."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import warnings

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from dpsel.cli._app import every_command
from dpsel.cli._mechanisms import MechanismType, every_mechanism, shown_name
from dpsel.mechanisms.words import MechanismSyntaxError, described, parameters_of, parse, written

BUDGET = ("--epsilon", "1", "--delta", "1e-8", "--max-items-per-user", "10")
ANY = MechanismType("selection", "top-k")
CLASSES = list(every_mechanism().values())


def made(text):
    """Return the mechanism that a text stands for."""
    return ANY.convert(text, None, None).made()


@pytest.mark.parametrize("cls", CLASSES)
def test_every_registered_mechanism_has_three_spellings(cls):
    for spelling in (shown_name(cls), cls.name, cls.__name__):
        for text in (spelling, f"{spelling}()", f" {spelling} ( ) "):
            assert made(text) == cls()


@pytest.mark.parametrize("cls", CLASSES)
def test_a_mechanism_as_it_is_listed_is_the_one_with_the_defaults(cls):
    shown = ", ".join(str(each) for each in written(cls) if each.default is not None)
    assert made(f"{shown_name(cls)}({shown})") == cls()
    assert described(cls).keys() == parameters_of(cls).keys()


@pytest.mark.parametrize(
    ("text", "mechanism"),
    [
        ("sips(rounds=2)", dpsel.Sips(rounds=2)),
        ("Sips(ratio=1/4,rounds=5,)", dpsel.Sips(rounds=5, ratio=0.25)),
        ("sips(release=curve)", dpsel.Sips(release="curve")),
        ("sips(release='curve')", dpsel.Sips(release="curve")),
        ('weighted_gaussian(release="curve")', dpsel.WeightedGaussian(release="curve")),
        ("policy-laplace(alpha=2, passes=3)", dpsel.PolicyLaplace(alpha=2.0, passes=3)),
        ("mad(alpha=1e-1)", dpsel.Mad(alpha=0.1)),
        ("discover(share=0.25, ordered=false)", dpsel.Discover(share=0.25, ordered=False)),
        ("discover(ordered=True)", dpsel.Discover()),
        ("LimitDomain(candidates=500)", dpsel.LimitDomain(candidates=500)),
        ("steered(reach=3)", dpsel.Steered(reach=3)),
        ("auto", "auto"),
    ],
)
def test_values_have_the_types_of_the_parameters(text, mechanism):
    assert made(text) == mechanism


REFUSED = {
    "": "there is no mechanism",
    "siphs": "did you mean sips?",
    "weighted-gausian": "did you mean weighted-gaussian?",
    "magic": "use one of auto, ",
    "SIPS(rounds": "the closing parenthesis is missing",
    "sips(rounds=3": "the closing parenthesis is missing",
    "sips)": "the opening parenthesis is missing",
    "sips(rounds=(3)": "do not match",
    "sips(rounds=3))": "do not match",
    "sips(rounds=3)(3)": "something follows the closing parenthesis",
    "sips(rounds=3)+f(3)": "something follows the closing parenthesis",
    "sips(release='curve)": "do not match",
    "sips(rounds 3)": "do not match",
    "sips(3)": "every value needs the name of its parameter",
    "sips(**x)": "every value needs the name of its parameter",
    "sips(rounds=3, rounds=4)": "rounds is given twice",
    "sips(round=3)": "its parameters are rounds=3, ratio=1/3, release=noise",
    "one-item(rounds=3)": "it has none",
    "auto(rounds=3)": "auto has no parameters",
    "sips(rounds=2.5)": "rounds of sips must be a whole number, got 2.5",
    "sips(rounds=true)": "rounds of sips must be a whole number, got true",
    "sips(rounds=None)": "leave it out",
    "sips(ratio=much)": "ratio of sips must be a number, got 'much'",
    "sips(ratio=1/0)": "ratio must be a number",
    "sips(ratio=b'1')": "ratio must be a number",
    "sips(ratio=True/3)": "ratio must be a number",
    "sips(ratio=1/True)": "ratio must be a number",
    "discover(share=-True)": "share must be a number",
    f"sips(ratio={'9' * 400})": "ratio is too large for a float",
    "discover(share=1e400)": "share must be above 0 and below 1",
    "discover(share=1e400/1e400)": "share must be above 0 and below 1",
    f"sips(ratio={'9' * 400}/{'7'})": "numbers that are too large",
    "sips(rounds=f(3))": "rounds must be a number",
    "sips(release=curv)": "release of sips must be noise or curve, got 'curv'",
    "sips(release=1)": "release of sips must be noise or curve, got 1",
    "discover(ordered=1)": "ordered of discover must be true or false, got 1",
    "unit-greedy(prior=3)": "--prior FILE to dpsel select",
    "sips(rounds=0)": "rounds must be between 1 and",
    "sips(rounds=-1)": "rounds must be a whole number above 0",
    "count_laplac": "did you mean count-laplace?",
    "policy-gaussian(alpha=-1)": "alpha must be between 0 and",
    "s" * 2000: "at most 1000 characters",
    "sips(" + "(" * 900 + ")": "do not match",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_wrong_is_said(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(click.BadParameter) as caught:
            made(text)
    assert REFUSED[text] in caught.value.format_message()


@given(st.text(alphabet="sips(rounds=3,'\"/-_.) 1eE*\\\0\n", max_size=40) | st.text(max_size=40))
def test_any_text_is_a_mechanism_or_a_message(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with contextlib.suppress(MechanismSyntaxError):
            parse(text)
        for each in (text, f"sips({text})"):
            with contextlib.suppress(click.BadParameter):
                made(each)


def test_every_command_with_mechanisms_has_the_one_grammar(dpsel_run, tmp_path):
    commands = {
        command.name
        for command in every_command().values()
        if isinstance(command, click.Command)
        and any(isinstance(each.type, MechanismType) for each in command.params)
    }
    assert commands == {"select", "top-k", "plan", "plan-top-k", "compare", "audit", "mechanisms"}
    rows = tmp_path / "rows.csv"
    rows.write_text("user,item\n" + "".join(f"{user},a\n" for user in range(300)))
    columns = (str(rows), "--user", "user", "--item", "item")
    report = tmp_path / "report.json"
    run = dpsel_run("select", *columns, *BUDGET, "--mechanism", "Sips(rounds=2)", "--report", report)
    assert run.code == 0
    assert json.loads(report.read_text())["request"]["mechanism"]["rounds"] == 2
    run = dpsel_run("compare", *columns, *BUDGET, "--public-data", "--mechanism", "sips(rounds=2)")
    assert "Sips(rounds=2" in run.out
    run = dpsel_run("plan", *BUDGET, "--mechanism", "sips(rounds=2)")
    assert "Sips(rounds=2" in run.out
    top_k = ("--epsilon", "1", "--delta", "1e-6", "--k", "1")
    run = dpsel_run(
        "top-k", *columns, *top_k, "--mechanism", "limit-domain(candidates=7)", "--report", report
    )
    assert json.loads(report.read_text())["request"]["mechanism"]["candidates"] == 7
    run = dpsel_run("plan-top-k", *top_k, "--items", "9", "--mechanism", "limit_domain(candidates=7)")
    assert "LimitDomain(candidates=7)" in run.out


@pytest.mark.parametrize(
    ("arguments", "form"),
    [
        (("--rounds", "3"), "--mechanism 'sips(rounds=3)'"),
        (("--rounds=3", "--ratio", "0.5"), "--mechanism 'sips(rounds=3, ratio=0.5)'"),
        (("--mechanism", "steered", "--rounds", "3"), "--mechanism 'steered(rounds=3)'"),
        (("--mechanism", "sips(ratio=1/3)", "--rounds", "3"), "--mechanism 'sips(rounds=3)'"),
        (("--mechanism", "policy_gaussian", "--alpha", "2"), "--mechanism 'policy-gaussian(alpha=2)'"),
        (("--calibration", "published"), "--mechanism 'greedy-frequency(calibration=published)'"),
        (("--release", "curve"), "--mechanism 'sips(release=curve)'"),
        (("--passes",), "--mechanism 'policy-laplace(passes=VALUE)'"),
    ],
)
def test_an_option_that_became_a_parameter_names_its_new_form(dpsel_run, arguments, form):
    for command in (("select", "rows.csv"), ("plan",)):
        run = dpsel_run(*command, *BUDGET, *arguments)
        assert run.code == 2
        assert f"is a parameter of a mechanism now; use {form}" in run.error


def test_any_other_unknown_option_is_unknown(dpsel_run):
    assert "--colour" in dpsel_run("plan", *BUDGET, "--colour").error


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("", {"auto", "sips", "sips(", "one-item"}),
        ("policy-g", {"policy-gaussian", "policy-gaussian("}),
        ("weighted_g", {"weighted_gaussian", "weighted_gaussian("}),
        ("'sips(", {"sips(rounds=", "sips(ratio=", "sips(release="}),
        ("'sips(ra", {"sips(ratio="}),
        ("'sips(rounds=3,ra", {"sips(rounds=3,ratio="}),
        ("'sips(release=", {"sips(release=noise", "sips(release=curve"}),
        ("'sips(rounds=3,release=c", {"sips(rounds=3,release=curve"}),
        ("'magic(", set()),
        ("'one-item(", set()),
    ],
)
def test_completion_offers_names_and_parameters(typed, expected):
    environment = os.environ | {
        "_DPSEL_COMPLETE": "bash_complete",
        "COMP_WORDS": f"dpsel select --mechanism {typed}",
        "COMP_CWORD": "3",
    }
    run = subprocess.run(
        [sys.executable, "-m", "dpsel.cli"], env=environment, capture_output=True, text=True, check=False
    )
    offered = {line.partition(",")[2] for line in run.stdout.splitlines() if line}
    assert offered >= expected if typed == "" else offered == expected


def test_the_list_has_every_mechanism_with_what_it_takes(dpsel_run):
    run = dpsel_run("mechanisms")
    assert (run.code, run.err) == (0, "")
    heads = [entry.splitlines()[0] for entry in run.out.split("\n\n")]
    assert [head.partition("(")[0] for head in heads] == list(every_mechanism())
    assert "sips(rounds=3, ratio=1/3, release=noise)" in heads
    assert "`" not in run.out
    one = dpsel_run("mechanisms", "Sips").out
    assert one.startswith("sips(rounds=3")
    assert all(word in one for word in ("guarantee", "weights", "/algorithms/sips/", "Number of rounds"))


@pytest.mark.parametrize("command", ["select", "plan", "compare", "top-k", "plan-top-k"])
def test_the_help_names_every_mechanism_of_the_command(dpsel_run, command):
    text = "".join(dpsel_run(command, "--help").out.split())
    kind = "top-k" if "top-k" in command else "selection"
    assert all(f"{name}," in text or f"{name};" in text for name in MechanismType(kind).named)
