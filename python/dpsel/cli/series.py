"""``dpsel series``: a list of new items for each release, at one price for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
from dpsel.cli._output import STDOUT, Staged, print_file, refuse_same_file
from dpsel.cli._results import STDOUT_FORMATS, target_of
from dpsel.cli._sql import sql_options
from dpsel.cli._streams import require_stdout
from dpsel.cli._types import ItemFile, Items, WholeRange

_EPILOG = """\
\b
Example, with a file of all rows so far or of the new ones alone:
  dpsel series create drinks --key drinks.key --user user --item item \\
      --epsilon 2 --delta 1e-7 --releases 52 --max-items-per-user 100
  dpsel series release drinks rows.parquet --key drinks.key --name 2026-W01 -o new.csv
  dpsel series status drinks --key drinks.key

What the series knows of users is in FOLDER, encrypted under the key in the file of --key. Keep the two
apart, and FOLDER in one place: of two copies that go on nothing is promised. A release is committed before
its list is shown. From then on the same --name shows the same list, so repeat a command that failed.
"""

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


@click.group("series", epilog=_EPILOG, short_help="Publish new items week after week, at one price.")
def command() -> None:
    """Publish a list of new items for each release, such as every week, at one price for all of them."""


@command.command("create", short_help="Make a series, and pay for all of its releases.")
@folder_argument
@key_option
@column_options
@privacy_options
@ledger_option
@click.option("--releases", required=True, type=WholeRange(min=1), metavar="N", help="The most releases.")
@click.option(
    "--max-items-per-user",
    required=True,
    type=WholeRange(min=1),
    metavar="N",
    help="The most items of each user that ever count, in the order in which they come.",
)
@click.option(
    "--prompt",
    is_flag=True,
    help="Items of a user count at once, and not from the next block on. Nothing is promised to a user whose "
    "own rows react to lists of the running block.",
)
def create(folder: Path, **options: Any) -> None:
    """Make a series in FOLDER, and pay for all of its releases; a repeated command pays nothing again."""
    refuse_same_file({"FOLDER": folder}, [], {"--key": options["key"], "--ledger": options["ledger"]})
    series = dpsel.Series.create(
        folder,
        key=options["key"],
        privacy=paid_from(privacy_from(options["epsilon"], options["rho"], options["delta"]), options),
        **columns_from(options),
        **{name: options[name] for name in ("releases", "max_items_per_user", "prompt")},
    )
    click.echo(str(series.status()), err=True)


@command.command("release", short_help="Publish the new items of the next release.")
@folder_argument
@click.argument("paths", nargs=-1, metavar="PATHS...")
@key_option
@booked_option
@click.option(
    "--name",
    required=True,
    metavar="TEXT",
    help="What the release is called, such as 2026-W01; it is public. The list of a name that was used is "
    "shown again, and no row is read.",
)
@sql_options
@format_option
@threads_option
@memory_option
@click.option(
    "-o",
    "--output",
    default=STDOUT,
    metavar="FILE",
    help="Items to FILE, format by extension; - is standard output.  [default: -]",
)
@click.option(
    "--output-format", type=click.Choice(STDOUT_FORMATS), help="Format on standard output.  [default: csv]"
)
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
def release(folder: Path, paths: tuple[str, ...], **options: Any) -> None:
    """Read PATHS, as of `dpsel select`, and publish the new items of the next release.

    Pairs of user and item that were seen before are ignored, so PATHS may hold all rows so far or the new
    ones alone. There is no progress bar: only the list may tell of the noise.
    """
    target = target_of(options["output"], options["output_format"])
    if target is None:
        require_stdout()
    read = {"--key": options["key"], "--ledger": options["ledger"], "--database": options["database"]}
    refuse_same_file({"--output": target}, paths, read)
    series = _opened(folder, options)
    is_known = not paths and options["sql"] is None and options["name"] in series.status().names
    rows = () if is_known else rows_from(paths, options)
    with Staged() as staged:
        place = staged.add(target) if target else None
        made = series.release(
            rows,
            options["name"],
            **{name: options[name] for name in ("threads", "memory_limit", "file_format")},
        )
        if place:
            made.items.write(place)
    if not place:
        print_file(options["output_format"] or STDOUT_FORMATS[0], made.items.write)
    if not options["quiet"]:
        click.echo(str(made), err=True)


@command.command("status", short_help="Show how many releases were made.")
@folder_argument
@key_option
@booked_option
@json_option
def status(folder: Path, *, as_json: bool, **options: Any) -> None:
    """Show what the series in FOLDER promises, and its releases."""
    require_stdout()
    found = _opened(folder, options).status()
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
    result = _opened(folder, options).check()
    click.echo(str(result))
    return ExitCode.OK if result.ok else ExitCode.CHECK_FAILED


@command.command("forget", short_help="Delete what a series keeps of users.")
@folder_argument
@click.argument("users", type=ItemFile())
@key_option
@booked_option
def forget(folder: Path, users: Items, **options: Any) -> None:
    """Delete what the series in FOLDER keeps of the users in USERS, which give nothing from then on.

    USERS is a CSV file with a header line, which has the user columns of the series. A field stands for the
    text, and for the number, day or time that it says.
    """
    series = _opened(folder, options)
    columns = list(series.status().user)
    if users.header != columns:
        message = f"USERS needs a header line with the user columns of the series: {','.join(columns)}"
        raise click.UsageError(message)
    for user in users:
        series.forget(user)


@command.command("close", short_help="Destroy the state of a series; its lists stay.")
@folder_argument
@key_option
@booked_option
@click.option("--forever", is_flag=True, help="Confirm it: nothing brings the state back.")
def close(folder: Path, *, forever: bool, **options: Any) -> None:
    """Destroy the state of the series in FOLDER, and with it all that is kept of users. The lists stay.

    No further release can be made. Nothing has to be closed after use.
    """
    if not forever:
        message = "no further release can be made after this; confirm it with --forever"
        raise click.UsageError(message)
    _opened(folder, options).close(forever=True)


def _opened(folder: Path, options: dict[str, Any]) -> dpsel.Series:
    return dpsel.Series.open(folder, key=options["key"], ledger=options["ledger"])
