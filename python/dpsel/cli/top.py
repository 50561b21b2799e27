"""``dpsel top``: the largest keys of a release, in all or of each group."""

from __future__ import annotations

from pathlib import Path

import click

import dpsel
from dpsel.cli._options import report_of_items_option
from dpsel.cli._output import STDOUT, print_file, refuse_other_report, refuse_same_file
from dpsel.cli._results import STDOUT_FORMATS, target_of
from dpsel.cli._streams import require_stdout
from dpsel.cli._types import WholeRange
from dpsel.outputs import report_beside

_EPILOG = """\
\b
Example:
  dpsel select visits.csv --user person --item country --item page --counts 0.3 \\
      --epsilon 1 --delta 1e-8 --max-items-per-user 30 -o keys.csv --report keys.json
  dpsel top keys.csv -k 10 --by country

It reads published keys and numbers alone, so it costs nothing, for every k and every grouping.
"""


@click.command("top", epilog=_EPILOG, short_help="Show the largest keys of a release, also by group.")
@click.argument("items", type=click.Path(path_type=Path))
@click.option("-k", "k", type=WholeRange(min=1), required=True, metavar="K", help="The most keys of a group.")
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Item column whose values make the groups; repeat it for several.  [default: all keys are one]",
)
@click.option(
    "--level",
    type=WholeRange(min=1),
    metavar="N",
    help="Of a tree, only nodes of this level, from 1 at the top.  [default: of all levels]",
)
@report_of_items_option
@click.option(
    "-o",
    "--output",
    default=STDOUT,
    metavar="FILE",
    help="Keys to FILE, format by extension; - is standard output.  [default: -]",
)
@click.option(
    "--output-format", type=click.Choice(STDOUT_FORMATS), help="Format on standard output.  [default: csv]"
)
def command(
    items: Path,
    k: int,
    by: tuple[str, ...],
    level: int | None,
    report: Path | None,
    output: str,
    output_format: str | None,
) -> None:
    """Write the K keys of ITEMS with the largest numbers.

    ITEMS is the file of a release with numbers (--counts). Equal numbers are sorted by their keys.
    """
    target = target_of(output, output_format)
    if target is None:
        require_stdout()
    refuse_same_file({"--output": target}, [], {"ITEMS": items, "--report": report})
    refuse_other_report(target, report or report_beside(items))
    found = dpsel.Release.load(items, report).top(k, by=list(by) or None, level=level)
    if target is None:
        print_file(output_format or STDOUT_FORMATS[0], found.write)
    else:
        found.write(target)
