"""``dpsel top-k`` on files."""

from __future__ import annotations

import csv
import io
import json

import pytest

KEY = bytes(range(32)).hex()


@pytest.fixture
def sales(folder):
    rows = [(user, item) for user in range(300) for item in ("tea", "milk", "ale")[: 1 + user % 3]]
    path = folder / "sales.csv"
    path.write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in rows))
    (folder / "menu.txt").write_text("ale\ngin\nmilk\ntea\n")
    return path


def arguments(path, *more):
    return ("top-k", str(path), "--user", "user", "--item", "item", *more)


def test_a_domain_needs_no_delta(dpsel_run, folder, sales) -> None:
    report = folder / "report.json"
    run = dpsel_run(
        *arguments(sales, "--k", "2", "--epsilon", "1", "--domain", str(folder / "menu.txt")),
        *("--counts-epsilon", "2", "--report", str(report), "--insecure-test-key", KEY),
    )
    assert run.code == 0, run.err
    lines = list(csv.DictReader(io.StringIO(run.out)))
    assert [line["item"] for line in lines] == ["tea", "milk"]
    assert [line["rank"] for line in lines] == ["1", "2"]
    assert abs(int(lines[0]["count"]) - 300) < 50
    assert "picked by Joint()" in run.err
    assert json.loads(report.read_text())["request"]["k"] == 2


def test_reports_can_be_checked(dpsel_run, folder, sales) -> None:
    report = folder / "report.json"
    more = (
        "--k",
        "2",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--report",
        str(report),
        "-o",
        str(folder / "top.parquet"),
    )
    assert dpsel_run(*arguments(sales, *more)).code == 0
    run = dpsel_run("check", str(report))
    assert run.code == 0, run.err


def test_the_summary_has_the_limit_if_there_is_one(dpsel_run, sales) -> None:
    budget = ("--k", "2", "--epsilon", "1", "--delta", "1e-6")
    for limit, words in (("50", "50 items"), ("1", "1 item")):
        run = dpsel_run(*arguments(sales, *budget, "--max-items-per-user", limit))
        assert f"-DP for one user added or removed, {words} per user at most\n" in run.err
    assert "-DP for one user added or removed\n" in dpsel_run(*arguments(sales, *budget)).err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--k", "2", "--epsilon", "1"), "which needs --delta; give --delta or --domain"),
        (
            ("--k", "2", "--epsilon", "1", "--domain", "menu.txt", "--counts-epsilon", "-1"),
            "--counts-epsilon must",
        ),
        (
            (
                "--k",
                "2",
                "--epsilon",
                "1",
                "--domain",
                "menu.txt",
                "--counts-rho",
                "1",
                "--counts-delta",
                "2",
            ),
            "--counts-delta must",
        ),
        (("--k", "2"), "either --epsilon or --rho"),
        (("--k", "2", "--rho", "1"), "--rho needs --delta"),
        (("--k", "2", "--epsilon", "1", "--counts-rho", "1"), "--counts-rho needs --counts-delta"),
        (("--k", "2", "--epsilon", "1", "--counts-delta", "1e-9"), "either --counts-epsilon or --counts-rho"),
        (("--k", "9", "--epsilon", "1", "--domain", "menu.txt"), "k = 9, but the list has"),
        (
            ("--k", "2", "--epsilon", "1", "--domain", "menu.txt", "--mechanism", "joint", "--unordered"),
            "JointSet",
        ),
    ],
)
def test_refusals(dpsel_run, folder, sales, more, message) -> None:
    run = dpsel_run(*arguments(sales, *(str(folder / each) if each == "menu.txt" else each for each in more)))
    assert run.code != 0
    assert message in run.err


def test_a_plan_has_a_row_for_every_k_and_mechanism(dpsel_run) -> None:
    run = dpsel_run(
        *("plan-top-k", "--epsilon", "1", "--k", "10,100", "--items", "5000", "--json"),
        *("--mechanism", "joint", "--mechanism", "permute-flip-peel"),
    )
    rows = json.loads(run.out)["rows"]
    assert [row["k"] for row in rows] == [10, 10, 100, 100]
    assert rows[0]["loss_95"] < rows[2]["loss_95"]
    assert "Joint()" in dpsel_run("plan-top-k", "--epsilon", "1", "--k", "10", "--items", "5000").out


def test_a_domain_of_numbers_in_a_text_file(dpsel_run, folder) -> None:
    """A file of lines is text; beside a column of integers it used to name none of them, without a word."""
    path, menu = folder / "numbers.ndjson", folder / "numbers.txt"
    path.write_text("".join(f'{{"user": {user}, "item": 12}}\n' for user in range(300)))
    menu.write_text("".join(f"{number}\n" for number in range(1000)))
    more = ("--k", "1", "--epsilon", "5", "--domain", str(menu))
    run = dpsel_run(*arguments(path, *more))
    assert run.code == 0, run.err
    assert run.out.splitlines()[1].startswith("12,")
    menu.write_text("12\ntwelve\n")
    run = dpsel_run(*arguments(path, *more))
    assert run.code != 0
    assert "has an item at position 1 that column 'item' of the data, which has integers" in run.err
    assert "twelve" not in run.err


def test_lines_of_a_domain_end_with_line_feeds_only(dpsel_run, folder) -> None:
    """A byte order mark is no part of the first item, and other separators of Unicode are parts of theirs."""
    items = ["first", "a\u2028b", "c\x0bd\x0ce", "f\x85g", " h "]
    path, menu = folder / "lines.ndjson", folder / "lines.txt"
    rows = [{"user": user, "item": item} for user in range(300) for item in items]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    others = [f"other {number}" for number in range(500)]
    for end in ("\n", "\r\n"):
        menu.write_bytes(("\ufeff" + end.join([*items, "", *others]) + end).encode())
        more = (
            "--k",
            "5",
            "--epsilon",
            "9",
            "--domain",
            str(menu),
            "--unordered",
            "--output-format",
            "ndjson",
        )
        run = dpsel_run(*arguments(path, *more))
        assert run.code == 0, run.err
        assert [json.loads(line)["item"] for line in run.out.split("\n") if line] == sorted(items)


def test_blanks_around_an_item_of_a_domain_are_pointed_out(dpsel_run, folder, sales) -> None:
    menu = folder / "blanks.txt"
    menu.write_text("milk\ntea \n\nale\n")
    run = dpsel_run(*arguments(sales, "--k", "1", "--epsilon", "1", "--domain", str(menu)))
    assert run.code == 0
    assert "line 2 starts or ends with a blank" in run.err
    assert "'tea" not in run.err


@pytest.mark.parametrize("header", ["item", '"item"', "\ufeffitem\r"])
def test_a_header_line_is_no_item_of_a_domain(dpsel_run, folder, sales, header) -> None:
    menu = folder / "header.txt"
    menu.write_text(f"{header}\nmilk\ntea\n", encoding="utf-8", newline="")
    run = dpsel_run(*arguments(sales, "--k", "1", "--epsilon", "1", "--domain", str(menu)))
    assert run.code == 2
    assert f"--domain {menu}: line 1 is the name of the item column" in run.err
    menu.write_text("milk\ntea\nitem\n")
    assert dpsel_run(*arguments(sales, "--k", "1", "--epsilon", "1", "--domain", str(menu))).code == 0


def test_a_domain_of_several_columns_says_what_to_do(dpsel_run, folder, sales) -> None:
    menu = ("--domain", str(folder / "menu.txt"))
    run = dpsel_run(*arguments(sales, "--item", "other", "--k", "1", "--epsilon", "1", *menu))
    assert run.code == 2
    assert "leave --domain out and give --delta" in run.err


def test_unordered_is_a_parameter_of_discover(dpsel_run, folder, sales) -> None:
    report = folder / "report.json"
    budget = ("--k", "1", "--epsilon", "9", "--delta", "1e-3", "--max-items-per-user", "3")
    for more in (("--mechanism", "discover", "--unordered"), ("--mechanism", "discover(ordered=false)")):
        assert dpsel_run(*arguments(sales, *budget, *more, "--report", str(report))).code == 0
        assert json.loads(report.read_text())["request"]["mechanism"]["ordered"] is False
    run = dpsel_run(*arguments(sales, *budget, "--mechanism", "discover(ordered=true)", "--unordered"))
    assert run.code == 2


def test_a_domain_that_is_no_text_is_refused(dpsel_run, folder, sales) -> None:
    menu = folder / "odd.txt"
    menu.write_bytes(b"tea\n\xff\xfe\n")
    run = dpsel_run(*arguments(sales, "--k", "1", "--epsilon", "1", "--domain", str(menu)))
    assert run.code != 0
    assert "--domain needs a file of UTF-8 text" in run.err
    assert "Traceback" not in run.err


def test_counts_under_zcdp(dpsel_run, folder, sales) -> None:
    report = folder / "report.json"
    run = dpsel_run(
        *arguments(sales, "--k", "2", "--epsilon", "1", "--domain", str(folder / "menu.txt")),
        *("--counts-rho", "0.5", "--counts-delta", "1e-9", "--report", str(report)),
    )
    assert run.code == 0, run.err
    assert abs(int(next(csv.DictReader(io.StringIO(run.out)))["count"]) - 300) < 60
    assert "(rho = 0.5, delta = 1e-09)-zCDP on top" in run.err
    assert dpsel_run("check", str(report)).code == 0


def test_a_plan_knows_neighbours_sensitivity_and_counts(dpsel_run) -> None:
    plan = ("plan-top-k", "--epsilon", "1", "--k", "4", "--items", "50", "--json")
    run = dpsel_run(
        *plan, *("--neighbours", "any", "--sensitivity", "5", "--counts-rho", "0.5", "--counts-delta", "1e-9")
    )
    row = json.loads(run.out)["rows"][0]
    assert row["rate"] == pytest.approx(json.loads(dpsel_run(*plan).out)["rows"][0]["rate"] / 10)
    assert row["counts_deviation"] == pytest.approx(10, rel=1e-3)
