"""Queries on the command line: DuckDB runs them, and its rows are private data like those of a file."""

from __future__ import annotations

import sys

import duckdb
import pytest
from cli_support import BUDGET, COLUMNS, KEY, names

from dpsel.cli._exit import ExitCode

pytestmark = pytest.mark.usefixtures("rows")

FLAGS = (*COLUMNS, *BUDGET, "--insecure-test-key", KEY, "--quiet")
TOP_K = ("--epsilon", "1", "--delta", "1e-6", "--k", "2", "--max-items-per-user", "5")
TOP_K = (*COLUMNS, *TOP_K, "--insecure-test-key", KEY, "--quiet")
QUERY = "SELECT user, item FROM 'rows.csv'"


@pytest.mark.parametrize(("command", "flags"), [("select", FLAGS), ("top-k", TOP_K)])
def test_a_query_releases_what_its_rows_would(dpsel_run, command, flags):
    expected = dpsel_run(command, "rows.csv", *flags)
    assert expected.code == 0
    assert len(expected.out.splitlines()) == 3
    assert dpsel_run(command, "--sql", QUERY, *flags) == expected


def test_a_query_may_stand_in_a_file(dpsel_run, folder):
    (folder / "query.sql").write_text(f"-- rows\n{QUERY}\n", encoding="utf-8")
    found = dpsel_run("select", "--sql", "@query.sql", *FLAGS)
    assert found == dpsel_run("select", "rows.csv", *FLAGS)
    assert "cannot read absent.sql: No such file" in dpsel_run("select", "--sql", "@absent.sql", *FLAGS).error


def test_statements_may_come_before_it(dpsel_run):
    query = "CREATE TEMP TABLE few AS FROM 'rows.csv'; SELECT * FROM few WHERE item <> 'kiwi'"
    found = dpsel_run("select", "--sql", query, *FLAGS)
    assert found.code == 0
    assert found.out.split() == ["item", "plum"]


def test_a_database_is_only_read(dpsel_run, folder):
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.sql(f"CREATE TABLE sales AS {QUERY}")
    before = (folder / "shop.duckdb").read_bytes()
    arguments = ("select", "--database", "shop.duckdb", *FLAGS)
    assert dpsel_run(*arguments, "--sql", "FROM sales") == dpsel_run("select", "rows.csv", *FLAGS)
    refused = dpsel_run(*arguments, "--sql", "DROP TABLE sales; FROM sales")
    assert refused.code == ExitCode.DATA
    assert "read" not in refused.error.partition("(")[0], "the text of DuckDB is left out"
    assert (folder / "shop.duckdb").read_bytes() == before
    assert names(folder) == {"rows.csv", "shop.duckdb"}


def test_the_output_is_not_the_database(dpsel_run, folder):
    duckdb.connect(str(folder / "shop.csv")).close()
    run = dpsel_run("select", "--database", "shop.csv", "--sql", "SELECT 1", *FLAGS, "-o", "shop.csv")
    assert run.code == ExitCode.USAGE
    assert "--database" in run.error


WRONG = {
    "both": (("rows.csv", "--sql", QUERY), "leave PATHS out"),
    "neither": ((), "name the files to read, or give --sql"),
    "format": (("--sql", QUERY, "--format", "csv"), "leave --format out"),
    "database": (("--database", "rows.csv", "rows.csv"), "give --sql as well"),
    "syntax": (("--sql", "SELEC user"), 'syntax error at or near "SELEC"'),
    "table": (("--sql", "SELECT user, item FROM nowhere"), "nowhere does not exist"),
    "no rows": (("--sql", "CREATE TABLE t AS SELECT 1"), "must end with a SELECT"),
    "nothing": (("--sql", ""), "must end with a SELECT"),
    "pivot": (("--sql", "WITH p AS (PIVOT 'rows.csv' ON item) SELECT nope FROM p"), "list the values"),
    "column": (("--sql", "SELECT person, item FROM 'rows.csv'"), '"person" not found'),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_say_what_mends_them(dpsel_run, name):
    arguments, text = WRONG[name]
    run = dpsel_run("select", *arguments, *FLAGS)
    assert run.code == ExitCode.USAGE
    assert text in run.error
    assert "kiwi" not in run.err


def test_columns_have_to_be_in_the_result(dpsel_run):
    run = dpsel_run("select", "--sql", "SELECT user FROM 'rows.csv'", *FLAGS)
    assert run.code == ExitCode.DATA
    assert "item" in run.error


FAILING = {
    "row": "SELECT user, CAST(item AS INT) AS item FROM 'rows.csv'",
    "sniffer": "SELECT user, item FROM read_csv('rows.csv', types={'item': 'INT'})",
    "file": "SELECT user, item FROM read_parquet('rows.csv')",
    "constant": "SELECT user, CAST('secret17' AS INT) AS item FROM 'rows.csv'",
}


@pytest.mark.parametrize("name", FAILING)
def test_no_error_quotes_a_row(dpsel_run, name):
    run = dpsel_run("select", "--sql", FAILING[name], *FLAGS)
    assert run.code == ExitCode.DATA
    assert "DuckDB" in run.error or "Exception" in run.error
    assert "secret" not in run.err
    assert "kiwi" not in run.err


def test_nothing_is_written_beside_the_release(dpsel_run, folder):
    """A sort needs memory that DuckDB would take from disk: it fails instead."""
    query = (
        "SET memory_limit = '20MB'; SELECT hash(range) AS user, range AS item FROM range(9000000) ORDER BY 1"
    )
    run = dpsel_run("select", "--sql", query, *FLAGS)
    assert run.code == ExitCode.DATA
    assert "OutOfMemory" in run.error
    assert names(folder) == {"rows.csv"}


def test_without_duckdb_the_error_says_how_to_get_it(dpsel_run, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    run = dpsel_run("select", "--sql", QUERY, *FLAGS)
    assert run.code == ExitCode.USAGE
    assert 'pip install "dpsel[sql]"' in run.error


#: Queries on names that are not there, over files whose names are data.
UNKNOWN = [
    "SELECT usr AS user, item FROM 'data.csv'",
    "SELECT * EXCLUDE (nope) FROM 'data.csv'",
    "SELECT * FROM 'data.csv'",
    "SELECT * FROM 'data.csv' WHERE nope = 1",
    "SELECT t.nope FROM 'data.csv' t",
    "SELECT nope FROM 'data.json'",
    "SELECT t.nope FROM 'data.json' t",
    "SELECT * FROM 'data.json'",
    "SELECT json.nope FROM read_json('data.json', records=false)",
    "SELECT sum(json) FROM read_json('data.json', records=false)",
    "SELECT json + 1 FROM read_json('data.json', records=false)",
    "SELECT * FROM 'data.csv' UNION SELECT * FROM 'data.json' ORDER BY nope",
]


@pytest.mark.parametrize("query", UNKNOWN)
@pytest.mark.parametrize(("command", "flags"), [("select", FLAGS), ("top-k", TOP_K)])
def test_names_that_may_be_data_are_not_listed(dpsel_run, folder, command, flags, query):
    (folder / "data.csv").write_text("ada1,hiv\nbob,flu\n" * 3)
    (folder / "data.json").write_text('{"ada1": {"hiv": 1}}\n{"bob": {"flu": 1}}\n')
    run = dpsel_run(command, "--sql", query, *flags)
    assert run.code in (ExitCode.USAGE, ExitCode.DATA)
    assert not any(word in run.err for word in ("ada", "hiv", "bob", "flu"))
