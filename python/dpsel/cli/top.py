"""``dpsel top``: the largest keys of a release, in all or of each group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpsel.cli._options import report_of_items_option
from dpsel.cli._results import output_options, write_derived
from dpsel.cli._types import WholeRange

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
@output_options
def command(items: Path, **options: Any) -> None:
    """Write the K keys of ITEMS with the largest numbers.

    ITEMS is the file of a release with numbers (--counts). Equal numbers are sorted by their keys.
    """
    write_derived(
        items,
        options,
        lambda release: release.top(options["k"], by=list(options["by"]) or None, level=options["level"]),
    )
