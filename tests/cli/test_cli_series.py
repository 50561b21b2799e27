"""``dpsel series``: weeks from the shell."""

from __future__ import annotations

import json

import pytest
from cli_support import COLUMNS, COMMON, instead, names

import dpsel

CREATE = ("--epsilon", "8", "--delta", "1e-6", "--releases", "3", "--max-items-per-user", "5")
KEY = ("--key", "series.key")


@pytest.fixture
def series(dpsel_run, rows):
    """Run a command of a series that has no release yet."""
    assert rows.exists()
    made = dpsel_run("series", "create", "folder", *KEY, *COLUMNS, *CREATE)
    assert (made.code, made.out) == (0, ""), made.err

    def run(command, *arguments):
        return dpsel_run("series", command, "folder", *arguments, *KEY)

    return run


def test_weeks_from_the_shell(series, folder, rows) -> None:
    first = series("release", rows, "--name", "W01")
    assert (first.code, first.out.split()) == (0, ["item", *COMMON])
    assert "made before" not in first.err
    assert first.err.splitlines()[0] == "2 new items in W01, release 1 of at most 3"
    assert "guarantee of all together: (epsilon = 8, delta = 1e-06)-DP" in first.err
    assert series("release", rows, "--name", "W02", "-q", "-o", "second.ndjson").out == ""
    assert (folder / "second.ndjson").read_text() == ""
    again = series("release", "--name", "W01", "--output-format", "ndjson", "-q")
    assert [json.loads(line)["item"] for line in again.out.splitlines()] == [*COMMON]
    status = series("status")
    assert status.out.startswith("2 releases made of at most 3, the last one W02\n")
    assert json.loads(series("status", "--json").out)["names"] == ["W01", "W02"]
    assert series("check").out == "ok: everything in it follows from what it promises\n"


def test_a_repeated_command_makes_nothing_twice(series, dpsel_run, folder, rows) -> None:
    series("release", rows, "--name", "W01")
    before = {name: (folder / "folder" / name).read_bytes() for name in names(folder / "folder")}
    assert dpsel_run("series", "create", "folder", *KEY, *COLUMNS, *CREATE).code == 0
    assert series("release", "nowhere.csv", "--name", "W01", "-q").out.split() == ["item", *COMMON]
    told = "this release was made before: no row was read now, and nothing was spent"
    for paths in ((), ("nowhere.csv",)):
        again = series("release", *paths, "--name", "W01", "-o", "again.csv")
        assert (again.code, told in again.err.splitlines()) == (0, True)
    assert {name: (folder / "folder" / name).read_bytes() for name in names(folder / "folder")} == before


def test_a_list_that_cannot_be_written_is_shown_later(series, folder, rows, monkeypatch) -> None:
    from dpsel.item_table import ItemTable

    def broken(*_):
        raise dpsel.exceptions.FileError("cannot write: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(ItemTable, "write", broken)
        assert "No space left" in series("release", rows, "--name", "W01", "-o", "first.csv").error
    assert series("release", "--name", "W01", "-o", "first.csv").code == 0
    assert (folder / "first.csv").read_text().split() == ["item", *COMMON]


@pytest.mark.parametrize(("users", "has"), [(("u1", "u2"), 2), (("7", "-3", "07"), 3)])
def test_users_are_forgotten(series, folder, users, has) -> None:
    (folder / "users.csv").write_text("\n".join(["user", *users]) + "\n")
    assert series("forget", "users.csv").code == 0
    assert len([name for name in names(folder / "folder") if name.startswith("forget-")]) == has
    (folder / "users.csv").write_text("\n".join(["u1", *users]) + "\n")
    refused = series("forget", "users.csv")
    assert "USERS needs a header line with the user columns of the series: user" in refused.error
    assert "u1" not in refused.error


def test_it_ends_with_a_confirmation(series, rows) -> None:
    series("release", rows, "--name", "W01")
    assert "confirm it with --forever" in series("close").error
    assert series("close", "--forever").code == 0
    assert "; closed" in series("status").out
    assert series("release", "--name", "W01", "-q").out.split() == ["item", *COMMON]
    closed = series("release", rows, "--name", "W02")
    assert closed.code == 3
    assert "is closed" in closed.error


def test_a_ledger_pays(dpsel_run, rows) -> None:
    dpsel_run("ledger", "spent.jsonl", "--epsilon", "10", "--delta", "1e-5")
    for _ in range(2):
        arguments = ("--ledger", "spent.jsonl", "--label", "drinks")
        assert dpsel_run("series", "create", "folder", *KEY, *COLUMNS, *CREATE, *arguments).code == 0
    paid = ("--name", "W01", "--ledger", "spent.jsonl", "-q")
    assert dpsel_run("series", "release", "folder", rows, *KEY, *paid).out.split() == ["item", *COMMON]
    told = json.loads(dpsel_run("ledger", "spent.jsonl", "--json").out)
    assert [entry["label"] for entry in told["entries"]] == ["drinks"]
    assert "pass --ledger" in dpsel_run("series", "status", "folder", *KEY).error


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("release", "folder", *KEY), 2, "--name"),
        (("release", "folder", "--name", "W01"), 2, "--key"),
        (("release", "folder", *KEY, "--name", "W01"), 2, "name the files to read"),
        (("release", "folder", "nowhere.csv", *KEY, "--name", "W01"), 3, "nowhere.csv"),
        (("release", "folder", "rows.csv", *KEY, "--name", "W01", "-o", "items.docx"), 2, "-o needs"),
        (("release", "folder", "rows.csv", *KEY, "--name", "W01", "-o", "rows.csv"), 2, "an input file"),
        (("release", "folder", "rows.csv", "--key", "k.csv", "--name", "a", "-o", "k.csv"), 2, "of --key"),
        (("release", "folder", "rows.csv", *KEY, "--name", "a\nb"), 2, "--name must be one line"),
        (("status", "nowhere", *KEY), 3, "there is no folder"),
        (("status", "folder", "--key", "rows.csv"), 3, "does not hold 64 hexadecimal digits"),
        (("status", "folder", "--key", "nowhere.key"), 3, "no such file"),
        (("create", "other", *KEY, *COLUMNS, *CREATE[:2], *CREATE[4:]), 2, "--delta is needed"),
        (instead(("create", "other", *KEY, *COLUMNS, *CREATE), "--releases", "0"), 2, "--releases"),
        (
            instead(("create", "folder", *KEY, *COLUMNS, *CREATE), "--releases", "9"),
            3,
            "with other parameters",
        ),
        (("create", "series.key", *KEY, *COLUMNS, *CREATE), 2, "--key"),
    ],
)
@pytest.mark.usefixtures("series")
def test_refusals(dpsel_run, folder, arguments, code, message) -> None:
    (folder / "k.csv").write_text((folder / "series.key").read_text())
    run = dpsel_run("series", *arguments)
    assert (run.code, message in run.error) == (code, True), run.err
    assert dpsel_run("series", "status", "folder", *KEY).out.startswith("0 releases made")


def test_a_card_from_the_shell(series, folder, rows) -> None:
    series("release", rows, "--name", "W01")
    assert series("card", "-o", "card.html").code == 0
    page = (folder / "card.html").read_text()
    assert "W01</th><td>2 new items" in page
    assert "1 release made of at most 3" in page
    wrong = series("card", "-o", "series.key")
    assert wrong.code != 0
    assert len((folder / "series.key").read_text().strip()) == 64


def test_what_outgrows_memory_is_refused_and_nothing_is_released(series, rows) -> None:
    refused = series("release", rows, "--name", "W01", "--memory-limit", "1000")
    assert refused.code != 0
    assert (
        "give a larger --memory-limit, or pass distinct pairs of user and item, or the rows that are new"
        in refused.err
    )
    assert series("release", rows, "--name", "W01", "--scratch", "here").code == 2
    assert json.loads(series("status", "--json").out)["made"] == 0
