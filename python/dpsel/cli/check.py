"""``dpsel check``: derive thresholds and cost again from reports alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import dpsel
from dpsel.cli._exit import ExitCode
from dpsel.cli._streams import require_stdout
from dpsel.exceptions import ReportError

if TYPE_CHECKING:
    from dpsel.release import CheckResult

_EPILOG = """\
\b
Example:
  dpsel check report.json && echo "it holds"

What it can and cannot say: it computes every noise scale and threshold again from the parameters in the
report, so a report with other numbers fails. It cannot know whether the report belongs to a given file of
items, or whether the key was drawn at random.
"""


@click.command("check", epilog=_EPILOG, short_help="Derive the numbers of a report again.")
@click.argument("reports", nargs=-1, required=True, metavar="REPORTS...", type=click.Path(path_type=Path))
def command(reports: tuple[Path, ...]) -> int:
    """Derive thresholds and cost again from REPORTS alone, without the data and without the release.

    Exits with 4 if a report does not hold.
    """
    require_stdout()
    failed = False
    for path in reports:
        result = _checked(path)
        failed |= not result.ok
        click.echo(f"{path}: {result}")
    return ExitCode.CHECK_FAILED if failed else ExitCode.OK


def _checked(path: Path) -> CheckResult:
    report = dpsel.Report.load(path)
    try:
        return dpsel.check(report)
    except ReportError as error:
        message = f"{path}: {error}"
        raise ReportError(message) from None
