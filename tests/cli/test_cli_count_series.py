"""``dpsel count-series``: numbers of weeks from the shell."""

from __future__ import annotations

import csv
import json

import pytest
from cli_support import COLUMNS, COMMON

import dpsel

CREATE = ("--epsilon", "9", "--delta", "1e-3", "--releases", "3", "--max-items-per-user", "5")
KEY = ("--key", "numbers.key")


@pytest.fixture
def numbers(dpsel_run, rows, folder):
    """Run a command of a series of numbers that has no release yet."""
    assert rows.exists()
    (folder / "named.csv").write_text("\n".join(["item", *COMMON]) + "\n")
    made = dpsel_run(
        "count-series", "create", "folder", *KEY, *COLUMNS, *CREATE, "--max-releases-per-item", "2"
    )
    assert (made.code, made.out) == (0, ""), made.err

    def run(command, *arguments):
        return dpsel_run("count-series", command, "folder", *arguments, *KEY)

    return run


def test_numbers_of_weeks_from_the_shell(numbers, folder, rows) -> None:
    first = numbers("release", rows, "--name", "W01", "--items", "named.csv")
    assert first.code == 0, first.err
    found = list(csv.DictReader(first.out.splitlines()))
    assert [row["item"] for row in found] == sorted(COMMON)
    assert all(int(row["users"]) > 0 for row in found)
    assert first.err.splitlines()[0] == f"numbers of {len(COMMON)} items in W01, release 1 of at most 3"
    assert "within" in first.err.splitlines()[1]
    assert "in up to 2 releases each" in first.err
    again = numbers("release", "--name", "W01", "-q", "-o", "again.csv")
    assert again.out == ""
    assert (folder / "again.csv").read_text() == first.out
    told = "this release was made before: no row was read now, and nothing was spent"
    assert told in numbers("release", rows, "--name", "W01").err.splitlines()
    assert told not in first.err
    assert numbers("release", rows, "--name", "W02", "-q").code == 0
    status = json.loads(numbers("status", "--json").out)
    assert (status["names"], status["counts"]["window"]) == (["W01", "W02"], 1)
    assert numbers("check").out == "ok: everything in it follows from what it promises\n"
    (folder / "users.csv").write_text("user\nu1\n")
    assert numbers("forget", "users.csv").code == 0
    assert numbers("close", "--forever").code == 0
    assert "; closed" in numbers("status").out


def test_no_single_row_sways_the_order_of_named_items(dpsel_run, folder) -> None:
    (folder / "named.csv").write_text("item\n9\n10\n")
    for name, more in (("a", ""), ("b", '{"user": 2, "item": 5}\n')):
        (folder / f"{name}.ndjson").write_text('{"user": 1, "item": null}\n' + more)
        given = (*COLUMNS, *CREATE, "--max-releases-per-item", "2")
        assert dpsel_run("count-series", "create", name, *KEY, *given).code == 0
        rows = (name, f"{name}.ndjson", "--name", "W01", "--items", "named.csv", "-o", f"{name}.out.ndjson")
        run = dpsel_run("count-series", "release", *rows, *KEY)
        assert run.code == 0, run.err
        found = [
            json.loads(line)["item"] for line in (folder / f"{name}.out.ndjson").read_text().splitlines()
        ]
        assert found == ["10", "9"]


def test_one_release_of_a_user(dpsel_run, rows, folder) -> None:
    assert rows.exists()
    made = dpsel_run(
        "count-series", "create", "folder", *KEY, *COLUMNS, *CREATE, "--unit", "user-release", "--window", "2"
    )
    assert made.code == 0
    assert "for the rows of one user in one release" in made.err
    (folder / "named.csv").write_text("item\ntea\n")
    shown = dpsel_run("count-series", "release", "folder", rows, *KEY, "--name", "a", "--items", "named.csv")
    assert "in a over 2 releases" in shown.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("release", "folder", "rows.csv", *KEY, "--name", "a"), 2, "no item was named so far"),
        (
            ("release", "folder", "rows.csv", *KEY, "--name", "a", "--items", "rows.csv"),
            2,
            "--items: rows.csv has",
        ),
        (("release", "folder", "rows.csv", *KEY, "--name", "a", "--items", "no.csv"), 2, "no.csv"),
        (
            ("release", "folder", "rows.csv", *KEY, "--name", "a", "--items", "named.csv", "-o", "named.csv"),
            2,
            "--items",
        ),
        (("create", "other", *KEY, *COLUMNS, *CREATE), 2, "--max-releases-per-item must be given"),
        (("create", "other", *KEY, *COLUMNS, *CREATE, "--unit", "week"), 2, "--unit"),
        (
            ("create", "other", *KEY, *COLUMNS, *CREATE, "--max-releases-per-item", "9"),
            2,
            "between 1 and releases",
        ),
    ],
)
@pytest.mark.usefixtures("numbers")
def test_refusals(dpsel_run, arguments, code, message) -> None:
    refused = dpsel_run("count-series", *arguments)
    assert (refused.code, refused.out) == (code, "")
    assert message in refused.error


def test_the_other_kind_is_refused(numbers, dpsel_run) -> None:
    assert numbers("status").code == 0
    refused = dpsel_run("series", "status", "folder", *KEY)
    assert refused.code == 3
    assert "is one of numbers" in refused.error
    assert dpsel.CountSeries.open("folder", key="numbers.key").status().made == 0
