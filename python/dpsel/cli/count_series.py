"""``dpsel count-series``: numbers of users of public items for each release, at one price for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import dpsel
from dpsel.cli._series import add_common_commands, create_options, release_options, show_release
from dpsel.cli._series import create as make
from dpsel.cli._types import ItemFile, WholeRange

if TYPE_CHECKING:
    from pathlib import Path

    from dpsel.cli._types import Items

_EPILOG = """\
\b
Example, with a file of the rows of one week and a list of items, one a line:
  dpsel count-series create numbers --key numbers.key --user user --item item \\
      --epsilon 2 --delta 1e-7 --releases 52 --max-items-per-user 10 --max-releases-per-item 26
  dpsel count-series release numbers week.parquet --key numbers.key --name 2026-W01 \\
      --items items.csv -o numbers.csv

FOLDER and --key are as of `dpsel series`. A release is committed before its numbers are shown. From then on
the same --name shows the same numbers, so repeat a command that failed.
"""


@click.group(
    "count-series", epilog=_EPILOG, short_help="Publish users of items week after week, at one price."
)
def command() -> None:
    """Publish numbers of users of public items for each release, such as every week, at one price."""


@command.command("create", short_help="Make a series of numbers, and pay for all of its releases.")
@create_options("Whoever has at most N of the items counts whole in all of them.")
@click.option(
    "--max-releases-per-item",
    type=WholeRange(min=1),
    metavar="N",
    help="In how many releases a user counts in an item: the first ones. Needed with --unit user.",
)
@click.option(
    "--window",
    type=WholeRange(min=1),
    default=1,
    metavar="N",
    help="A number adds up N releases, the last one included.  [default: 1]",
)
@click.option(
    "--unit",
    type=click.Choice(["user", "user-release"]),
    default="user",
    help="Who is protected: a user with all releases, or one release of a user.  [default: user]",
)
def create(folder: Path, **options: Any) -> None:
    """Make a series in FOLDER, and pay for all of its releases; a repeated command pays nothing again."""
    make(dpsel.CountSeries, folder, options, "max_releases_per_item", "window", "unit")


@command.command("release", short_help="Publish the numbers of the next release.")
@release_options
@click.option(
    "--items",
    type=ItemFile(),
    metavar="FILE",
    help="Public items to be counted from now on: a CSV file with the item columns. Needed at first.",
)
def release(folder: Path, paths: tuple[str, ...], items: Items | None, **options: Any) -> None:
    """Read PATHS, as of `dpsel select`, and publish the number of users of each item that was named.

    PATHS hold the rows of this release alone.
    """
    show_release(dpsel.CountSeries, folder, paths, options, items)


add_common_commands(command, dpsel.CountSeries)
