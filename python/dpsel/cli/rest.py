"""``dpsel rest``: the keys of a release with their numbers, and a row for everything else."""

from __future__ import annotations

from pathlib import Path

import click

import dpsel
from dpsel.cli._options import report_of_items_option
from dpsel.cli._output import STDOUT, print_file, refuse_other_report, refuse_same_file
from dpsel.cli._results import STDOUT_FORMATS, target_of
from dpsel.cli._streams import require_stdout
from dpsel.outputs import report_beside

_EPILOG = """\
\b
Example:
  dpsel select visits.csv --user person --item page --counts 0.2 --rest 0.02 \\
      --epsilon 1 --delta 1e-8 --max-items-per-user 30 -o keys.csv --report keys.json
  dpsel rest keys.csv -o table.csv

It reads published numbers alone, so it costs nothing. The column `is_rest` is true in the added row alone.
"""


@click.command("rest", epilog=_EPILOG, short_help="Add a row for everything else to the keys of a release.")
@click.argument("items", type=click.Path(path_type=Path))
@click.option("--label", default="(rest)", show_default=True, metavar="TEXT", help="The key of the row.")
@report_of_items_option
@click.option(
    "-o",
    "--output",
    default=STDOUT,
    metavar="FILE",
    help="Rows to FILE, format by extension; - is standard output.  [default: -]",
)
@click.option(
    "--output-format", type=click.Choice(STDOUT_FORMATS), help="Format on standard output.  [default: csv]"
)
def command(items: Path, label: str, report: Path | None, output: str, output_format: str | None) -> None:
    """Write the keys of ITEMS and their numbers, and a last row for everything else.

    ITEMS is the file of a release with numbers (--counts) and those of the rest (--rest).
    """
    target = target_of(output, output_format)
    if target is None:
        require_stdout()
    refuse_same_file({"--output": target}, [], {"ITEMS": items, "--report": report})
    refuse_other_report(target, report or report_beside(items))
    found = dpsel.Release.load(items, report).with_rest(label=label)
    if target is None:
        print_file(output_format or STDOUT_FORMATS[0], found.write)
    else:
        found.write(target)
