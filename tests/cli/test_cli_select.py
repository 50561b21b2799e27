"""``dpsel select``: results, and every option honoured or refused."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import click
import pyarrow.parquet as pq
import pytest
from cli_support import BUDGET, COLUMNS, COMMON, KEY, instead, names

import dpsel
from dpsel.cli import select
from dpsel.cli._results import EXTENSIONS
from dpsel.cli._types import FileFormat

pytestmark = pytest.mark.usefixtures("rows")

PRIOR = Path(__file__).with_name("prior.csv")
SELECT = ("select", "rows.csv", *COLUMNS, *BUDGET)


def parsed(text: str) -> list[list[str]]:
    """CSV text as lists."""
    return list(csv.reader(io.StringIO(text)))


def test_standard_output_holds_the_items_and_nothing_else(dpsel_run):
    run = dpsel_run(*SELECT, "--progress", "--report", "report.json")
    assert run.code == 0
    assert parsed(run.out) == [["item"], *([item] for item in COMMON)]
    assert "secret" not in run.err


def test_quiet_prints_nothing_on_standard_error(dpsel_run):
    assert dpsel_run(*SELECT, "--quiet").err == ""


def test_ndjson_on_standard_output(dpsel_run):
    run = dpsel_run(*SELECT, "--output-format", "ndjson")
    assert [json.loads(line) for line in run.out.splitlines()] == [{"item": item} for item in COMMON]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_every_extension_can_be_written(dpsel_run, folder, extension):
    run = dpsel_run(*SELECT, "-o", f"items{extension}")
    assert (run.code, run.out) == (0, "")
    assert names(folder) == {"rows.csv", f"items{extension}"}
    again = dpsel.select_partitions(
        [(n, item) for n in range(100) for item in COMMON],
        privacy=dpsel.ApproxDP(epsilon=1, delta=1e-6),
        max_items_per_user=2,
    )
    assert len(again) == len(COMMON)


@pytest.mark.parametrize(
    "name", ["items.csv", "ITEMS.CSV.GZ", "items.parquet", "items", "items.csv.xz", "items.pq.gz"]
)
def test_the_command_and_the_writer_accept_the_same_names(dpsel_run, folder, name):
    release = dpsel.select_partitions(
        [(n, "tea") for n in range(100)], privacy=dpsel.ApproxDP(epsilon=1, delta=1e-6), max_items_per_user=1
    )
    try:
        release.write(folder / "written" / name)
    except dpsel.exceptions.FileError as error:
        is_known = "does not tell a format" not in str(error)
    assert (dpsel_run(*SELECT, "-o", name).code == 0) == is_known


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("csv(delimiter=';', header=false)", dpsel.Csv(delimiter=";", header=False)),
        ("csv(delimiter=tab)", dpsel.Csv(delimiter="\t")),
        ("csv(quote=none)", dpsel.Csv(quote="")),
        ("csv(quote='')", dpsel.Csv(quote="")),
        ("csv(escape=backslash)", dpsel.Csv(escape="\\")),
        ("csv(delimiter='|', escape='\\\\', header=true)", dpsel.Csv(delimiter="|", escape="\\")),
        *((name, name) for name in FileFormat.NAMES),
    ],
)
def test_a_format_is_one_value(words, form):
    assert FileFormat().convert(words, None, None) == form


def test_parquet_output_reads_back(dpsel_run):
    dpsel_run(*SELECT, "-o", "items.parquet")
    assert pq.read_table("items.parquet")["item"].to_pylist() == list(COMMON)


def test_an_existing_output_is_replaced(dpsel_run, folder):
    (folder / "items.csv").write_text("old\n")
    dpsel_run(*SELECT, "-o", "items.csv")
    assert parsed((folder / "items.csv").read_text()) == [["item"], *([item] for item in COMMON)]


def test_a_test_key_repeats_the_release_and_stamps_the_report(dpsel_run, folder):
    arguments = (*SELECT, "--with-weights", "--insecure-test-key", KEY, "--report", "report.json")
    first, second = dpsel_run(*arguments), dpsel_run(*arguments)
    assert first.out == second.out
    assert json.loads((folder / "report.json").read_text())["key"]["insecure_test_key"] is True
    fresh = dpsel_run(*SELECT, "--with-weights")
    assert fresh.out != first.out


# Every option with a value for it, and what the library has to be called with.
HONOURED = {
    "users": (("--user", "who"), {"user": ["user", "who"]}),
    "items": (("--item", "town"), {"item": ["item", "town"]}),
    "epsilon": (("--epsilon", "0.5"), {"privacy": dpsel.ApproxDP(epsilon=0.5, delta=1e-6)}),
    "delta": (("--delta", "1e-9"), {"privacy": dpsel.ApproxDP(epsilon=1, delta=1e-9)}),
    "max_items_per_user": (("--max-items-per-user", "7"), {"max_items_per_user": 7}),
    "mechanism": (("--mechanism", "count-gaussian"), {"mechanism": dpsel.CountGaussian()}),
    "prior": (
        ("--mechanism", "unit-greedy", "--prior", str(PRIOR)),
        {"mechanism": dpsel.UnitGreedy(prior={"the": 9.5, "a, b": 3})},
    ),
    "with_weights": (("--with-weights",), {"with_weights": True}),
    "counts": (("--counts", "0.3"), {"counts": dpsel.Counts(share=0.3)}),
    "max_counted_items": (
        ("--counts", "0.3", "--max-counted-items", "9"),
        {"counts": dpsel.Counts(share=0.3, max_counted_items=9)},
    ),
    "count": (
        ("--counts", "0.3", "--count", "users"),
        {"counts": dpsel.Counts(share=0.3)},
    ),
    "max_rows_per_item": (
        ("--counts", "0.3", "--count", "rows", "--max-rows-per-item", "9"),
        {"counts": dpsel.Counts(share=0.3, count="rows", max_rows_per_item=9)},
    ),
    "levels": (("--item", "frequency", "--levels"), {"item": ["item", "frequency"], "levels": True}),
    "levels_by": (("--levels-by", "/"), {"levels": "/"}),
    "rest": (("--rest", "0.1"), {"rest": dpsel.Rest(share=0.1)}),
    "max_rows_per_user": (
        ("--rest", "0.1", "--max-rows-per-user", "9"),
        {"rest": dpsel.Rest(share=0.1, max_rows_per_user=9)},
    ),
    "nonnegative": (
        ("--counts", "0.3", "--nonnegative"),
        {"counts": dpsel.Counts(share=0.3, nonnegative=True)},
    ),
    "public_items": (
        ("--item", "frequency", "--public-items", str(PRIOR)),
        {"item": ["item", "frequency"], "public_items": [("the", "9.5"), ("a, b", "3")]},
    ),
    "exclude": (
        ("--item", "frequency", "--exclude", str(PRIOR)),
        {"item": ["item", "frequency"], "exclude": [("the", "9.5"), ("a, b", "3")]},
    ),
    "min_users": (("--min-users", "9"), {"min_users": 9}),
    "ngrams": (("--ngrams", "1,2"), {"ngrams": (1, 2)}),
    "tokenizer": (("--tokenizer", "chars"), {"tokenizer": "chars"}),
    "file_format": (("--format", "ndjson"), {"file_format": "ndjson"}),
    "threads": (("--threads", "2"), {"threads": 2}),
    "memory_limit": (("--memory-limit", "1.5GiB"), {"memory_limit": 3 << 29}),
    "scratch": (("--scratch", "."), {"scratch": "."}),
    "scratch_limit": (("--scratch-limit", "2KiB"), {"scratch_limit": 2048}),
    "insecure_test_key": (("--insecure-test-key", KEY), {"insecure_test_key": bytes(32)}),
}
# These do not reach the library; tests of their own show that they are honoured.
ELSEWHERE = {
    "paths",
    "sql",
    "database",
    "rho",
    "ledger",
    "label",
    "output",
    "output_format",
    "report",
    "progress",
    "quiet",
}


@pytest.fixture
def calls(monkeypatch):
    """Record the calls of the library, which then fails with a known error."""
    recorded: list[tuple[object, dict[str, object]]] = []

    def record(data, **keywords):
        recorded.append((data, keywords))
        raise dpsel.exceptions.DataError("stop here")

    monkeypatch.setattr(dpsel, "select_partitions", record)
    return recorded


def test_the_table_of_options_is_complete():
    assert {parameter.name for parameter in select.command.params} == HONOURED.keys() | ELSEWHERE


@pytest.mark.parametrize("name", HONOURED)
def test_every_option_reaches_the_library(dpsel_run, calls, name):
    given, expected = HONOURED[name]
    dpsel_run(*instead(SELECT, *given))
    _, plain = calls.pop() if calls else (None, {})
    assert {key: plain[key] for key in expected} == expected
    defaults = {"user": "user", "item": "item", "mechanism": "auto", "with_weights": False, "ngrams": None}
    assert {key: plain[key] for key in defaults if key not in expected} == {
        key: value for key, value in defaults.items() if key not in expected
    }


def test_rho_asks_for_zcdp(dpsel_run, calls):
    dpsel_run("select", "rows.csv", *COLUMNS, "--rho", "0.1", "--delta", "1e-6", "--max-items-per-user", "5")
    assert calls[0][1]["privacy"] == dpsel.ZCDP(rho=0.1, delta=1e-6)


def test_all_paths_reach_the_library(dpsel_run, calls):
    dpsel_run("select", "rows.csv", "more-*.csv", *COLUMNS, *BUDGET)
    assert [os.fspath(path) for path in calls[0][0]] == ["rows.csv", "more-*.csv"]


REFUSED = {
    "both budgets": (("--rho", "0.1"), "either --epsilon or --rho"),
    "rounds of another mechanism": (("--mechanism", "count-laplace(rounds=2)"), "it has none"),
    "release of steered": (
        ("--mechanism", "steered(release=curve)"),
        "its parameters are rounds=30, reach=1",
    ),
    "rounds as an option": (("--rounds", "3"), "--mechanism 'sips(rounds=3)'"),
    "prior of sips": (
        ("--mechanism", "sips", "--prior", str(PRIOR)),
        "belongs to --mechanism greedy-frequency or unit-greedy",
    ),
    "prior of auto": (("--prior", str(PRIOR)), "belongs to --mechanism greedy-frequency or unit-greedy"),
    "prior that is not there": (("--mechanism", "unit-greedy", "--prior", "nowhere.csv"), "cannot read"),
    "prior that is no table": (("--mechanism", "unit-greedy", "--prior", __file__), "not a CSV file"),
    "unknown mechanism": (("--mechanism", "magic"), "magic"),
    "delimiter of Parquet": (("--format", "parquet(delimiter=';')"), "no form of text files such as csv("),
    "no header of NDJSON": (("--format", "ndjson(header=false)"), "no form of text files such as csv("),
    "half a form": (("--format", "csv(delimiter=';'"), "no form of text files such as csv("),
    "a form without a part": (("--format", "csv()"), "no form of text files such as csv("),
    "another part": (("--format", "csv(width=3)"), "no form of text files such as csv("),
    "a long delimiter": (("--format", "csv(delimiter=', ')"), "delimiter must be one character"),
    "a number as delimiter": (("--format", "csv(delimiter=7)"), "delimiter must be one character"),
    "bad passes": (("--mechanism", "policy-gaussian(passes=0)"), "passes"),
    "bad ratio": (("--mechanism", "sips(ratio=2)"), "ratio"),
    "bad rounds": (("--mechanism", "sips(rounds=0)"), "rounds"),
    "negative epsilon": (("--epsilon", "-1"), "epsilon"),
    "epsilon not a number": (("--epsilon", "nan"), "epsilon"),
    "delta of 1": (("--delta", "1"), "delta"),
    "no items": (("--max-items-per-user", "0"), "max-items-per-user"),
    "too many items": (("--max-items-per-user", "99999999"), "--max-items-per-user must"),
    "three lengths": (("--ngrams", "1,2,3"), "--ngrams"),
    "ngrams of nothing": (("--ngrams", "0"), "--ngrams"),
    "ngrams upside down": (("--ngrams", "3,2"), "ngrams"),
    "ngrams too long": (("--ngrams", "1,300"), "max <= 8"),
    "ngrams of two columns": (("--item", "other", "--ngrams", "1"), "ngrams"),
    "one column twice": (("--item", "item"), "item"),
    "user as item": (("--item", "user"), "item"),
    "rows without counts": (("--count", "rows", "--max-rows-per-item", "3"), "--count is about --counts"),
    "a limit of rows without counts": (("--max-rows-per-item", "3"), "is about --counts, which is not given"),
    "rows without a limit": (
        ("--counts", "0.2", "--count", "rows"),
        "--count rows needs --max-rows-per-item",
    ),
    "a limit of rows for users": (("--counts", "0.2", "--max-rows-per-item", "3"), "add --count rows"),
    "too many rows": (
        ("--counts", "0.2", "--count", "rows", "--max-rows-per-item", "1000001"),
        "--max-rows-per-item",
    ),
    "no threads": (("--threads", "0"), "--threads"),
    "memory without unit": (("--memory-limit", "much"), "4GiB"),
    "memory of nothing": (("--memory-limit", "0"), "4GiB"),
    "short key": (("--insecure-test-key", "abcd"), "64 hexadecimal digits"),
    "format of a file": (("-o", "items.csv", "--output-format", "csv"), "--output-format"),
    "unknown extension": (("-o", "items.xyz"), ".parquet"),
    "packed table": (("-o", "items.parquet.gz"), ".csv.gz"),
    "no extension": (("-o", "items"), ".parquet"),
    "output is report": (("-o", "x.csv", "--report", "x.csv"), "same file"),
    "output is report by another name": (("-o", "x.csv", "--report", "./x.csv"), "same file"),
    "output is input": (("-o", "rows.csv"), "overwrite an input"),
    "report is input": (("--report", "rows.csv"), "overwrite an input"),
    "report on standard output": (("--report", "-"), "--report needs the name of a file"),
    "bar and silence": (("--progress", "--quiet"), "exclude"),
    "unknown option": (("--colour",), "--colour"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_apply_is_refused(dpsel_run, folder, rows, case):
    options, words = REFUSED[case]
    before = rows.read_bytes()
    run = dpsel_run(*instead(SELECT, *options))
    assert run.code == 2
    assert words in run.error
    assert names(folder) == {"rows.csv"}
    assert rows.read_bytes() == before


@pytest.mark.parametrize("missing", ["--user", "--item", "--delta", "--max-items-per-user", "--epsilon"])
def test_decisions_have_no_defaults(dpsel_run, missing):
    arguments = list(SELECT)
    at = arguments.index(missing)
    del arguments[at : at + 2]
    run = dpsel_run(*arguments)
    assert run.code == 2
    assert missing in run.error


def test_size_and_count_types_explain_themselves():
    parameters = {parameter.name: parameter for parameter in select.command.params}
    assert isinstance(parameters["memory_limit"].type, click.ParamType)
    for text, value in {"1k": 1000, "2MiB": 2 << 20, "3 GB": 3 * 10**9, "7": 7}.items():
        assert parameters["memory_limit"].type.convert(text, None, None) == value


def test_a_weak_guarantee_is_one_line_on_standard_error(dpsel_run):
    budget = ("--epsilon", "30", "--delta", "0.01", "--max-items-per-user", "2")
    run = dpsel_run("select", "rows.csv", *COLUMNS, *budget, "--quiet")
    assert run.code == 0
    (line,) = run.err.splitlines()
    assert line.startswith("warning: this guarantee protects hardly anybody: epsilon = 30")
    assert "warning" not in run.out


def test_numbers_of_rows_are_those_of_the_library(dpsel_run, folder):
    data = [(user, "tea") for user in range(500) for _ in range(user % 4)]
    (folder / "cups.csv").write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in data))
    asked = ("--counts", "0.5", "--count", "rows", "--max-rows-per-item", "2")
    run = dpsel_run(
        "select", "cups.csv", *COLUMNS, *BUDGET, *asked, "--insecure-test-key", KEY, "--report", "r.json"
    )
    release = dpsel.select_partitions(
        str(folder / "cups.csv"),
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=1, delta=1e-6),
        max_items_per_user=5,
        counts=dpsel.Counts(share=0.5, count="rows", max_rows_per_item=2),
        insecure_test_key=bytes.fromhex(KEY),
    )
    ((item, number),) = release.to_pylist()
    assert run.out.split() == ["item,rows", f"{item},{number}"]
    assert 500 < number < 750
    assert json.loads((folder / "r.json").read_text())["request"]["counts"]["max_rows_per_item"] == 2
