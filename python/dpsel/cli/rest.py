"""``dpsel rest``: the keys of a release with their numbers, and a row for everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpsel.cli._options import report_of_items_option
from dpsel.cli._results import output_options, write_derived

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
@output_options
def command(items: Path, **options: Any) -> None:
    """Write the keys of ITEMS and their numbers, and a last row for everything else.

    ITEMS is the file of a release with numbers (--counts) and those of the rest (--rest).
    """
    write_derived(items, options, lambda release: release.with_rest(label=options["label"]))
