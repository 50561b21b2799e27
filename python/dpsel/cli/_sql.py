"""Rows from a query: ``--sql`` runs it in DuckDB, which reads files and other databases."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from dpsel import exceptions
from dpsel.quoting import quoted_path

F = TypeVar("F", bound=Callable[..., Any])

#: Errors of DuckDB about names. Their text may list others, which may be data: keys of JSON, the first row of
#: a CSV without a header.
_OF_NAMES = ("CatalogException", "BinderException")
#: The words of the plain ones of them.
_PLAIN = frozenset(
    {"a", "binder", "catalog", "clause", "column", "does", "error", "exist", "found", "from", "function"}
    | {"have", "in", "name", "named", "not", "referenced", "scalar", "schema", "table", "with"}
)
#: Nothing is written to disk, which DuckDB would do without encryption where memory is short.
_NO_FILES = ""


class Query(click.ParamType[str]):
    """A query, or ``@FILE`` with one."""

    name = "query"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read the file if one is named."""
        if not value.startswith("@"):
            return str(value)
        try:
            return Path(value[1:]).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self.fail(
                f"cannot read {quoted_path(value[1:])}: {getattr(error, 'strerror', None) or 'no UTF-8'}",
                param,
                ctx,
            )


def sql_options(command: F) -> F:
    """Add ``--sql`` and ``--database``; see ``rows_of_query``."""
    sql = click.option(
        "--sql",
        type=Query(),
        metavar="QUERY|@FILE",
        help="Take the rows of a query in place of PATHS; needs DuckDB (the extra dpsel[sql]).",
    )
    database = click.option(
        "--database",
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help="DuckDB database of the query; it is opened for reading only.",
    )
    return sql(database(command))


def rows_of_query(query: str, database: str | None, threads: int | None) -> Any:
    """Open the query. Its rows are read in batches, and only when the release reads them.

    Raises:
        click.UsageError: If the query is wrong, or DuckDB is not installed.
        dpsel.exceptions.DataError: If DuckDB fails otherwise; its text could quote rows, and is left out.
    """
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError:
        message = '--sql needs DuckDB; install it with: pip install "dpsel[sql]"'
        raise click.UsageError(message) from None
    settings = {"temp_directory": _NO_FILES} | ({} if threads is None else {"threads": str(threads)})
    try:
        connection = duckdb.connect(database or ":memory:", read_only=database is not None, config=settings)
        _check([statement.type.name for statement in connection.extract_statements(query)])
        relation = connection.sql(query)
    except duckdb.Error as error:
        raise _refusal(error, query) from None
    return relation


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _check(kinds: list[str]) -> None:
    """Refuse what is no SELECT at its end, and columns whose names come from rows: errors would quote them.

    DuckDB splits a PIVOT without a list of values into several statements, and calls them MULTI.
    """
    if "MULTI" in kinds:
        message = (
            "--sql: PIVOT without a list of values takes the names of its columns from the rows; list the "
            "values, PIVOT ... ON column IN (...)"
        )
        raise click.UsageError(message)
    if kinds[-1:] != ["SELECT"]:
        message = "--sql must end with a SELECT"
        raise click.UsageError(message)


def _refusal(error: Exception, query: str) -> Exception:
    name = type(error).__name__
    if name == "ParserException":  # whose text is made of the query alone
        return click.UsageError(f"--sql: {error}")
    if name in _OF_NAMES:
        line = str(error).partition("\n")[0]
        if _words(line) <= _PLAIN | _words(query):
            return click.UsageError(f"--sql: {line}")
        return click.UsageError(
            f"--sql: DuckDB cannot run the query ({name}); its message may quote data and is left out; "
            "run the query in DuckDB to see it"
        )
    return exceptions.DataError(
        f"DuckDB could not open the query ({type(error).__name__}); its message may quote rows and is left "
        "out; run the query in DuckDB to see it"
    )
