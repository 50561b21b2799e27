"""``dpsel plan``: thresholds and keep probabilities, without any data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import dpsel
from dpsel.cli import _mechanisms
from dpsel.cli._options import Counts, privacy_from, privacy_options
from dpsel.cli._output import Staged

PLOT_EXTENSIONS = (".png", ".svg", ".pdf")

_EPILOG = """\
\b
Examples:
  dpsel plan --epsilon 1 --delta 1e-8 --max-items-per-user 1,10,100
  dpsel plan --rho 0.1 --delta 1e-6 --max-items-per-user 50,500 \\
      --mechanism weighted-gaussian --mechanism sips --users 20,50,100
  dpsel plan --epsilon 1 --delta 1e-8 --max-items-per-user 10 --plot keep.png

How to read it: an item is released with the given probability if that many users hold it, each of them
with as many items as --items-per-user says (as the limit, if it is not given: the worst case).
"""


@click.command("plan", epilog=_EPILOG, short_help="Thresholds and keep probabilities, without data.")
@privacy_options
@click.option("--max-items-per-user", required=True, type=Counts(), help="One or several limits to compare.")
@click.option(
    "--mechanism",
    "mechanisms",
    multiple=True,
    type=click.Choice((_mechanisms.AUTO, *_mechanisms.NAMES)),
    help="Repeat it to compare several.  [default: auto]",
)
@click.option(
    "--users",
    type=Counts(),
    default="10,100,1000",
    show_default=True,
    help="Show the keep probability for these numbers of users.",
)
@click.option(
    "--items-per-user",
    type=click.IntRange(min=1),
    metavar="K",
    help="Items of each user who holds the item.  [default: the limit]",
)
@click.option(
    "--with-weights", is_flag=True, help="Plan releases with noisy weights: auto may choose another."
)
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw the curves (.png, .svg, .pdf)."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def command(
    epsilon: float | None,
    rho: float | None,
    delta: float | None,
    mechanisms: tuple[str, ...],
    plot: Path | None,
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Show what a budget buys before spending it: threshold, and how many users make an item visible.

    Reads no data, so it costs no privacy.
    """
    arguments: dict[str, Any] = {
        "privacy": privacy_from(epsilon, rho, delta),
        "max_items_per_user": list(options["max_items_per_user"]),
        "users": list(options["users"]),
        "with_weights": options["with_weights"],
        "mechanisms": [_mechanisms.mechanism_from(name, {}) for name in mechanisms or (_mechanisms.AUTO,)],
    }
    if options["items_per_user"]:
        arguments["items_per_user"] = options["items_per_user"]
    if plot and plot.suffix not in PLOT_EXTENSIONS:
        message = f"--plot needs a file name that ends in one of {', '.join(PLOT_EXTENSIONS)}, got {plot}"
        raise click.UsageError(message)
    planned = dpsel.plan(**arguments)
    with Staged() as staged:
        if plot:
            planned.plot(staged.add(plot))
    click.echo(planned.to_json() if as_json else str(planned))
