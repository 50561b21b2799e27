"""Options that several commands share, and the values that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from dpsel.cli._sql import rows_of_query
from dpsel.cli._types import ByteSize, Counts, FileFormat, HexKey, WholeRange
from dpsel.quoting import quoted_path

F = TypeVar("F", bound=Callable[..., Any])

PLOT_EXTENSIONS = (".png", ".svg", ".pdf")


class Named:
    """A path as it was given: only a path can stand there, so errors may quote it."""

    def __init__(self, path: str) -> None:
        """Keep the path unchanged: ``./-`` is a file and ``-`` is the standard input."""
        self._path = path

    def __fspath__(self) -> str:
        """Return the path."""
        return self._path


def inputs_from(paths: Sequence[str], file_format: object) -> list[Named]:
    """Return the files to read; ``-`` has no name to tell its format."""
    if "-" in paths and file_format is None:
        message = "- is standard input, which has no name to tell the format; pass --format"
        raise click.UsageError(message)
    return [Named(path) for path in paths]


def rows_from(paths: Sequence[str], options: dict[str, Any]) -> Any:
    """Return the files to read, or the query of ``--sql``."""
    query, database = options["sql"], options["database"]
    if query is None:
        if database is not None:
            message = "--database is the database of a query; give --sql as well"
            raise click.UsageError(message)
        if not paths:
            message = "Missing argument 'PATHS...': name the files to read, or give --sql"
            raise click.UsageError(message)
        return inputs_from(paths, options["file_format"])
    if paths or options["file_format"] is not None:
        given = "PATHS" if paths else "--format"
        message = f"--sql says where the rows come from; leave {given} out, or name the files in the query"
        raise click.UsageError(message)
    return rows_of_query(query, database, options["threads"])


def column_options(command: F) -> F:
    """Add ``--user`` and ``--item``, which may be repeated; see ``columns_from``."""
    user = click.option(
        "--user",
        "users",
        required=True,
        multiple=True,
        metavar="COLUMN",
        help="Column that identifies the user; repeat it if several do so together.",
    )
    item = click.option(
        "--item",
        "items",
        required=True,
        multiple=True,
        metavar="COLUMN",
        help="Column of the item; repeat it for a key of several columns.",
    )
    return user(item(command))


def columns_from(options: dict[str, Any]) -> dict[str, Any]:
    """Return the columns as keyword arguments."""
    return {"user": _one_or_list(options["users"]), "item": _one_or_list(options["items"])}


def _one_or_list(names: tuple[str, ...]) -> str | list[str]:
    return names[0] if len(names) == 1 else list(names)


format_option = click.option(
    "--format",
    "file_format",
    type=FileFormat(),
    metavar="FORMAT",
    help=f"Format of PATHS, if their names do not tell it; - needs it: {', '.join(FileFormat.NAMES)}, or a "
    "text file of another form, such as \"csv(delimiter=';', header=false)\"; also quote and escape.",
)


threads_option = click.option(
    "--threads",
    type=WholeRange(min=1),
    metavar="N",
    help="Use at most N threads.  [default: one for each core]",
)

ngrams_option = click.option(
    "--ngrams",
    type=Counts("1,2"),
    metavar="MIN[,MAX]",
    help="The item column is text; the items are its n-grams of MIN to MAX words.",
)


tokenizer_option = click.option(
    "--tokenizer",
    type=click.Choice(("words", "chars", "subwords")),
    help="What n-grams are made of: words, characters, or characters of one word.  [default: words]",
)


def levels_options(command: F) -> F:
    """Add what makes the items nodes of a tree."""
    columns = click.option(
        "--levels",
        is_flag=True,
        help="The item columns are the levels of a tree, from the top; a column `level` is added.",
    )
    separator = click.option(
        "--levels-by",
        metavar="TEXT",
        help="The item column has paths, whose parts TEXT separates, such as / in files.",
    )
    return columns(separator(command))


def levels_from(options: dict[str, Any]) -> bool | str | None:
    """Return both options as the argument ``levels``."""
    if options["levels"] and options["levels_by"] is not None:
        raise click.UsageError(
            "--levels makes a level of each item column and --levels-by of each part of one; give one of them"
        )
    return options["levels_by"] if options["levels_by"] is not None else options["levels"] or None


def ngrams_from(lengths: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return (fewest, most) words: ``2`` is pairs only, ``1,2`` single words and pairs."""
    return lengths * 2 if lengths and len(lengths) == 1 else lengths


memory_option = click.option(
    "--memory-limit",
    type=ByteSize(),
    metavar="SIZE",
    help="Use at most SIZE, such as 4GiB; half of the free memory.",
)


def running_options(command: F) -> F:
    """Add what every command that releases items has: how it reads, how it runs, and a key for tests."""
    key = click.option(
        "--insecure-test-key", type=HexKey(), help="Fixed release key: reproducible, NOT PRIVATE. Tests only."
    )
    return format_option(threads_option(memory_option(key(command))))


def running_from(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of ``running_options`` as keyword arguments."""
    return {name: options[name] for name in ("threads", "memory_limit", "insecure_test_key", "file_format")}


def scratch_options(command: F) -> F:
    """Add where rows go that exceed the memory limit."""
    folder = click.option(
        "--scratch",
        type=click.Path(file_okay=False),
        metavar="FOLDER",
        default="auto",
        callback=lambda _context, _option, folder: None if folder == "none" else folder,
        help="Put rows beyond --memory-limit there, encrypted. [default: a disk that is found; none: stop]",
    )
    most = click.option(
        "--scratch-limit", type=ByteSize(), metavar="SIZE", help="Take at most SIZE there, such as 100GiB."
    )
    return folder(most(command))


report_of_items_option = click.option(
    "--report",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The report of ITEMS.  [default: its name with the extension .json]",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")

plot_option = click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Draw the curves ({', '.join(PLOT_EXTENSIONS)}).",
)


def check_plot(plot: Path | None) -> None:
    """Refuse a plot whose name does not tell a format that can be drawn."""
    if plot and plot.suffix not in PLOT_EXTENSIONS:
        known = ", ".join(PLOT_EXTENSIONS)
        message = f"--plot needs a file name that ends in one of {known}, got {quoted_path(plot)}"
        raise click.UsageError(message)


def print_result(found: Any, *, as_json: bool) -> None:
    """Print a plan or a comparison, as a table for a person or as JSON."""
    click.echo(found.to_json() if as_json else str(found))
