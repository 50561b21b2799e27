"""``dpsel filter``, ``card`` and ``ledger``, and the options of ``select`` about public lists and budgets."""

from __future__ import annotations

import json
import sys

import pytest
from cli_support import BUDGET, COLUMNS, COMMON, KEY, names

pytestmark = pytest.mark.usefixtures("rows")

ROWS = "--rows-are-users"
TO_JOB = ("--ledger", "spent.jsonl", "-o", "job.json")
TO_FILES = ("-o", "items.csv", "--report", "items.json")


@pytest.fixture
def items(dpsel_run, folder):
    """The items of a release, with the report beside them."""
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, *TO_FILES, "--insecure-test-key", KEY)
    assert run.code == 0
    return folder / "items.csv"


def lines(path):
    return path.read_text().splitlines()


def test_filter_keeps_rows_and_says_that_they_are_private(dpsel_run, folder, items):
    run = dpsel_run("filter", items, "rows.csv", "-o", "kept.csv")
    assert (run.code, run.out) == (0, "")
    assert "kept.csv is PRIVATE DATA" in run.err
    assert not any(character.isdigit() for character in run.err), "no count of rows"
    before, after = lines(folder / "rows.csv"), lines(folder / "kept.csv")
    at = before[0].split(",").index("item")
    assert after == [before[0], *(line for line in before[1:] if line.split(",")[at] in COMMON)]
    assert len(after) < len(before)
    quiet = dpsel_run("filter", items, "rows.csv", "-o", "kept.csv", "-q", "--report", "items.json")
    assert (quiet.code, quiet.err) == (0, "")


@pytest.mark.parametrize("name", ["items.csv", "items.ndjson.gz", "items.parquet", "link.csv"])
def test_items_are_not_written_beside_the_report_of_others(dpsel_run, folder, items, name):
    (folder / "link.csv").symlink_to(items)
    assert dpsel_run("ledger", "spent.jsonl", "--epsilon", "9", "--delta", "1e-5").code == 0
    before = {each: (folder / each).read_bytes() for each in names(folder)}
    for more in ((), ("--report", "other.json")):
        run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, "--ledger", "spent.jsonl", "-o", name, *more)
        assert run.code == 2
        assert "items.json is there, and would be read as the report" in run.error
        assert "give --report" in run.error
        assert "move that file" in run.error
        assert {each: (folder / each).read_bytes() for each in names(folder)} == before
    if not name.endswith(".csv"):
        items.unlink()
    assert dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, "-o", name, "--report", "items.json").code == 0


@pytest.mark.parametrize("name", ["new.csv", "items.parquet", "-"])
@pytest.mark.parametrize("old", ["items.csv", "items.arrow", "items.ndjson.zst"])
def test_a_report_is_not_written_beside_the_items_of_others(dpsel_run, folder, items, name, old):
    items.rename(folder / old)
    assert dpsel_run("ledger", "spent.jsonl", "--epsilon", "9", "--delta", "1e-5").code == 0
    before = {each: (folder / each).read_bytes() for each in names(folder)}
    call = ("select", "rows.csv", *COLUMNS, *BUDGET, "--ledger", "spent.jsonl", "-o", name)
    run = dpsel_run(*call, "--report", "items.json")
    assert run.code == 2
    assert f"{old} is there, and this would be read as the report of its items" in run.error
    assert {each: (folder / each).read_bytes() for each in names(folder)} == before


@pytest.mark.parametrize(
    "command",
    [
        ("top-k", "rows.csv", *COLUMNS, "--k", "2", *BUDGET),
        ("top", "items.csv", "-k", "1"),
        ("rest", "items.csv"),
        ("series", "release", "none", "rows.csv", "--key", "none.key", "--name", "W01"),
        ("count-series", "release", "none", "rows.csv", "--key", "none.key", "--name", "W01"),
    ],
)
def test_every_command_that_writes_items_heeds_reports(dpsel_run, folder, command):
    numbers = ("--counts", "0.3", "--rest", "0.1")
    assert dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, *numbers, *TO_FILES).code == 0
    (folder / "other.json").write_text("{}")
    before = names(folder)
    run = dpsel_run(*command, "-o", "other.csv")
    assert (run.code, names(folder)) == (2, before)
    assert "other.json is there" in run.error
    if command[0] in ("top", "rest"):
        # The report of the keys is right for some of them, too.
        assert dpsel_run(*command, "-o", "items.ndjson").code == 0


def test_filter_labels_other_rows_and_takes_another_column(dpsel_run, folder, items):
    run = dpsel_run("filter", items, "rows.csv", "-o", "labelled.csv", "--other", "rest", "--item", "item")
    assert run.code == 0
    assert len(lines(folder / "labelled.csv")) == len(lines(folder / "rows.csv"))
    assert any("rest" in line for line in lines(folder / "labelled.csv"))


def test_filter_reads_what_select_read(dpsel_run, folder):
    rows = [f"u{user};{item}" for user in range(400) for item in (*COMMON, f"secret{user}")]
    (folder / "rows.txt").write_text("\n".join(rows) + "\n")
    form = ("--format", "csv(delimiter=';', header=false)")
    columns = ("--user", "column_1", "--item", "column_2")
    made = dpsel_run("select", "rows.txt", *form, *columns, *BUDGET, *TO_FILES, "--insecure-test-key", KEY)
    assert made.code == 0, made.err
    run = dpsel_run("filter", "items.csv", "rows.txt", "-o", "kept.txt", *form, "-q")
    assert (run.code, run.err) == (0, "")
    assert lines(folder / "kept.txt") == [row for row in rows if row.split(";")[1] in COMMON]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (
            ("items.csv", "rows.csv", "-o", "kept.csv", "--format", "csv(delimiter=';;')"),
            2,
            "delimiter must be one character",
        ),
        (("items.csv", "rows.csv", "-o", "kept.csv", "--format", "csv(delimiter=';')"), 3, "none named"),
        (("items.csv", "rows.csv", "-o", "kept.csv", "--format", "xml"), 2, "--format"),
        (("items.csv", "none.csv", "-o", "kept.csv"), 3, "cannot read"),
        (("none.csv", "rows.csv", "-o", "kept.csv"), 3, "cannot read"),
        (
            ("rows.csv", "rows.csv", "-o", "kept.csv"),
            3,
            "none can be made later; if it has another name, pass that as --report",
        ),
        (("items.csv", "rows.csv", "-o", "rows.csv"), 2, "would overwrite an input file"),
        (("items.csv", "rows.csv", "-o", "kept.parquet"), 3, "same extension"),
        (("items.csv", "rows.csv", "-o", "kept.csv", "--item", "none"), 3, "none named"),
        (("items.csv", "rows.csv", "-o", "kept.csv", "--other", COMMON[0]), 2, "not released"),
        (("items.csv", "rows.csv"), 2, "-o"),
    ],
)
def test_filter_refuses_and_leaves_nothing(dpsel_run, folder, items, arguments, code, text):
    before = names(folder)
    run = dpsel_run("filter", *arguments)
    assert run.code == code
    assert text in run.error
    assert names(folder) == before
    assert items.exists()


def test_card_writes_a_page_and_a_figure(dpsel_run, folder, items):
    assert dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, *TO_FILES).code == 0
    for name, start in (("card.html", "<!doctype html>"), ("card.svg", "<svg")):
        assert dpsel_run("card", "items.json", "-o", name).code == 0
        assert (folder / name).read_text().startswith(start)
    assert "factor of 2.72" in (folder / "card.html").read_text()
    assert dpsel_run("card", "items.json", "-o", "card.pdf").code == 3
    assert dpsel_run("card", items, "-o", "card.html").code == 3


def test_a_ledger_pays_until_nothing_is_left(dpsel_run, folder):
    made = dpsel_run("ledger", "spent.jsonl", "--epsilon", "2", "--delta", "2e-6")
    assert made.code == 0
    assert "remaining: ApproxDP(epsilon=2.0, delta=2e-06)" in made.out
    call = ("select", "rows.csv", *COLUMNS, *BUDGET, "--ledger", "spent.jsonl", "-o", "items.csv")
    assert dpsel_run(*call, "--item", "none").code == 3, "a wrong column costs nothing"
    assert [dpsel_run(*call).code for _ in range(2)] == [0, 0]
    refused = dpsel_run(*call)
    assert refused.code == 2
    assert "no epsilon remains" in refused.error
    shown = json.loads(dpsel_run("ledger", "spent.jsonl", "--json", "--html", "ledger.html").out)
    assert [entry["label"] for entry in shown["entries"]] == ["item", "item"]
    assert shown["remaining"] is None
    assert "Privacy ledger" in (folder / "ledger.html").read_text()


def test_tenths_of_a_ledger_add_up_and_what_is_left_is_told(dpsel_run):
    assert dpsel_run("ledger", "spent.jsonl", "--epsilon", "0.3", "--delta", "2e-6").code == 0
    budget = ("--epsilon", "0.1", "--delta", "1e-6", "--max-items-per-user", "3")
    call = ("select", "rows.csv", *COLUMNS, *budget, "-o", "items.csv")
    assert [dpsel_run(*call, "--ledger", "spent.jsonl", "--label", "drinks").code for _ in range(2)] == [0, 0]
    assert "remaining: epsilon 0.1 left, no delta" in dpsel_run("ledger", "spent.jsonl").out
    shown = json.loads(dpsel_run("ledger", "spent.jsonl", "--json").out)
    assert [entry["label"] for entry in shown["entries"]] == ["drinks", "drinks"]
    assert shown["remaining"] == {"kind": "pure_dp", "epsilon": 0.1}
    refused = dpsel_run(*call, "--ledger", "spent.jsonl")
    assert refused.code == 2
    assert "no delta remains (epsilon 0.1 left, no delta). Nothing was spent now" in refused.error
    refused = dpsel_run(*call, "--label", "drinks")
    assert refused.code == 2
    assert "add --ledger FILE" in refused.error


def test_a_ledger_that_was_changed_pays_nothing(dpsel_run, folder):
    assert dpsel_run("ledger", "spent.jsonl", "--epsilon", "2", "--delta", "2e-6").code == 0
    path = folder / "spent.jsonl"
    path.write_text(path.read_text().replace("2.0", "9.0"))
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, "--ledger", "spent.jsonl", "-o", "items.csv")
    assert run.code == 3
    assert "was changed" in run.error
    assert not (folder / "items.csv").exists()
    assert dpsel_run("ledger", "none.jsonl").code == 3


def test_public_lists_and_a_least_number(dpsel_run, folder):
    (folder / "public.csv").write_text("item\nwater\n")
    (folder / "stop.csv").write_text(f"item\n{COMMON[0]}\n")
    lists = ("--public-items", "public.csv", "--exclude", "stop.csv")
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, *lists, *TO_FILES)
    assert run.code == 0
    assert lines(folder / "items.csv") == ["item,public", f"{COMMON[1]},false", "water,true"]
    most = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, "--min-users", "1000000")
    assert most.out == "item\n"
    assert "an item comes out with 95 %" in most.err
    assert "without min_users" in most.err


@pytest.mark.parametrize("more", [(), ("--levels-by", "/"), ("--ngrams", "1,2")])
def test_no_single_row_sways_a_list(dpsel_run, folder, more):
    """A file of NDJSON declares no types, and a list is text."""
    (folder / "public.csv").write_text("item\n9\n10\n")
    made = []
    for row in ("", '{"user": 2, "item": %s}\n' % ('"5"' if more else "5")):
        (folder / "rows.ndjson").write_text('{"user": 1, "item": null}\n' + row)
        lists = ("--public-items", "public.csv", "--report", "items.json")
        given = (*COLUMNS, *BUDGET, *lists, *more, "--insecure-test-key", KEY)
        run = dpsel_run("select", "rows.ndjson", *given, "-o", "items.ndjson")
        assert run.code == 0, run.err
        made.append([(folder / name).read_bytes() for name in ("items.ndjson", "items.json")])
    assert made[0] == made[1]
    assert [json.loads(line)["item"] for line in lines(folder / "items.ndjson")] == ["10", "9"]


@pytest.mark.parametrize("text", ["", "a,b\n1\n", None])
def test_lists_that_are_none_are_refused(dpsel_run, folder, text):
    if text is not None:
        (folder / "list.csv").write_text(text)
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, "--exclude", "list.csv")
    assert run.code == 2
    assert "list.csv" in run.error


LISTS = ("--public-items", "--exclude")


@pytest.mark.parametrize("option", LISTS)
def test_a_list_without_a_header_line_is_refused(dpsel_run, folder, option):
    """Its first item used to be taken for a header, without a word."""
    path = folder / "stop.csv"
    path.write_text(f"{COMMON[0]}\n{COMMON[1]}\n")
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, option, path)
    assert run.code == 2
    assert f"{option}: the first line of {path} is read as a header, and must be the name" in run.error
    assert "gives: item; add that line" in run.error
    assert COMMON[0] not in run.error


@pytest.mark.parametrize("option", LISTS)
def test_a_list_with_more_columns_than_the_item_is_refused(dpsel_run, folder, option):
    (folder / "odd.csv").write_text("item,frequency\nkiwi,3\n")
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, option, "odd.csv")
    assert run.code == 2
    text = f"{option}: odd.csv has 2 columns, but --item names one; keep the column of items only"
    assert text in run.error


def test_a_list_for_several_columns_has_their_names_in_order(dpsel_run, folder):
    both = ("select", "rows.csv", *COLUMNS, "--item", "user", *BUDGET, "--exclude", "list.csv")
    (folder / "list.csv").write_text("user,item\n1,kiwi\n")
    assert "must be the names, in the same order, that --item gives: item,user" in dpsel_run(*both).error
    (folder / "list.csv").write_text("item\nkiwi\n")
    text = "list.csv has 1 column, but --item names 2; keep one column for each --item"
    assert text in dpsel_run(*both).error


def test_released_items_are_a_list(dpsel_run):
    assert dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, "-o", "items.csv").code == 0
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, "--exclude", "items.csv")
    assert (run.code, run.out) == (0, "item\n")


def test_a_result_does_not_replace_a_list_or_a_ledger(dpsel_run, folder):
    (folder / "list.csv").write_text("item\nwater\n")
    run = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, "--exclude", "list.csv", "-o", "list.csv")
    assert run.code == 2
    assert "would overwrite the file of --exclude" in run.error


COUNTED = ("--counts", "0.5", "--insecure-test-key", KEY)


def test_top_writes_the_keys_with_the_largest_numbers(dpsel_run, folder):
    made = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, *TO_FILES, *COUNTED)
    assert made.code == 0, made.err
    head, *keys = lines(folder / "items.csv")
    largest = sorted(keys, key=lambda line: -int(line.split(",")[1]))
    run = dpsel_run("top", "items.csv", "-k", "1")
    assert (run.code, run.err, run.out.splitlines()) == (0, "", [head, largest[0]])
    run = dpsel_run("top", "items.csv", "-k", "1", "--by", "item", "-o", "top.csv", "--report", "items.json")
    assert (run.code, run.out, run.err) == (0, "", "")
    assert lines(folder / "top.csv") == [head, *keys]
    run = dpsel_run("top", "items.csv", "-k", "1", "--output-format", "ndjson")
    assert json.loads(run.out)["item"] == largest[0].split(",")[0]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("items.csv", "-k", "0"), 2, "'-k'"),
        (("items.csv",), 2, "'-k'"),
        (("items.csv", "-k", "1"), 2, "has no numbers of users or rows"),
        (("none.csv", "-k", "1"), 3, "cannot read"),
        (("items.csv", "-k", "1", "-o", "items.csv"), 2, "would overwrite the file of ITEMS"),
        (("items.csv", "-k", "1", "-o", "top.xyz"), 2, "ends in one of"),
    ],
)
@pytest.mark.usefixtures("rows", "items")
def test_top_refuses_and_leaves_nothing(dpsel_run, folder, arguments, code, text):
    before = names(folder)
    run = dpsel_run("top", *arguments)
    assert run.code == code
    assert text in run.err
    assert names(folder) == before


def test_domains_writes_the_values_of_columns_as_texts(dpsel_run, folder):
    rows = ["who,job,age,note", *(f"u{row},cook,{30 + row % 2},secret{row}" for row in range(900))]
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    budget = ("--epsilon", "1", "--delta", "1e-6")
    files = ("-o", "domain.json", "--report", "domains.json")
    run = dpsel_run("domains", "people.csv", ROWS, "--columns", "job, age,note", *budget, *files)
    assert (run.code, run.out) == (0, ""), run.err
    assert "each row is a user" in run.err
    assert "CSV columns are texts, so numbers with fractions are values, too" in run.err
    read = json.loads((folder / "domain.json").read_text())
    assert {name: each["possible_values"] for name, each in read.items()} == {
        "job": ["cook"],
        "age": ["30", "31"],
        "note": [],
    }
    for arguments, code, text in (
        (("none.csv", ROWS, "--columns", "job"), 3, "no such file"),
        (("people.csv", "--columns", "job", "--user", "job"), 2, "as the user too"),
    ):
        before = names(folder)
        run = dpsel_run("domains", *arguments, *budget, "-o", "other.json")
        assert (run.code, text in run.err, names(folder)) == (code, True, before), run.err
    assert dpsel_run("ledger", "spent.jsonl", "--epsilon", "1", "--delta", "1e-6").code == 0
    paid = ("domains", "people.csv", ROWS, "--columns", "job", *budget, *TO_JOB)
    first, second = dpsel_run(*paid, "--threads", "1"), dpsel_run(*paid)
    assert (first.code, second.code) == (0, 2), second.err
    assert "exceed" in second.err


def test_rest_adds_a_row_to_the_keys(dpsel_run, folder):
    made = dpsel_run("select", "rows.csv", *COLUMNS, *BUDGET, *TO_FILES, *COUNTED, "--rest", "0.1")
    assert made.code == 0, made.err
    head, *keys = lines(folder / "items.csv")
    run = dpsel_run("rest", "items.csv", "--label", "other")
    assert (run.code, run.err) == (0, "")
    first, *rows, last = run.out.splitlines()
    assert first == f"{head},is_rest"
    assert rows == [f"{key},false" for key in keys]
    assert last.startswith("other,")
    assert last.endswith(",true")
    run = dpsel_run("rest", "items.csv", "-o", "table.ndjson", "--report", "items.json")
    assert (run.code, run.out, run.err) == (0, "", "")
    assert json.loads(lines(folder / "table.ndjson")[-1])["is_rest"] is True


@pytest.mark.parametrize(
    ("text", "arguments", "code", "error"),
    [
        (
            "u,job\n1,a\n",
            ("--user", "none", "--columns", "job"),
            3,
            "people.csv has 2 columns, none named 'none' to tell users apart; set --user to a name",
        ),
        (
            "u,job\n1,a\n",
            ("--user", "u", "--columns", "job,none"),
            3,
            "people.csv has 2 columns, none named 'none' to take values from; set --columns to a name",
        ),
        ("u;job\n1;a\n", ("--user", "u", "--columns", "job"), 3, "has 1 column, none named 'job'"),
        ("u,job,job\n1,a,b\n", ("--user", "u", "--columns", "job"), 3, "several columns named 'job'"),
        ("u,job\n1,a\n,a\n", ("--user", "u", "--columns", "job"), 3, "user column 'u' is null in row 2"),
        ('u,job\n"",a\n', ("--user", "u", "--columns", "job"), 3, "user column 'u' is null in row 1"),
        ("u,job\n1,a\n", ("--columns", "job"), 2, "give either --user"),
        ("u,job\n1,a\n", (ROWS, "--user", "u", "--columns", "job"), 2, "give either --user"),
    ],
)
def test_domains_refuses_as_select_does(dpsel_run, folder, text, arguments, code, error):
    (folder / "people.csv").write_text(text)
    before = names(folder)
    run = dpsel_run("domains", "people.csv", *arguments, "--epsilon", "1", "--delta", "1e-6", "-o", "o.json")
    assert (run.code, names(folder)) == (code, before)
    assert error in run.error


def test_domains_takes_an_empty_field_for_none_and_names_a_missing_library(dpsel_run, folder, monkeypatch):
    lines_of = [f"{user},,cook" for user in range(900)]
    (folder / "people.csv").write_text("\n".join(["u,age,job", *lines_of]) + "\n")
    command = ("domains", "people.csv", "--user", "u", "--columns", "age,job", "--epsilon", "1")
    assert dpsel_run(*command, "--delta", "1e-6", "-o", "o.json").code == 0
    read = json.loads((folder / "o.json").read_text())
    assert {name: each["possible_values"] for name, each in read.items()} == {"age": [], "job": ["cook"]}
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    run = dpsel_run(*command, "--delta", "1e-6", "-o", "o.json")
    assert run.code == 3
    assert "dpsel domains needs pyarrow; install it with pip install pyarrow" in run.error


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("items.csv",), 2, "has no numbers of users or rows"),
        (("none.csv",), 3, "cannot read"),
        (("items.csv", "-o", "items.csv"), 2, "would overwrite the file of ITEMS"),
        (("items.csv", "-o", "rest.xyz"), 2, "ends in one of"),
    ],
)
@pytest.mark.usefixtures("rows", "items")
def test_rest_refuses_and_leaves_nothing(dpsel_run, folder, arguments, code, text):
    before = names(folder)
    run = dpsel_run("rest", *arguments)
    assert run.code == code
    assert text in run.err
    assert names(folder) == before


def test_a_domain_file_has_its_ending_or_is_printed(dpsel_run, folder):
    (folder / "people.csv").write_text("job\n" + "cook\n" * 400)
    call = ["domains", "people.csv", ROWS, "--columns", "job", "--epsilon", "1", "--delta", "1e-6"]
    for name in ("job.csv", "job"):
        run = dpsel_run(*call, "-o", name, "--ledger", "spent.jsonl")
        assert run.code == 2
        assert "end it in .json, .yaml or .yml" in run.error
    assert names(folder) == {"people.csv", "rows.csv"}
    run = dpsel_run(*call, "-o", "-")
    assert json.loads(run.out)["job"]["possible_values"] == ["cook"]
    assert names(folder) == {"people.csv", "rows.csv"}
    assert dpsel_run(*call, "-o", "job.YAML").code == 0
    assert (folder / "job.YAML").read_text() == run.out
