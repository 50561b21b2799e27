"""``dpsel select``: read the rows, run the mechanism, write what may be published."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

import dpsel
from dpsel.cli._budgets import (
    counted_from,
    counted_options,
    ledger_option,
    paid_from,
    privacy_from,
    privacy_options,
    rest_from,
    rest_options,
)
from dpsel.cli._mechanisms import MechanismCommand, mechanism_option
from dpsel.cli._options import (
    column_options,
    columns_from,
    ngrams_from,
    ngrams_option,
    rows_from,
    running_from,
    running_options,
    scratch_options,
    tokenizer_option,
)
from dpsel.cli._results import Results, result_options
from dpsel.cli._sql import sql_options
from dpsel.cli._types import FrequencyTable, ItemFile, Limit, WholeRange, named_as

_HELP = """\
Read PATHS (Parquet, CSV, NDJSON or Arrow IPC files, quoted globs of them, pipes, or - for standard input)
and publish the items that enough users hold.

Every row says that a user has an item. The guarantee covers all rows of one user: whether a person is in
the data at all changes the probability of any result by a factor of at most e^epsilon, except with
probability delta.
"""

_EPILOG = """\
\b
Examples:
  dpsel select events.parquet --user user_id --item query \\
      --epsilon 1 --delta 1e-8 --max-items-per-user 100 \\
      -o queries.parquet --report report.json
  dpsel select 'logs/*.csv' --user uid --item country --item city \\
      --epsilon 1 --delta 1e-8 --max-items-per-user 10
  dpsel select --sql "SELECT uid, url FROM 'visits/*.parquet' WHERE year = 2026" \\
      --user uid --item url --epsilon 1 --delta 1e-8 --max-items-per-user 50
  dpsel select reviews.ndjson --user author --item text --ngrams 1,2 \\
      --rho 0.1 --delta 1e-6 --max-items-per-user 300 \\
      --mechanism 'sips(rounds=3)' -o words.csv

\b
Choosing the parameters, before looking at the data:
  epsilon             1 is strong; up to about 4 is usual for words or keys.
                      The costs of several releases of the same users add up.
  delta               bounds the probability that an item of one single user
                      is released: far below 1 / number of users.
  max-items-per-user  about as many items as a typical user has. Users with
                      more contribute a random subset of that size; with
                      auto it mostly is three times as large. A much larger
                      limit mostly raises the threshold. `dpsel plan` shows
                      thresholds for several limits without data.

A release does not depend on the order of rows, on repeated rows or on the number of threads, except that
greedy-frequency and --count rows see repeated rows. CSV columns are text.
"""


@click.command(
    "select",
    cls=MechanismCommand,
    help=_HELP,
    epilog=_EPILOG,
    short_help="Publish the items that enough users hold.",
)
@click.argument("paths", nargs=-1, metavar="PATHS...")
@sql_options
@column_options
@privacy_options
@ledger_option
@click.option(
    "--max-items-per-user",
    required=True,
    type=Limit(),
    metavar="N",
    help="Items of each user that count: a number, or 'quantile(0.95)' to have it found within the budget.",
)
@mechanism_option("selection")
@click.option(
    "--prior",
    type=FrequencyTable(),
    metavar="FILE",
    help="Public frequencies for a greedy mechanism: CSV with a header line, item and number in each row.",
)
@click.option(
    "--with-weights",
    is_flag=True,
    help="Add the noisy weight of each item. auto then chooses a mechanism with noise, "
    "which may release fewer items.",
)
@counted_options
@rest_options
@click.option(
    "--public-items",
    type=ItemFile(),
    metavar="FILE",
    help="Items that come out in any case: CSV with a header line, which has the names that --item gives. "
    "A column `public` marks them.",
)
@click.option(
    "--exclude",
    type=ItemFile(),
    metavar="FILE",
    help="Items that never come out: CSV with a header line, which has the names that --item gives.",
)
@click.option(
    "--min-users",
    type=WholeRange(min=1),
    default=1,
    metavar="K",
    help="Release no item of fewer than K users.  [default: 1]",
)
@ngrams_option
@tokenizer_option
@running_options
@scratch_options
@result_options
def command(paths: tuple[str, ...], **options: Any) -> None:
    """Run ``dpsel select``."""
    results = Results(options, paths, _other_files(options))
    arguments, inputs = _arguments(options), rows_from(paths, options)
    release = partial(dpsel.select_partitions, inputs, **arguments)
    results.publish(lambda update: release(progress=update), _why_few)


#: Fewer released items than these are explained.
_FEW = 10


def _why_few(release: dpsel.Release[Any]) -> str | None:
    """Say what an item would have needed, if few came out. Their number is public, and so is the rest."""
    return str(dpsel.explain(release)) if len(release) < _FEW else None


def _other_files(options: dict[str, Any]) -> dict[str, Any]:
    """Return the file of each option that names one beside the rows and the results."""
    given = {f"--{name.replace('_', '-')}": options[name] for name in ("prior", "public_items", "exclude")}
    tables = {option: None if table is None else table.path for option, table in given.items()}
    return tables | {"--database": options["database"], "--ledger": options["ledger"]}


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Turn the options into the keyword arguments of ``dpsel.select_partitions``."""
    mechanism = options["mechanism"]
    if options["prior"] is not None:
        mechanism = mechanism.with_option("--prior", "prior", options["prior"])
    return {
        **columns_from(options),
        "privacy": paid_from(privacy_from(options["epsilon"], options["rho"], options["delta"]), options),
        "max_items_per_user": options["max_items_per_user"],
        "mechanism": mechanism.made(),
        "with_weights": options["with_weights"],
        "counts": counted_from(options),
        "rest": rest_from(options),
        "public_items": named_as(options["items"], "--public-items", options["public_items"]),
        "exclude": named_as(options["items"], "--exclude", options["exclude"]),
        "min_users": options["min_users"],
        "ngrams": ngrams_from(options["ngrams"]),
        "tokenizer": options["tokenizer"],
        **running_from(options),
        "scratch": options["scratch"],
        "scratch_limit": options["scratch_limit"],
    }
