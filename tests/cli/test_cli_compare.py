"""``dpsel compare``: a table, CSV, JSON or a plot, from public data only."""

from __future__ import annotations

import csv
import json

import pytest


@pytest.fixture
def compare(dpsel_run, tmp_path):
    rows = tmp_path / "rows.csv"
    lines = [f"{user},{item}" for user in range(200) for item in range(user % 20)]
    rows.write_text("\n".join(["user,item", *lines, ""]))
    fixed = ("compare", str(rows), "--user", "user", "--item", "item", "--max-items-per-user", "5,20")
    return lambda *more: dpsel_run(*fixed, *more)


GRID = ("--epsilon", "0.5,2", "--delta", "1e-6", "--mechanism", "sips", "--mechanism", "weighted-laplace")


def test_private_data_is_refused_in_large_letters(compare):
    run = compare(*GRID)
    assert run.code == 2
    assert "COSTS BUDGET" in run.error


def test_the_table_has_a_line_for_every_combination(compare):
    run = compare(*GRID, "--public-data")
    assert (run.code, run.err) == (0, "")
    assert len(run.out.splitlines()) == 2 + 2 * 2 * 2


def test_csv_json_and_plot_hold_every_run(compare, tmp_path):
    pytest.importorskip("matplotlib", reason="plots are an extra")
    table, plot = tmp_path / "table.csv", tmp_path / "curves.png"
    options = ("--repeats", "3", "--seed", "4", "-o", str(table), "--plot", str(plot), "--fraction")
    run = compare(*GRID, "--public-data", "--json", *options)
    assert run.code == 0
    with table.open(newline="") as file:
        items = [int(row["items"]) for row in csv.DictReader(file)]
    assert items == [row["items"] for row in json.loads(run.out)]
    assert len(items) == 3 * 2 * 2 * 2
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--delta", "1e-6"), "--epsilon or --rho"),
        (("--epsilon", "1"), "--delta"),
        (("--epsilon", "one", "--delta", "1e-6"), "--epsilon"),
        (("--epsilon", "-1", "--delta", "1e-6"), "epsilon"),
        (("--rho", "1", "--delta", "1e-6", "--mechanism", "count-laplace"), "Laplace"),
        (("--epsilon", "1", "--delta", "1e-6", "--plot", "curves.txt"), "--plot"),
        (("--epsilon", "1", "--delta", "1e-6", "--repeats", "0"), "--repeats"),
        (("--epsilon", "1", "--delta", "1e-6", "--fraction"), "--fraction is for --plot"),
    ],
)
def test_what_does_not_apply_is_refused(compare, options, words):
    run = compare("--public-data", *options)
    assert run.code == 2
    assert words in run.error
