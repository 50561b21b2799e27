"""A test before a commit has two seconds of processor time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import time_limit

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.long("each test starts pytest")

CONFTEST = f"""
import sys

sys.path.insert(0, {str(Path(time_limit.__file__).parent)!r})
import time_limit
from time_limit import pytest_runtest_call

time_limit.LONGEST = 0.1
"""
TEST = """
import subprocess
import sys
import time

import pytest


def busy():
    until = time.process_time() + 0.4
    while time.process_time() < until:
        pass


{}
def test_it():
    {}
"""
CHILD = "import time\nwhile time.process_time() < 0.4: pass"


@pytest.fixture
def outcomes(pytester, monkeypatch):
    """How one test ends whose marker and body are given."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("HYPOTHESIS_PROFILE", raising=False)
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers =\n    " + "\n    ".join(time_limit.LATER))

    def run(body: str, marker: str = ""):
        pytester.makepyfile(TEST.format(marker, body))
        return pytester.runpytest_subprocess("-p", "no:xdist", "-p", "no:cacheprovider")

    return run


def test_a_test_that_takes_longer_fails_with_its_time(outcomes) -> None:
    result = outcomes("busy()")
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines([r".*took 0\.[4-9] s of processor time, and .* has 0\.1 s"])


@pytest.mark.skipif(sys.platform == "win32", reason="times of child processes are not known there")
def test_its_child_processes_count(outcomes) -> None:
    outcomes(f"subprocess.run([sys.executable, '-c', {CHILD!r}], check=True)").assert_outcomes(failed=1)


def test_waiting_for_a_processor_does_not_count(outcomes) -> None:
    """As on a machine that does other things."""
    outcomes("time.sleep(0.4)").assert_outcomes(passed=1)


@pytest.mark.parametrize("marker", [time_limit.LATER[0], time_limit.LATER[-1]])
def test_what_runs_later_may_take_longer(outcomes, marker) -> None:
    outcomes("busy()", f"@pytest.mark.{marker}").assert_outcomes(passed=1)


def test_a_failure_is_its_own_reason(outcomes) -> None:
    result = outcomes("busy(); assert 1 == 2")
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*processor time*")


def test_a_planted_bug_is_not_caught_by_the_clock(outcomes, monkeypatch) -> None:
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "planted")
    outcomes("busy()").assert_outcomes(passed=1)
