"""``dpsel check``: derive thresholds and cost again from reports alone."""

from __future__ import annotations

from pathlib import Path

import click

import dpsel
from dpsel.cli._exit import ExitCode

_EPILOG = """\
\b
Example:
  dpsel check report.json && echo "it holds"

What it can and cannot say: it recomputes every noise scale and threshold from the parameters in the
report, so a report with other numbers fails. It cannot know whether the report belongs to a given file of
items, nor whether the key was drawn fairly.
"""


@click.command("check", epilog=_EPILOG, short_help="Derive the numbers of a report again.")
@click.argument("reports", nargs=-1, required=True, metavar="REPORTS...", type=click.Path(path_type=Path))
def command(reports: tuple[Path, ...]) -> int:
    """Derive thresholds and cost again from REPORTS alone; needs neither the data nor the release.

    Exits with 4 if a report does not hold.
    """
    failed = False
    for path in reports:
        result = dpsel.check(path)
        failed |= not result.ok
        click.echo(f"{path}: {result}")
    return ExitCode.CHECK_FAILED if failed else ExitCode.OK
