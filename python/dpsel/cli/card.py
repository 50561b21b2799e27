"""``dpsel card``: one page to publish beside the data, from a report alone."""

from __future__ import annotations

from pathlib import Path

import click

import dpsel

_EPILOG = """\
\b
Example:
  dpsel card report.json -o card.html
  dpsel card report.json -o figure.svg

The page holds public parameters and what they mean in words. It needs no other file.
"""


@click.command("card", epilog=_EPILOG, short_help="Write a page that says what a release protects.")
@click.argument("report", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="A file .html, or .svg for the figure alone."
)
def command(report: Path, output: str) -> None:
    """Write a page to publish beside the items of REPORT."""
    dpsel.release.Card(dpsel.Report.load(report)).save(output)
