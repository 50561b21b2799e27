"""``dpsel compare``: what each mechanism releases from public data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import dpsel
from dpsel.cli._budgets import counted_from, counted_options, privacy_from
from dpsel.cli._mechanisms import MechanismCommand, mechanism_option
from dpsel.cli._options import (
    check_plot,
    column_options,
    columns_from,
    format_option,
    inputs_from,
    json_option,
    memory_option,
    ngrams_from,
    ngrams_option,
    plot_option,
    print_result,
    scratch_options,
    threads_option,
    tokenizer_option,
)
from dpsel.cli._output import Staged, refuse_same_file
from dpsel.cli._streams import require_stdout
from dpsel.cli._types import Counts, Numbers, Real, Whole, WholeRange

_HELP = """\
Run mechanisms over a grid of budgets and limits on PATHS, which must be PUBLIC OR SYNTHETIC data, and show
how many items each releases, also as a fraction of what no mechanism can exceed.

LOOKING AT SEVERAL OUTCOMES ON PRIVATE DATA COSTS BUDGET. Choose the mechanism on data that resembles yours
and is public; then run it once on yours.
"""

_EPILOG = """\
\b
Examples:
  dpsel demo-data skewed.csv --kind zeta --users 1000
  dpsel compare skewed.csv --user user --item item --public-data \\
      --epsilon 0.5,1,2,4 --delta 1e-6 --max-items-per-user 10,100
  dpsel compare reviews.parquet --user user --item word --public-data \\
      --epsilon 1.765 --delta 4.96e-5 --max-items-per-user 100 \\
      --mechanism weighted-gaussian --mechanism 'sips(rounds=2)' --repeats 3 --seed 1 \\
      -o table.csv --plot curves.png
"""


#: Options that are keywords of the same name.
_AS_NAMED = ("repeats", "seed", "threads", "memory_limit", "scratch", "scratch_limit")


@click.command(
    "compare",
    cls=MechanismCommand,
    help=_HELP,
    epilog=_EPILOG,
    short_help="Mechanisms side by side, on public data.",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATHS...")
@column_options
@click.option("--public-data", is_flag=True, help="You say that the data is public or synthetic.  [required]")
@click.option("--epsilon", type=Numbers(), help="One or several budgets of (epsilon, delta)-DP.")
@click.option("--rho", type=Numbers(), help="One or several budgets of zCDP, in place of --epsilon.")
@click.option("--delta", type=Real(), metavar="D", help="As for `dpsel select`.")
@click.option("--max-items-per-user", required=True, type=Counts(), help="One or several limits.")
@mechanism_option("selection", several=True, usual="all of them")
@click.option("--repeats", type=WholeRange(min=1), default=1, show_default=True, help="Runs of each.")
@click.option("--seed", type=Whole(), metavar="N", help="Make the runs reproducible.")
@counted_options
@ngrams_option
@tokenizer_option
@format_option
@threads_option
@memory_option
@scratch_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Every run to FILE, as CSV."
)
@plot_option
@click.option("--fraction", is_flag=True, help="Draw fractions of the upper bound instead of items.")
@json_option
def command(
    paths: tuple[str, ...],
    output: Path | None,
    plot: Path | None,
    *,
    fraction: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run ``dpsel compare``."""
    require_stdout(output, plot)
    check_plot(plot)
    if fraction and not plot:
        message = "--fraction is for --plot; the table has fractions anyway"
        raise click.UsageError(message)
    refuse_same_file({"--output": output, "--plot": plot}, paths)
    arguments, inputs = _arguments(options), inputs_from(paths, options["file_format"])
    with Staged() as staged:
        table_path = staged.add(output) if output else None
        plot_path = staged.add(plot) if plot else None
        compared = dpsel.compare(inputs, **arguments)
        if table_path:
            compared.write_csv(table_path)
        if plot_path:
            compared.plot(plot_path, fraction=fraction)
    print_result(compared, as_json=as_json)


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Turn the options into the keyword arguments of ``dpsel.compare``."""
    epsilons, rhos, delta = options["epsilon"], options["rho"], options["delta"]
    budgets = [privacy_from(epsilon, None, delta) for epsilon in epsilons or ()]
    budgets += [privacy_from(None, rho, delta) for rho in rhos or ()]
    return {
        **columns_from(options),
        "privacy": budgets or privacy_from(None, None, delta),
        "max_items_per_user": list(options["max_items_per_user"]),
        "mechanisms": [each.made() for each in options["mechanisms"]] or None,
        "public_data": options["public_data"],
        "counts": counted_from(options),
        "ngrams": ngrams_from(options["ngrams"]),
        "tokenizer": options["tokenizer"],
        "file_format": options["file_format"],
        **{name: options[name] for name in _AS_NAMED},
    }
