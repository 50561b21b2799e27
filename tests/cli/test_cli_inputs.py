"""Standard input and pipes on the command line, and errors in the words of the command line."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from cli_support import BUDGET, COLUMNS, KEY, instead

from dpsel.cli._exit import ExitCode, in_options

pytestmark = pytest.mark.usefixtures("rows")

SELECT = ("select", *COLUMNS, *BUDGET, "--insecure-test-key", KEY, "--quiet")
TOP_K = ("top-k", *COLUMNS, "--epsilon", "1", "--delta", "1e-6", "--k", "2", "--max-items-per-user", "5")
TOP_K = (*TOP_K, "--insecure-test-key", KEY, "--quiet")


def piped(content: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command with bytes on its standard input."""
    command = [sys.executable, "-m", "dpsel.cli", *arguments]
    return subprocess.run(command, input=content, capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize("command", [SELECT, TOP_K], ids=lambda command: command[0])
def test_a_dash_is_standard_input(dpsel_run, rows, command):
    expected = dpsel_run(*command, "rows.csv")
    assert expected.code == 0
    assert len(expected.out.splitlines()) > 1
    for name in ("-", "/dev/stdin"):
        run = piped(rows.read_bytes(), *command, name, "--format", "csv")
        assert (run.returncode, run.stdout.decode()) == (0, expected.out), run.stderr


def test_a_dash_needs_a_format(dpsel_run):
    for command in (SELECT, TOP_K):
        run = dpsel_run(*command, "-")
        assert run.code == ExitCode.USAGE
        assert "pass --format" in run.error


def test_a_comparison_refuses_standard_input(dpsel_run):
    arguments = ("--format", "csv", "--public-data", *COLUMNS, "--max-items-per-user", "5")
    run = dpsel_run("compare", "-", *arguments, "--epsilon", "1", "--delta", "1e-6")
    assert run.code == ExitCode.USAGE
    assert "readable more than once" in run.error


def test_errors_name_the_paths_that_were_given(dpsel_run):
    run = dpsel_run(*SELECT, "absent.csv", "rows.csv")
    assert "absent.csv" in run.error


MESSAGES = {
    "column": (("select", "rows.csv", "--user", "nobody", "--item", "item", *BUDGET), "--user"),
    "item": (("select", "rows.csv", "--user", "user", "--item", "nothing", *BUDGET), "--item"),
    "format": (("select", "rows", *COLUMNS, *BUDGET), "--format"),
    "memory": ((*SELECT, "rows.csv", "--memory-limit", "1"), "raise --memory-limit,"),
    "epsilon": (("select", "rows.csv", *COLUMNS, "--epsilon", "-1", *BUDGET[2:]), "error: --epsilon must be"),
    "weights": (
        ("select", "rows.csv", "--user", "user", "--item", "weight", "--with-weights", *BUDGET),
        "--with-weights adds",
    ),
    "k": (instead(TOP_K, "rows.csv", "--k", "0"), "error: --k must be"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_speak_of_options(dpsel_run, folder, name):
    (folder / "rows").write_text("user,item\n")
    arguments, option = MESSAGES[name]
    run = dpsel_run(*arguments)
    assert run.code != 0
    assert option in run.error
    # The parts of a form of text files are no arguments.
    assert "=" not in re.sub(r"--format 'csv\([^()]*\)'", "", run.error)
    for argument in ("max_items_per_user", "memory_limit", "file_format", "with_weights"):
        assert argument not in run.error


WRONG_FLAGS = {
    "weights without noise": (
        "select",
        *COLUMNS,
        *BUDGET,
        *("--with-weights", "--mechanism", "weighted-gaussian(release=curve)"),
    ),
    "weights of a column": ("select", "--user", "user", "--item", "weight", *BUDGET, "--with-weights"),
    "a sequence unordered": (
        *("top-k", *COLUMNS, "--epsilon", "1", "--k", "1", "--domain", "rows.csv"),
        *("--unordered", "--mechanism", "joint"),
    ),
}


@pytest.mark.parametrize("name", WRONG_FLAGS)
def test_no_advice_is_the_mistake_itself(dpsel_run, name):
    command, *more = WRONG_FLAGS[name]
    flag = "--unordered" if "--unordered" in more else "--with-weights"
    run = dpsel_run(command, "rows.csv", *more)
    assert run.code == ExitCode.USAGE
    assert f"leave {flag} out" in run.error
    assert f"set {flag}" not in run.error


def test_nothing_in_quotes_and_no_path_is_taken_for_an_argument(dpsel_run, folder):
    (folder / "user=5").mkdir()
    (folder / "user=5" / "memory_limit.csv").write_text("user,file_format\n1,2\n")
    run = dpsel_run(*SELECT, "user=5/memory_limit.csv")
    assert "user=5/memory_limit.csv has" in run.error
    options = {"user": "--user", "memory_limit": "--memory-limit"}
    for text in (
        "cannot read a/user=b/memory_limit/x: why",
        "no column 'memory_limit' in it, only 'user='",
        "the user must be somebody",
        "my-user= memory_limits",
        "sips(ratio=0.2)",
    ):
        assert in_options(text, options) == text
    said = 'make it with dpsel.CountSeries.create, open it with dpsel.Series.open, counts=0.2, levels="/"'
    assert in_options(said, {"counts": "--counts"}) == (
        "make it with dpsel count-series create, open it with dpsel series, --counts 0.2, --levels-by /"
    )
    assert in_options("user must be x; set user= to raise memory_limit", options) == (
        "--user must be x; set --user to raise --memory-limit"
    )


@pytest.mark.usefixtures("folder")
def test_errors_and_warnings_speak_of_options(dpsel_run, monkeypatch):
    delimiter, header = "--format 'csv(delimiter=)'", "--format 'csv(header=false)'"
    fix = f"another delimiter set {delimiter}, and for no such line {header}"
    assert fix in dpsel_run(*SELECT, "rows.csv", "--user", "nobody").error
    assert "give --epsilon or --rho to make" in dpsel_run("ledger", "none.jsonl").error
    monkeypatch.setattr("dpsel._scratch._file_system", lambda _: "tmpfs")
    run = dpsel_run(*SELECT, "rows.csv", "--scratch", ".", "--memory-limit", "64MiB")
    assert "warning: --scratch names a folder of the file system tmpfs" in run.err


OVERWRITING = {
    "pattern": ("logs/*.csv", ("-o", "logs/a.csv")),
    "deep pattern": ("**/a.csv", ("-o", "logs/a.csv")),
    "pattern of a link": ("logs/l*.csv", ("-o", "logs/a.csv")),
    "hidden file": ("logs/*.csv", ("-o", "logs/.hidden.csv")),
    "home": ("~/rows.csv", ("-o", "rows.csv")),
    "pattern at home": ("~/r*.csv", ("--report", "rows.csv")),
}


@pytest.mark.parametrize("command", [SELECT, TOP_K], ids=lambda command: command[0])
@pytest.mark.parametrize("name", OVERWRITING)
def test_no_input_is_overwritten_however_it_is_named(dpsel_run, folder, rows, monkeypatch, command, name):
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    (folder / "logs").mkdir()
    for place in ("logs/a.csv", "logs/.hidden.csv"):
        (folder / place).write_bytes(rows.read_bytes())
    (folder / "logs" / "link.csv").symlink_to("a.csv")
    before = {path: path.read_bytes() for path in folder.rglob("*.csv")}
    source, target = OVERWRITING[name]
    run = dpsel_run(*command, source, *target)
    assert run.code == ExitCode.USAGE
    assert "would overwrite an input file" in run.error
    assert {path: path.read_bytes() for path in folder.rglob("*.csv")} == before


def test_a_comparison_overwrites_no_input(dpsel_run, rows):
    before = rows.read_bytes()
    budget = ("--epsilon", "1", "--delta", "1e-6", "--max-items-per-user", "5")
    run = dpsel_run("compare", "r*.csv", "--public-data", *COLUMNS, *budget, "-o", "rows.csv")
    assert run.code == ExitCode.USAGE
    assert "would overwrite an input file" in run.error
    assert rows.read_bytes() == before


@pytest.mark.parametrize("target", ["-o", "--report"])
@pytest.mark.parametrize("table", ["--domain", "--prior"])
def test_no_public_table_is_overwritten(dpsel_run, folder, table, target):
    (folder / "list.csv").write_text("item,count\nkiwi,2\n")
    command = TOP_K if table == "--domain" else (*SELECT, "--mechanism", "unit-greedy")
    run = dpsel_run(*command, "rows.csv", table, "./list.csv", target, "list.csv")
    assert run.code == ExitCode.USAGE
    assert f"would overwrite the file of {table}" in run.error
    assert (folder / "list.csv").read_text() == "item,count\nkiwi,2\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [("kiwi,2\nplum,1\n", "must be a header"), ("item,count\nkiwi,2\nkiwi,1\n", "more than once")],
)
def test_a_prior_loses_no_item(dpsel_run, folder, text, words):
    (folder / "prior.csv").write_text(text)
    run = dpsel_run(*SELECT, "rows.csv", "--mechanism", "unit-greedy", "--prior", "prior.csv")
    assert run.code == ExitCode.USAGE
    assert words in run.error
