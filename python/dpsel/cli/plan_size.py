"""``dpsel plan-size``: the memory, scratch and time that a table takes, without any data."""

from __future__ import annotations

from typing import Any

import click

import dpsel
from dpsel.cli._options import json_option, print_result
from dpsel.cli._streams import require_stdout
from dpsel.cli._types import ByteSize, Counts, WholeRange

_EPILOG = """\
\b
Examples:
  dpsel plan-size --rows 1e9
  dpsel plan-size --rows 1e8,1e9,4.6e9 --memory-limit 4GiB

How to read it: figures are extrapolated from one workload on two cores, so expect them within a factor of
two. From the disk they hold with a limit from that of the table on; with less, a job may end with an error.
Without --memory-limit they are those of memory, for any size. Rows that need more than their part of
the memory limit go to the disk that --scratch of `dpsel select` names.
"""


@click.command("plan-size", epilog=_EPILOG, short_help="Memory, disk and time of a table, without data.")
@click.option(
    "--rows", required=True, type=Counts("1e8,1e9"), help="One or several numbers of distinct rows."
)
@click.option(
    "--memory-limit",
    type=ByteSize(),
    metavar="SIZE",
    help="The limit that the job will have, such as 4GiB. Without it all rows are in memory.",
)
@click.option(
    "--text-bytes",
    type=WholeRange(min=0),
    default=0,
    metavar="N",
    help="The length of an item that is a text.  [default: 0]",
)
@click.option("--scattered", is_flag=True, help="Rows of a user are not side by side: more disk and time.")
@json_option
def command(*, as_json: bool, **options: Any) -> None:
    """Show about how much memory, scratch and time a table of so many rows takes.

    Reads no data. Give public figures only.
    """
    require_stdout()
    rows = list(options.pop("rows"))
    print_result(dpsel.plan_size(rows, **options), as_json=as_json)
