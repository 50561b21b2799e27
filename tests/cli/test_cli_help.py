"""Help that teaches, and completion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpsel
from dpsel.cli._app import COMMANDS, cli
from dpsel.cli._exit import ExitCode
from dpsel.cli.completion import SHELLS

NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_examples_and_explains_its_options(dpsel_run, name):
    run = dpsel_run(name, "--help")
    assert (run.code, run.err) == (0, "")
    assert f"dpsel {name}" in run.out.split("Example", 1)[1]
    for parameter in cli.commands[name].params:
        assert parameter.param_type_name == "argument" or parameter.help


def test_the_first_help_lists_commands_and_exit_codes(dpsel_run):
    run = dpsel_run("--help")
    flat = " ".join(run.out.split())
    assert all(name in run.out for name in NAMES)
    assert all(f" {code.value} " in flat for code in ExitCode)


def test_the_command_alone_prints_its_help_in_lines(dpsel_run):
    run = dpsel_run()
    assert run.code in {0, 2}
    lines = (run.out + run.err).splitlines()
    assert lines[0].startswith("Usage: dpsel ")
    assert any(line.lstrip().startswith("top-k ") for line in lines)
    assert "error" not in lines[0]


def test_select_teaches_how_to_choose(dpsel_run):
    text = dpsel_run("select", "--help").out
    assert "Choosing the parameters" in text
    assert all(word in text for word in ("epsilon", "delta", "max-items-per-user"))


@pytest.mark.parametrize(
    ("name", "option", "form"),
    [
        ("select", "exclude", "CSV with a header line, which has the names that --item gives"),
        ("select", "public_items", "CSV with a header line, which has the names that --item gives"),
        ("top-k", "domain", "one per line, in UTF-8, without a header line"),
    ],
)
def test_the_options_of_lists_say_their_form(name, option, form):
    (found,) = (each for each in cli.commands[name].params if each.name == option)
    assert form in found.help


def test_the_format_is_that_of_the_arguments(dpsel_run):
    text = " ".join(dpsel_run("filter", "--help").out.split())
    assert "Format of PATHS, if their names" in text
    assert "Format of PATHS, if their names" in " ".join(dpsel_run("select", "--help").out.split())


def test_the_time_of_an_audit_is_that_of_its_guide(dpsel_run):
    said = "two to four minutes"
    assert f"{said} for everything" in " ".join(dpsel_run("audit", "--help").out.split()).lower()
    guide = Path(__file__).parents[2] / "docs" / "guide" / "audit.md"
    assert f"audits every shipped mechanism, in {said}." in guide.read_text()


def test_version(dpsel_run):
    said = f"commit {dpsel.__commit__}" if dpsel.__commit__ else "commit not recorded"
    assert dpsel_run("--version").out == f"dpsel, version {dpsel.__version__} ({said})\n"


@pytest.mark.parametrize("arguments", [(), ("magic",), ("select",)])
def test_wrong_use_is_a_usage_error(dpsel_run, arguments):
    assert dpsel_run(*arguments).code == ExitCode.USAGE


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts(dpsel_run, shell):
    run = dpsel_run("completion", shell)
    assert run.code == 0
    assert f"_DPSEL_COMPLETE={shell}_complete" in run.out


def test_a_shell_gets_the_options_it_asks_for():
    environment = os.environ | {
        "_DPSEL_COMPLETE": "bash_complete",
        "COMP_WORDS": "dpsel select --max",
        "COMP_CWORD": "2",
    }
    run = subprocess.run(
        [sys.executable, "-m", "dpsel.cli"], env=environment, capture_output=True, text=True, check=False
    )
    assert "--max-items-per-user" in run.stdout
