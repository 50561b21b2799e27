"""What ``dpsel series`` and ``dpsel count-series`` have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dpsel
from dpsel.cli._budgets import ledger_option, paid_from, privacy_from, privacy_options
from dpsel.cli._exit import ExitCode
from dpsel.cli._options import (
    column_options,
    columns_from,
    format_option,
    json_option,
    memory_option,
    rows_from,
    threads_option,
)
from dpsel.cli._output import Staged, print_file, refuse_other_report, refuse_same_file
from dpsel.cli._results import STDOUT_FORMATS, output_options, target_of
from dpsel.cli._sql import sql_options
from dpsel.cli._streams import require_stdout
from dpsel.cli._types import ItemFile, Items, WholeRange, named_as
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

folder_argument = click.argument("folder", type=click.Path(path_type=Path))

key_option = click.option(
    "--key",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The key: 64 hexadecimal digits. `create` makes FILE if it is not there.",
)

booked_option = click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The ledger that booked the series, if one did.",
)


name_option = click.option(
    "--name",
    required=True,
    metavar="TEXT",
    help="What the release is called, such as 2026-W01; it is public. What a name that was used released is "
    "shown again, and no row is read.",
)


def with_output(command: Any) -> Any:
    """Add the options of what is written."""
    return output_options(click.option("-q", "--quiet", is_flag=True, help="No summary.")(command))


def create_options(limit: str) -> Callable[[Any], Any]:
    """Return what adds the options that every series is created with; ``limit`` says what its limit does."""
    options = (
        folder_argument,
        key_option,
        column_options,
        privacy_options,
        ledger_option,
        click.option(
            "--releases", required=True, type=WholeRange(min=1), metavar="N", help="The most releases."
        ),
        click.option("--max-items-per-user", required=True, type=WholeRange(min=1), metavar="N", help=limit),
    )
    return lambda function: _with(options, function)


def release_options(function: Any) -> Any:
    """Add the options of a release."""
    before = (folder_argument, click.argument("paths", nargs=-1, metavar="PATHS..."))
    settings = (sql_options, format_option, threads_option, memory_option, with_output)
    return _with((*before, key_option, booked_option, name_option, *settings), function)


def _with(options: tuple[Any, ...], function: Any) -> Any:
    for option in reversed(options):
        function = option(function)
    return function


Kind = type[dpsel.Series] | type[dpsel.CountSeries]


def create(kind: Kind, folder: Path, options: dict[str, Any], *own: str) -> None:
    """Make a series with the options that every kind has and its own ones, and say what it promises."""
    refuse_same_file({"FOLDER": folder}, [], {"--key": options["key"], "--ledger": options["ledger"]})
    series = kind.create(
        folder,
        key=options["key"],
        privacy=paid_from(privacy_from(options["epsilon"], options["rho"], options["delta"]), options),
        **columns_from(options),
        **{name: options[name] for name in ("releases", "max_items_per_user", *own)},
    )
    click.echo(str(series.status()), err=True)


def opened(kind: Kind, folder: Path, options: dict[str, Any]) -> Any:
    """Open the series of a folder."""
    return kind.open(folder, key=options["key"], ledger=options["ledger"])


def show_release(
    kind: Kind, folder: Path, paths: tuple[str, ...], options: dict[str, Any], named: Items | None = None
) -> None:
    """Make a release, and write what it has."""
    target = target_of(options["output"], options["output_format"])
    if target is None:
        require_stdout()
    read = {f"--{name}": options[name] for name in ("key", "ledger", "database")}
    read["--items"] = None if named is None else named.path
    refuse_same_file({"--output": target}, paths, read)
    refuse_other_report(target, None)
    series = opened(kind, folder, options)
    status = series.status()
    more = {} if named is None else {"items": named_as(status.item, "--items", named)}
    is_made = options["name"] in status.names
    rows = () if is_made and not paths and options["sql"] is None else rows_from(paths, options)
    with Staged() as staged:
        place = staged.add(target) if target else None
        settings = {name: options[name] for name in ("threads", "memory_limit", "file_format")}
        made = series.release(rows, options["name"], **more, **settings)
        if place:
            made.items.write(place)
    if not place:
        print_file(options["output_format"] or STDOUT_FORMATS[0], made.items.write)
    if not options["quiet"]:
        if is_made:
            click.echo("this release was made before: no row was read now, and nothing was spent", err=True)
        click.echo(str(made), err=True)


_FORGOTTEN = (
    "{:,} forgotten, if these are names of users: whether any table has them is not looked up. Name a column "
    "of bytes that are no text by --binary"
)


def _with_bytes(users: Items, binary: tuple[str, ...]) -> list[Any]:
    """Return the users, with bytes in place of hexadecimal digits in some columns."""
    if others := [name for name in binary if name not in users.header]:
        message = f"--binary: {quoted(others[0])} is no column of USERS; name one of its header line"
        raise click.UsageError(message)
    is_binary = [name in binary for name in users.header]
    rows = [(user,) if len(is_binary) == 1 else user for user in users]
    try:
        found = [
            tuple(bytes.fromhex(part) if are else part for part, are in zip(row, is_binary, strict=True))
            for row in rows
        ]
    except ValueError:
        message = "--binary: a field is no hexadecimal digits, two for each byte; nobody was forgotten"
        raise click.UsageError(message) from None
    return [row[0] if len(row) == 1 else row for row in found]


def add_common_commands(command: click.Group, kind: Kind) -> None:
    """Add the commands that every series has."""

    @command.command("status", short_help="Show how many releases were made.")
    @folder_argument
    @key_option
    @booked_option
    @json_option
    def status(folder: Path, *, as_json: bool, **options: Any) -> None:
        """Show what the series in FOLDER promises, and its releases."""
        require_stdout()
        found = opened(kind, folder, options).status()
        click.echo(found.to_json() if as_json else str(found))

    @command.command("check", short_help="Derive the certificate of a series again.")
    @folder_argument
    @key_option
    @booked_option
    def check(folder: Path, **options: Any) -> int:
        """Derive the certificate of the series in FOLDER again, and go through its commits.

        Exits with 4 if it does not hold, and with 3 if a file is missing or was changed.
        """
        require_stdout()
        result = opened(kind, folder, options).check()
        click.echo(str(result))
        return ExitCode.OK if result.ok else ExitCode.CHECK_FAILED

    @command.command("card", short_help="Write a page that says what all releases protect.")
    @folder_argument
    @key_option
    @booked_option
    @click.option(
        "-o", "--output", required=True, metavar="FILE", help="A file .html, or .svg for the figure alone."
    )
    def card(folder: Path, output: str, **options: Any) -> None:
        """Write a page to publish beside what the series in FOLDER released.

        It has the guarantee of all releases together, their names, and how many items each published.
        """
        refuse_same_file({"--output": Path(output)}, [], {f"--{name}": options[name] for name in options})
        opened(kind, folder, options).card().save(output)

    @command.command("forget", short_help="Delete what a series keeps of users.")
    @folder_argument
    @click.argument("users", type=ItemFile())
    @key_option
    @booked_option
    @click.option(
        "--binary",
        "binary",
        multiple=True,
        metavar="COLUMN",
        help="A column of USERS that has bytes in hexadecimal digits.  [repeatable]",
    )
    def forget(folder: Path, users: Items, *, binary: tuple[str, ...], **options: Any) -> None:
        """Delete what the series in FOLDER keeps of the users in USERS, which give nothing from then on.

        USERS is a CSV file with a header line, which has the user columns of the series. A field stands for
        the text, and for the number, day, time or UUID that it says. Bytes that are no text need --binary.
        """
        series = opened(kind, folder, options)
        columns = list(series.status().user)
        if users.header != columns:
            message = f"USERS needs a header line with the user columns of the series: {','.join(columns)}"
            raise click.UsageError(message)
        for user in _with_bytes(users, binary):
            series.forget(user)
        click.echo(_FORGOTTEN.format(len(users)), err=True)

    @command.command("close", short_help="Destroy the state of a series; what was released stays.")
    @folder_argument
    @key_option
    @booked_option
    @click.option("--forever", is_flag=True, help="Confirm it: nothing brings the state back.")
    def close(folder: Path, *, forever: bool, **options: Any) -> None:
        """Destroy the state of the series in FOLDER, and with it all that is kept of users.

        What was released stays. No further release can be made. Nothing has to be closed after use.
        """
        if not forever:
            message = "no further release can be made after this; confirm it with --forever"
            raise click.UsageError(message)
        opened(kind, folder, options).close(forever=True)
