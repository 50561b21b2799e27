"""``dpsel series``: a list of new items for each release, at one price for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import dpsel
from dpsel.cli._series import add_common_commands, create_options, release_options, show_release
from dpsel.cli._series import create as make

if TYPE_CHECKING:
    from pathlib import Path

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


@click.group("series", epilog=_EPILOG, short_help="Publish new items week after week, at one price.")
def command() -> None:
    """Publish a list of new items for each release, such as every week, at one price for all of them."""


@command.command("create", short_help="Make a series, and pay for all of its releases.")
@create_options("The most items of each user that ever count, in the order in which they come.")
@click.option(
    "--prompt",
    is_flag=True,
    help="Items of a user count at once, and not from the next block on. Nothing is promised to a user whose "
    "own rows react to lists of the running block.",
)
def create(folder: Path, **options: Any) -> None:
    """Make a series in FOLDER, and pay for all of its releases; a repeated command pays nothing again."""
    make(dpsel.Series, folder, options, "prompt")


@command.command("release", short_help="Publish the new items of the next release.")
@release_options
def release(folder: Path, paths: tuple[str, ...], **options: Any) -> None:
    """Read PATHS, as of `dpsel select`, and publish the new items of the next release.

    Pairs of user and item that were seen before are ignored, so PATHS may hold all rows so far or the new
    ones alone. There is no progress bar: only the list may tell of the noise.
    """
    show_release(dpsel.Series, folder, paths, options)


add_common_commands(command, dpsel.Series)
