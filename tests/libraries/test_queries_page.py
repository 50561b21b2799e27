"""The lines of the guide's page on queries: ADBC as it runs, and warehouses against their clients."""

from __future__ import annotations

import ast
import re
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dpsel

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.libraries

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "queries.md"
CELLS = re.findall(r"```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
MISSING = "in the group `libraries`; run `nox -s libraries`"


def cell_of(library: str) -> str:
    """The lines that import a library."""
    (found,) = [cell for cell in CELLS if library in cell.splitlines()[0]]
    return found


def test_a_query_comes_as_a_stream(tmp_path, monkeypatch) -> None:
    duckdb = pytest.importorskip("duckdb", reason=MISSING)
    pytest.importorskip("adbc_driver_manager", reason=MISSING)
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("shop.duckdb") as connection:
        connection.sql("CREATE TABLE visits AS SELECT range % 500 AS uid, range % 3 AS page FROM range(1500)")
        connection.sql("INSERT INTO visits VALUES (7, 13)")
    parameters = {"privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-8), "max_items_per_user": 3}
    names = {"dpsel": dpsel, "parameters": parameters}
    exec(compile(cell_of("adbc"), str(PAGE), "exec"), names)  # noqa: S102 - our own example
    assert names["release"].to_pylist() == [0, 1, 2]


def bigquery() -> list[Callable[..., Any]]:
    from google.cloud.bigquery import Client, QueryJob

    return [Client, Client.query, QueryJob.to_arrow]


def snowflake() -> list[Callable[..., Any]]:
    from snowflake.connector import SnowflakeConnection, connect
    from snowflake.connector.cursor import SnowflakeCursor

    made = [SnowflakeConnection.cursor, SnowflakeCursor.execute, SnowflakeCursor.fetch_arrow_all]
    return [connect, SnowflakeConnection.__enter__, SnowflakeCursor.__enter__, *made]


def databricks() -> list[Callable[..., Any]]:
    from databricks.sql import connect
    from databricks.sql.client import Connection, Cursor

    made = [Connection.cursor, Cursor.execute, Cursor.fetchall_arrow]
    return [connect, Connection.__enter__, Cursor.__enter__, *made]


@pytest.mark.parametrize(
    ("library", "functions"),
    [
        ("google.cloud.bigquery", bigquery),
        ("snowflake.connector", snowflake),
        ("databricks.sql", databricks),
    ],
)
def test_a_warehouse_has_what_its_lines_call(library, functions) -> None:
    """Without an account nothing more can be seen: each call is bound to the signature of the real client."""
    pytest.importorskip(library, reason=MISSING)
    known = {function.__name__: function for function in [*functions(), dpsel.select_partitions]}
    calls = [
        each for each in ast.walk(ast.parse(cell_of(library.split(".")[-2]))) if isinstance(each, ast.Call)
    ]
    assert len(calls) >= 4
    for call in calls:
        function = known[call.func.attr]
        given = [None] * (len(call.args) + (function.__qualname__ != function.__name__))
        named = {each.arg: None for each in call.keywords if each.arg is not None}
        options = (
            {}
            if None not in {each.arg for each in call.keywords}
            else {"privacy": 1, "max_items_per_user": 3}
        )
        signature(function).bind(*given, **named, **options)
