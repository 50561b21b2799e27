"""``--levels`` and ``--levels-by``: trees from files to files."""

from __future__ import annotations

import csv
import io

import pytest
from cli_support import BUDGET

TREE = ("--user", "user", "--item", "country", "--item", "city", "--levels", "--mechanism", "steered")


@pytest.fixture
def places(folder):
    lines = [
        "user,country,city",
        *(f"{user},no,oslo" for user in range(300)),
        *(f"{n},se," for n in range(300)),
    ]
    (folder / "places.csv").write_text("\n".join([*lines, "7,va,vatican"]) + "\n")


@pytest.mark.usefixtures("places")
def test_columns_are_levels_and_empty_fields_end_a_path(dpsel_run):
    run = dpsel_run("select", "places.csv", *TREE, *BUDGET)
    assert run.code == 0
    assert list(csv.reader(io.StringIO(run.out))) == [
        ["country", "city", "level"], ["no", "", "1"], ["no", "oslo", "2"], ["se", "", "1"],
    ]  # fmt: skip


@pytest.mark.usefixtures("places")
def test_lists_name_nodes(dpsel_run, folder):
    (folder / "no.csv").write_text("country,city\nno,\n")
    run = dpsel_run("select", "places.csv", *TREE, *BUDGET, "--exclude", "no.csv")
    assert run.out.splitlines() == ["country,city,level", "se,,1"]
    run = dpsel_run("select", "places.csv", *TREE, *BUDGET, "--public-items", "no.csv")
    assert "no,,1,true" in run.out.splitlines()


def test_paths_are_divided_by_a_text(dpsel_run, folder):
    rows = "".join(f"{user},src/main.c\n" for user in range(300))
    (folder / "paths.csv").write_text("user,path\n" + rows)
    options = ("--user", "user", "--item", "path", "--levels-by", "/", "--mechanism", "steered", *BUDGET)
    run = dpsel_run("select", "paths.csv", *options)
    assert run.out.splitlines() == ["path,level", "src,1", "src/main.c,2"]


@pytest.mark.usefixtures("places")
def test_both_options_are_refused(dpsel_run):
    run = dpsel_run("select", "places.csv", *TREE, *BUDGET, "--levels-by", "/")
    assert run.code != 0
    assert "give one of them" in run.error
