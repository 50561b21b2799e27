"""No option of any command writes over a ledger, and what `dpsel ledger` writes goes where it is told."""

from __future__ import annotations

import os

import click
import pytest
from cli_support import BUDGET, COLUMNS

import dpsel
from dpsel.cli._app import every_command

TOTAL = ("--epsilon", "4", "--delta", "1e-5")
#: Names of parameters that write a file, and all others that name one.
WRITE = {"output", "report", "plot", "html", "out"}
READ = {
    "ledger",
    "file",
    "database",
    "items",
    "scratch",
    "prior",
    "exclude",
    "public_items",
    "domain",
    "path",
    "folder",
    "key",
    "users",
}


def _outputs():
    for called, command in every_command().items():
        for param in command.params:
            is_path = isinstance(param.type, click.Path) or param.metavar in {"FILE", "PAGE"}
            name = param.name
            if called in {"check", "card"} or (called in {"filter", "top", "rest"} and name == "report"):
                continue  # They read reports.
            if is_path:
                assert name in WRITE | READ, f"does {called} write {name}?"
            if name in WRITE:
                yield called, name, param.opts[-1] if isinstance(param, click.Option) else ""


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("user,item\n" + "".join(f"{user},tea\n" for user in range(300)))
    return path


def _released(rows):
    privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
    return dpsel.select_partitions(
        rows, user="user", item="item", privacy=privacy, max_items_per_user=1, counts=0.3, rest=0.1
    )


def _arguments(command, option, rows, place):
    """The arguments of a call that works, if its output is another file."""
    if command.startswith("series "):
        folder, key = rows.parent / "series", ("--key", rows.parent / "series.key")
        dpsel.Series.create(
            folder,
            key=key[1],
            privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            releases=3,
            max_items_per_user=1,
            user="user",
            item="item",
        )
        return [folder, *key] if command == "series card" else [folder, rows, *key, "--name", "a", "-q"]
    if command.startswith("count-series "):
        folder, key, items = (rows.with_name(name) for name in ("numbers", "numbers.key", "items.csv"))
        items.write_text("item\ntea\n")
        dpsel.CountSeries.create(
            folder,
            key=key,
            privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            releases=3,
            max_items_per_user=1,
            max_releases_per_item=1,
            user="user",
            item="item",
        )
        given = [] if command == "count-series card" else [rows, "--name", "a", "--items", items, "-q"]
        return [folder, *given, "--key", key]
    return {
        "select": [rows, *COLUMNS, *BUDGET, "-q"],
        "top-k": [rows, *COLUMNS, "--k", "1", "--epsilon", "1", "--delta", "1e-6", "-q"],
        "compare": [rows, *COLUMNS, *BUDGET, "--public-data", "--mechanism", "weighted-gaussian"],
        "plan": [*BUDGET],
        "plan-top-k": ["--k", "1", "--items", "10", "--epsilon", "1"],
        "audit": ["weighted-gaussian", "--quick"],
        "demo-data": [place, "--kind", "quotations"],
        "ledger": [rows.parent / "spent.csv"],
        "domains": [
            rows,
            "--user",
            "user",
            "--columns",
            "item",
            "--epsilon",
            "1",
            "--delta",
            "1e-6",
            *([] if option == "output" else ["-o", place.with_name("own.json")]),
        ],
    }[command]


NAMES = {"a link": lambda ledger, place: place.symlink_to(ledger), "itself": os.link}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("command", "option", "flag"), list(_outputs()))
def test_no_command_writes_over_a_ledger(dpsel_run, tmp_path, rows, command, option, flag, name):
    # Whatever the option demands of the name of its file.
    suffix = {"plot": ".png", "report": ".json", "html": ".html"}.get(option, ".csv")
    suffix = ".html" if command.endswith(" card") else suffix
    ledger, place = tmp_path / "spent.csv", tmp_path / f"other{suffix}"
    dpsel.Ledger(ledger, dpsel.PureDP(epsilon=1.0)).spend(dpsel.PureDP(epsilon=0.25))
    NAMES[name](ledger, place)
    before = ledger.read_bytes()
    if command in {"filter", "top", "rest"}:
        release = _released(rows)
        release.write(tmp_path / "items.csv")
        release.report.save(tmp_path / "items.json")
        more = {"filter": [rows], "top": ["-k", "1"], "rest": []}[command]
        arguments = [tmp_path / "items.csv", *more]
    else:
        arguments = _arguments(command, option, rows, place)
    done = dpsel_run(*command.split(), *map(str, arguments), *([flag, str(place)] if flag else []))
    refused = "it is a ledger, and what was spent would be forgotten; name another file"
    assert refused in done.error or "would overwrite the file of FILE" in done.error
    assert ledger.read_bytes() == before


def test_no_method_writes_over_a_ledger(tmp_path, rows):
    ledger = tmp_path / "spent.csv"
    dpsel.Ledger(ledger, dpsel.PureDP(epsilon=1.0))
    before = ledger.read_bytes()
    release = _released(rows)
    os.link(ledger, tmp_path / "spent.html")
    for write in (
        lambda: release.write(ledger),
        lambda: release.report.save(ledger),
        lambda: release.card().save(tmp_path / "spent.html"),
        lambda: release.filter_file(rows, ledger),
    ):
        with pytest.raises(dpsel.exceptions.FileError, match="it is a ledger"):
            write()
    assert ledger.read_bytes() == before


def test_a_page_goes_to_standard_output_and_nowhere_else(dpsel_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dpsel_run("ledger", "spent", *TOTAL)
    done = dpsel_run("ledger", "spent", "--html", "-")
    assert done.out.startswith("<!doctype html>")
    assert done.out.endswith("</html>\n")
    assert "both go to standard output" in dpsel_run("ledger", "spent", "--html", "-", "--json").error
    assert "there is no directory" in dpsel_run("ledger", "spent", "--html", "no/x").error
    assert [path.name for path in tmp_path.iterdir()] == ["spent"]


def test_a_label_is_one_line_on_the_command_line(dpsel_run, tmp_path, rows):
    ledger = str(tmp_path / "spent")
    dpsel_run("ledger", ledger, *TOTAL)
    done = dpsel_run("select", str(rows), *COLUMNS, *BUDGET, "-q", "--ledger", ledger, "--label", "a\nb")
    assert "--label must be one line of text" in done.error
    rows.write_text(rows.read_text().replace("item", '"it\nem"', 1))
    assert dpsel_run("select", str(rows), *COLUMNS[:3], "it\nem", *BUDGET, "-q", "--ledger", ledger).code == 0
    assert dpsel.Ledger(ledger).spent[0].label == r"'it\nem'"
