"""``dpsel filter``: the rows of files whose item was released. They are private data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import dpsel
from dpsel.cli._options import format_option, inputs_from, report_of_items_option
from dpsel.cli._output import refuse_same_file

_EPILOG = """\
\b
Examples:
  dpsel select events.csv --user user_id --item query --epsilon 1 --delta 1e-8 \\
      --max-items-per-user 100 -o queries.csv --report queries.json
  dpsel filter queries.csv events.csv -o kept.csv
  dpsel filter queries.csv events.csv -o labelled.csv --other other
  dpsel filter queries.csv events.txt -o kept.txt --format "csv(delimiter=';')"

THE OUTPUT IS PRIVATE DATA: it has rows of the input with all their columns. Only the list of items is
protected. Do not publish it; hand it to a tool that protects what it computes.
"""


@click.command("filter", epilog=_EPILOG, short_help="Keep the rows of a file whose item was released.")
@click.argument("items", type=click.Path(path_type=Path))
@click.argument("paths", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="FILE", help="Rows to FILE, in the format of PATHS.")
@report_of_items_option
@click.option(
    "--item",
    "columns",
    multiple=True,
    metavar="COLUMN",
    help="Column of PATHS that holds the item; repeat it for several.  [default: those of the selection]",
)
@format_option
@click.option("--other", metavar="LABEL", help="Keep the other rows too, with LABEL in place of their item.")
@click.option("-q", "--quiet", is_flag=True, help="No reminder that the output is private.")
def command(
    items: Path,
    paths: tuple[str, ...],
    output: str,
    report: Path | None,
    columns: tuple[str, ...],
    other: str | None,
    *,
    quiet: bool,
    file_format: Any,
) -> None:
    """Write the rows of PATHS whose item is in ITEMS, the file of a release.

    PATHS are those of a selection: files, folders, patterns, or - for standard input. Parquet and Arrow
    files need pyarrow.
    """
    refuse_same_file({"--output": output}, paths, {"ITEMS": items, "--report": report})
    release = dpsel.Release.load(items, report)
    data = inputs_from(paths, file_format)
    release.filter_file(data, output, item=list(columns) or None, other=other, file_format=file_format)
    if not quiet:
        click.echo(
            f"{output} is PRIVATE DATA: it has rows of the input; do not publish it",
            err=True,
        )
