"""Standard streams that are closed or full: refused before payment, or complete with exit code 0."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest
from cli_support import BUDGET, COLUMNS

import dpsel
from dpsel.cli import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="streams are closed by a POSIX shell")

SELECT = ["select", "rows.csv", *COLUMNS, *BUDGET, "--ledger", "spent.jsonl"]
PRINTING = {
    "plan": ["plan", "--epsilon", "1", "--delta", "1e-6", "--max-items-per-user", "1"],
    "mechanisms": ["mechanisms"],
    "ledger": ["ledger", "spent.jsonl"],
    "completion": ["completion", "bash"],
    "version": ["--version"],
}
STAYS = "the cost of this call stays spent"


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"{user},tea\n" for user in range(300))
    (tmp_path / "rows.csv").write_text("user,item\n" + rows)
    dpsel.Ledger(tmp_path / "spent.jsonl", dpsel.ApproxDP(epsilon=100.0, delta=1e-3))
    return tmp_path


def shell(folder, arguments, redirections):
    line = f'"$0" -m dpsel.cli "$@" {redirections}'
    ran = ["sh", "-c", line, sys.executable, *arguments]
    return subprocess.run(ran, cwd=folder, capture_output=True, text=True, check=False)


def spent(folder):
    return len(dpsel.Ledger(folder / "spent.jsonl").spent)


def test_items_for_a_closed_output_are_refused_before_payment(folder):
    ran = shell(folder, SELECT, ">&-")
    assert (ran.returncode, spent(folder)) == (3, 0)
    assert "standard output is closed, so the result would be lost" in ran.stderr


def test_items_for_a_reader_that_has_gone_are_refused_before_payment(folder):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "dpsel.cli", *SELECT]
    with os.fdopen(write, "wb") as pipe:
        ran = subprocess.run(command, cwd=folder, stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (ran.returncode, spent(folder)) == (141, 0)


def test_a_program_that_calls_the_command_keeps_its_streams(folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = sys.stdout, sys.stderr
    assert main([*SELECT, "-o", "items.csv"]) == 0
    assert (sys.stdout, sys.stderr) == before


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full", ">/dev/full"])
def test_items_in_a_file_need_no_streams(closed, folder):
    ran = shell(folder, [*SELECT, "-o", "items.csv", "--report", "report.json"], closed)
    assert (ran.returncode, spent(folder)) == (0, 1)
    assert (folder / "items.csv").read_text().split() == ["item", "tea"]


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full"])
def test_items_are_printed_where_nobody_reads_messages(closed, folder):
    ran = shell(folder, SELECT, closed)
    assert (ran.returncode, ran.stdout.split(), spent(folder)) == (0, ["item", "tea"], 1)


def test_a_full_output_says_that_the_cost_stays_spent(folder):
    ran = shell(folder, SELECT, ">/dev/full")
    assert (ran.returncode, spent(folder)) == (3, 1)
    assert STAYS in ran.stderr


def test_an_error_of_a_row_says_that_the_cost_stays_spent(folder):
    (folder / "rows.csv").write_text("user,item\n1,tea\n,tea\n")
    ran = shell(folder, SELECT, "")
    assert (ran.returncode, spent(folder)) == (3, 1)
    assert STAYS in ran.stderr


def test_an_error_without_a_ledger_says_nothing_of_costs(folder):
    (folder / "rows.csv").write_text("user,item\n1,tea\n,tea\n")
    assert STAYS not in shell(folder, SELECT[:-2], "").stderr


@pytest.mark.parametrize("command", PRINTING)
def test_commands_that_print_need_an_output_and_no_messages(command, folder):
    closed = shell(folder, PRINTING[command], ">&-")
    assert closed.returncode == 3
    assert "standard output is closed" in closed.stderr
    silent = shell(folder, PRINTING[command], "2>&-")
    assert silent.returncode == 0
    assert silent.stdout


def test_items_are_printed_to_a_stream_of_texts_alone(folder, monkeypatch):
    stream = io.StringIO()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert main(SELECT) == 0
    assert stream.getvalue().split() == ["item", "tea"]
