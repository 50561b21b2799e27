"""Every command with standard streams that are closed: it does all of its work, or none of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from cli_support import BUDGET, COLUMNS

import dpsel
from dpsel.cli._app import cli

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="streams are closed by a POSIX shell")

TOTAL = ["--epsilon", "9", "--delta", "1e-3"]
PLAN = ["--epsilon", "1", "--delta", "1e-6", "--max-items-per-user", "1"]
COMPARE = ["compare", "rows.csv", *COLUMNS, "--public-data", *PLAN, "--mechanism", "weighted-gaussian"]
PAID = ["rows.csv", *COLUMNS, "--ledger", "spent.jsonl"]
AUDIT = ["audit", "one-item", "--quick"]
WEEK = ["series", "release", "weeks", "rows.csv", "--key", "weeks.key", "--name", "W1"]
NUMBERS = ["count-series", "release", "numbers", *WEEK[3:], "--items", "named.csv"]
TOP_K = ["--k", "1", "--epsilon", "1", "--delta", "1e-6"]

#: Arguments of each command: those with which it prints its result, and those with which a file holds it.
PRINTING = {
    "select": ["select", *PAID, *BUDGET],
    "top-k": ["top-k", *PAID, *TOP_K],
    "plan": ["plan", *PLAN],
    "plan-top-k": ["plan-top-k", "--items", "9", "--k", "1", "--epsilon", "1", "--delta", "1e-6"],
    "plan-size": ["plan-size", "--rows", "1e6"],
    "mechanisms": ["mechanisms"],
    "compare": COMPARE,
    "check": ["check", "report.json"],
    "top": ["top", "items.csv", "--report", "report.json", "-k", "1"],
    "rest": ["rest", "items.csv", "--report", "report.json"],
    "ledger": ["ledger", "new.jsonl", *TOTAL],
    "audit": AUDIT,
    "series": WEEK,
    "count-series": NUMBERS,
    "completion": ["completion", "bash"],
}
TO_FILES = {
    "select": [*PRINTING["select"], "-o", "out.csv", "--report", "out.json"],
    "top-k": [*PRINTING["top-k"], "-o", "out.csv"],
    "plan": [*PRINTING["plan"], "--plot", "out.svg"],
    "compare": [*COMPARE, "-o", "out.csv"],
    "card": ["card", "report.json", "-o", "card.html"],
    "filter": ["filter", "items.csv", "rows.csv", "-o", "out.csv", "--report", "report.json"],
    "ledger": ["ledger", "new.jsonl", *TOTAL, "--html", "out.html"],
    "top": ["top", "items.csv", "--report", "report.json", "-k", "1", "-o", "out.csv"],
    "rest": ["rest", "items.csv", "--report", "report.json", "-o", "out.csv"],
    "domains": ["domains", "rows.csv", "--user", "user", "--columns", "item", *TOTAL, "-o", "out.json"],
    "audit": [*AUDIT, "--report", "out.json"],
    "series": [*WEEK, "-o", "out.csv"],
    "count-series": [*NUMBERS, "-o", "out.csv"],
    "demo-data": ["demo-data", "out.csv", "--kind", "text", "--users", "10"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The files that commands read."""
    folder = tmp_path_factory.mktemp("made")
    rows = [(str(user), "tea") for user in range(300)]
    (folder / "rows.csv").write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in rows))
    release = dpsel.select_partitions(
        folder / "rows.csv",
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        max_items_per_user=1,
        counts=0.3,
        rest=0.1,
    )
    release.items.write(folder / "items.csv")
    release.report.save(folder / "report.json")
    dpsel.Series.create(
        folder / "weeks",
        key=folder / "weeks.key",
        privacy=dpsel.ApproxDP(epsilon=9.0, delta=1e-3),
        releases=3,
        max_items_per_user=1,
        user="user",
        item="item",
    )
    (folder / "named.csv").write_text("item\ntea\n")
    dpsel.CountSeries.create(
        folder / "numbers",
        key=folder / "weeks.key",
        privacy=dpsel.ApproxDP(epsilon=9.0, delta=1e-3),
        releases=3,
        max_items_per_user=1,
        max_releases_per_item=1,
        user="user",
        item="item",
    )
    return folder


@pytest.fixture
def folder(made, tmp_path):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    dpsel.Ledger(tmp_path / "spent.jsonl", dpsel.ApproxDP(epsilon=100.0, delta=1e-3))
    return tmp_path


def ran(folder, arguments, redirections):
    line = f'"$0" -m dpsel.cli "$@" {redirections}'
    command = ["sh", "-c", line, sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_no_command_is_left_out() -> None:
    assert set(PRINTING) | set(TO_FILES) == set(cli.commands)
    writing = {
        name
        for name, command in cli.commands.items()
        if {"output", "out", "plot", "html"} & {param.name for param in command.params}
    }
    assert writing <= set(TO_FILES)


@pytest.mark.parametrize("command", PRINTING)
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_a_result_that_nobody_can_read_is_not_begun(command, closed, folder) -> None:
    before = files(folder)
    failed = ran(folder, PRINTING[command], closed)
    assert failed.returncode == 3
    assert files(folder) == before
    if "2>&-" not in closed:
        assert "standard output is closed, so the result would be lost" in failed.stderr


@pytest.mark.parametrize("command", PRINTING)
@pytest.mark.parametrize("closed", ["<&- 2>&-"])
def test_a_result_is_printed_where_nobody_reads_messages(command, closed, folder) -> None:
    printed = ran(folder, PRINTING[command], closed)
    assert printed.returncode == 0
    assert printed.stdout


@pytest.mark.long("starts every command twice")
@pytest.mark.parametrize("command", TO_FILES)
@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", ">/dev/full 2>/dev/full"])
def test_a_result_in_a_file_needs_no_stream(command, closed, folder) -> None:
    before = set(files(folder))
    assert ran(folder, TO_FILES[command], closed).returncode == 0
    after = files(folder)
    target = TO_FILES[command][TO_FILES[command].index("-o") + 1] if "-o" in TO_FILES[command] else None
    assert set(after) > before or command.endswith("series")
    assert all(text for name, text in after.items() if not name.endswith("lock"))
    assert target is None or target in after
    if command in ("select", "top-k"):
        assert len(dpsel.Ledger(folder / "spent.jsonl").spent) == 1
    if command == "audit":
        assert json.loads(after["out.json"])
