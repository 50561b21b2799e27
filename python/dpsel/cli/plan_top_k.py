"""``dpsel plan-top-k``: budgets per round and bounds of the loss of a top-k, without any data."""

from __future__ import annotations

from typing import Any

import click

import dpsel
from dpsel.cli._options import Counts, privacy_options
from dpsel.cli.top_k import AUTO, BY_NAME, counts_of, counts_options, privacy_of

_EPILOG = """\
\b
Examples:
  dpsel plan-top-k --epsilon 1 --k 10,100 --items 100000
  dpsel plan-top-k --epsilon 1 --delta 1e-6 --k 100 --items 100000 \\
      --mechanism joint --mechanism gumbel-peel

How to read it: with the given probability no item returned falls short of the true one at its place by more
users than the loss.
"""


@click.command("plan-top-k", epilog=_EPILOG, short_help="Bounds of the loss of a top-k, without data.")
@privacy_options
@click.option("--k", required=True, type=Counts(), help="One or several numbers of items to compare.")
@click.option("--items", required=True, type=click.IntRange(min=1), metavar="N", help="Items in the domain.")
@click.option(
    "--mechanism",
    "mechanisms",
    multiple=True,
    type=click.Choice((AUTO, *BY_NAME)),
    help="Repeat it to compare several.  [default: auto]",
)
@click.option("--unordered", is_flag=True, help="For auto: a set without an order.")
@click.option("--max-items-per-user", type=click.IntRange(min=1), metavar="N", help="Limit per user.")
@click.option(
    "--neighbours",
    type=click.Choice(("add-remove", "swap", "any")),
    default="add-remove",
    show_default=True,
    help="Add or remove a user, replace one, or (for counts) any change of each.",
)
@click.option(
    "--sensitivity",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="For counts: the most by which a user changes one.  [default: 1]",
)
@counts_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(  # noqa: PLR0913 - one per option
    epsilon: float | None,
    rho: float | None,
    delta: float | None,
    mechanisms: tuple[str, ...],
    *,
    k: tuple[int, ...],
    items: int,
    unordered: bool,
    max_items_per_user: int | None,
    neighbours: str,
    sensitivity: int,
    counts_epsilon: float | None,
    counts_rho: float | None,
    counts_delta: float | None,
    as_json: bool,
) -> None:
    """Show what a budget buys for the items that most users hold.

    Reads no data, so it costs no privacy.
    """
    chosen: list[Any] = [AUTO if name == AUTO else BY_NAME[name]() for name in mechanisms or (AUTO,)]
    planned = dpsel.plan_top_k(
        privacy=privacy_of(epsilon, rho, delta),
        k=list(k),
        items=items,
        mechanisms=chosen,
        ordered=not unordered,
        max_items_per_user=max_items_per_user,
        neighbours=neighbours.replace("-", "_"),  # type: ignore[arg-type]
        sensitivity=sensitivity,
        counts=counts_of(counts_epsilon, counts_rho, counts_delta),
    )
    click.echo(planned.to_json() if as_json else str(planned))
