"""``dpsel plan-top-k``: budgets per round and bounds of the loss of a top-k, without any data."""

from __future__ import annotations

from typing import Any

import click

import dpsel
from dpsel.cli._budgets import counts_from, counts_options, privacy_of, privacy_options
from dpsel.cli._mechanisms import MechanismCommand, mechanism_option
from dpsel.cli._options import json_option, print_result
from dpsel.cli._streams import require_stdout
from dpsel.cli._types import Counts, WholeRange
from dpsel.mechanisms.words import AUTO

_EPILOG = """\
\b
Examples:
  dpsel plan-top-k --epsilon 1 --k 10,100 --items 100000
  dpsel plan-top-k --epsilon 1 --delta 1e-6 --k 100 --items 100000 \\
      --mechanism joint --mechanism gumbel-peel

How to read it: with the given probability, each returned item has at most that many users fewer than the
true item at its place. That number is the loss.
"""


@click.command(
    "plan-top-k",
    cls=MechanismCommand,
    epilog=_EPILOG,
    short_help="Bounds of the loss of a top-k, without data.",
)
@privacy_options
@click.option("--k", required=True, type=Counts(), help="One or several numbers of items to compare.")
@click.option("--items", required=True, type=WholeRange(min=1), metavar="N", help="Items in the domain.")
@mechanism_option("top-k", several=True)
@click.option("--unordered", is_flag=True, help="Let auto choose a mechanism for a set without an order.")
@click.option(
    "--max-items-per-user", type=WholeRange(min=1), metavar="N", help="Items of each user that count."
)
@click.option(
    "--neighbours",
    type=click.Choice(("add-remove", "swap", "any")),
    default="add-remove",
    show_default=True,
    help="Add or remove a user, swap one for another, or (for counts) change each count in any direction.",
)
@click.option(
    "--sensitivity",
    type=WholeRange(min=1),
    default=1,
    metavar="N",
    help="For counts: the most by which one user changes a count.  [default: 1]",
)
@counts_options
@json_option
def command(*, as_json: bool, **options: Any) -> None:
    """Show how far a top-k may fall short of the true one for a budget.

    Reads no data, so it costs no privacy.
    """
    require_stdout()
    planned = dpsel.plan_top_k(
        privacy=privacy_of(options["epsilon"], options["rho"], options["delta"]),
        k=list(options["k"]),
        items=options["items"],
        mechanisms=[each.made() for each in options["mechanisms"]] or AUTO,
        ordered=not options["unordered"],
        max_items_per_user=options["max_items_per_user"],
        neighbours=options["neighbours"].replace("-", "_"),
        sensitivity=options["sensitivity"],
        counts=counts_from(options),
    )
    print_result(planned, as_json=as_json)
