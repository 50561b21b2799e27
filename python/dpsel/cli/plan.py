"""``dpsel plan``: thresholds and release probabilities, without any data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import dpsel
from dpsel.cli._budgets import (
    counted_from,
    counted_options,
    privacy_from,
    privacy_options,
    rest_from,
    rest_options,
)
from dpsel.cli._mechanisms import MechanismCommand, mechanism_option
from dpsel.cli._options import (
    check_plot,
    json_option,
    plot_option,
    print_result,
)
from dpsel.cli._output import Staged
from dpsel.cli._streams import require_stdout
from dpsel.cli._types import Counts, Limits, WholeRange

if TYPE_CHECKING:
    from pathlib import Path

_EPILOG = """\
\b
Examples:
  dpsel plan --epsilon 1 --delta 1e-8 --max-items-per-user 1,10,100
  dpsel plan --rho 0.1 --delta 1e-6 --max-items-per-user 50,500 \\
      --mechanism weighted-gaussian --mechanism 'sips(rounds=2)' --users 20,50,100
  dpsel plan --epsilon 1 --delta 1e-8 --max-items-per-user 10,100 --items-per-user 5,50
  dpsel plan --epsilon 1 --delta 1e-8 --max-items-per-user 10 --plot keep.png

How to read it: "users for 95%" is the number of users that an item needs to be released with a probability
of 95%, if each of these users has as many items as --items-per-user says. Without that option each has as
many as the mechanism keeps (the limit times its reach), which is the worst case. A larger limit often
releases more all the same: name the items of typical users to see what it costs them.
"""


@click.command(
    "plan",
    cls=MechanismCommand,
    epilog=_EPILOG,
    short_help="Thresholds and release probabilities, without data.",
)
@privacy_options
@click.option("--max-items-per-user", required=True, type=Limits(), help="Limits to compare, or a quantile.")
@mechanism_option("selection", several=True)
@click.option(
    "--users",
    type=Counts(),
    default="10,100,1000",
    show_default=True,
    help="Show the release probability of items with these numbers of users.",
)
@click.option(
    "--items-per-user",
    type=Counts(),
    help="Items of each user who holds the item, or several to compare.  [default: all that are kept]",
)
@click.option(
    "--with-weights",
    is_flag=True,
    help="Plan releases with noisy weights, for which auto may choose another mechanism.",
)
@click.option(
    "--min-users",
    type=WholeRange(min=1),
    default=1,
    metavar="K",
    help="Plan releases of no item of fewer than K users.  [default: 1]",
)
@counted_options
@rest_options
@plot_option
@json_option
def command(plot: Path | None, *, as_json: bool, **options: Any) -> None:
    """Show the threshold of a budget, and the number of users that an item needs to be released.

    Reads no data, so it costs no privacy.
    """
    require_stdout(plot)
    privacy = privacy_from(options["epsilon"], options["rho"], options["delta"])
    mechanisms = [each.made() for each in options["mechanisms"]]
    check_plot(plot)
    planned = dpsel.plan(
        privacy=privacy,
        max_items_per_user=list(options["max_items_per_user"]),
        mechanisms=mechanisms or None,
        items_per_user=options["items_per_user"] and list(options["items_per_user"]),
        users=list(options["users"]),
        with_weights=options["with_weights"],
        min_users=options["min_users"],
        counts=counted_from(options),
        rest=rest_from(options),
    )
    with Staged() as staged:
        if plot:
            planned.plot(staged.add(plot))
    print_result(planned, as_json=as_json)
