"""``dpsel top-k``: read the rows, pick the items that most users hold, write them."""

from __future__ import annotations

import re
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import click

import dpsel
from dpsel.cli._budgets import (
    counts_from,
    counts_options,
    ledger_option,
    paid_from,
    privacy_of,
    privacy_options,
)
from dpsel.cli._mechanisms import Chosen, MechanismCommand, mechanism_option
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
from dpsel.cli._types import Whole, WholeRange
from dpsel.exceptions import DpselWarning

_HELP = """\
Read PATHS (Parquet, CSV, NDJSON or Arrow IPC files, quoted globs of them, pipes, or - for standard input)
and publish about the K items that most users hold, best first.

With --domain the items come from a public list, one per line, without a header line. Only the number of
users of each item is secret then, and no delta is needed. Without --domain the items are secret as well, and
the result may have fewer than K of them.
"""

_EPILOG = """\
\b
Examples:
  dpsel top-k events.parquet --user user_id --item country --k 10 \\
      --epsilon 1 --domain countries.txt -o top.csv
  dpsel top-k events.parquet --user user_id --item query --k 100 \\
      --epsilon 1 --delta 1e-8 --max-items-per-user 50 --report report.json
"""


@click.command(
    "top-k",
    cls=MechanismCommand,
    help=_HELP,
    epilog=_EPILOG,
    short_help="Publish the items that most users hold.",
)
@click.argument("paths", nargs=-1, metavar="PATHS...")
@sql_options
@column_options
@click.option("--k", required=True, type=Whole(), metavar="K", help="Number of items.")
@privacy_options
@ledger_option
@click.option(
    "--domain",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="The public list of items, one per line, in UTF-8, without a header line; 12 is an integer if the "
    "column has integers.",
)
@mechanism_option("top-k")
@click.option("--unordered", is_flag=True, help="Ask for a set without an order, which is more accurate.")
@counts_options
@click.option(
    "--max-items-per-user", type=WholeRange(min=1), metavar="N", help="Items of each user that count."
)
@click.option(
    "--neighbours",
    type=click.Choice(("add-remove", "swap")),
    default="add-remove",
    show_default=True,
    help="The guarantee covers adding or removing a user, or swapping one for another.",
)
@ngrams_option
@tokenizer_option
@running_options
@scratch_options
@result_options
def command(paths: tuple[str, ...], **options: Any) -> None:
    """Run ``dpsel top-k``."""
    others = {name: options[name[2:]] for name in ("--domain", "--database", "--ledger")}
    results = Results(options, paths, others)
    arguments, inputs = _arguments(options), rows_from(paths, options)
    release = partial(dpsel.select_top_k, inputs, **arguments)
    results.publish(lambda update: release(progress=update))


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Turn the options into the keyword arguments of ``dpsel.select_top_k``."""
    domain: Path | None = options["domain"]
    if domain is not None and len(options["items"]) > 1:
        message = (
            "--domain lists the values of one column, so it goes with one --item; join the columns into one "
            "first, or leave --domain out and give --delta"
        )
        raise click.UsageError(message)
    privacy = paid_from(privacy_of(options["epsilon"], options["rho"], options["delta"]), options)
    counts = counts_from(options)
    if domain is None and isinstance(privacy, dpsel.PureDP):
        message = "without --domain the items are secret, which needs --delta; give --delta or --domain"
        raise click.UsageError(message)
    return {
        **columns_from(options),
        "k": options["k"],
        "privacy": privacy,
        "mechanism": _mechanism(options["mechanism"], unordered=options["unordered"]),
        "domain": None if domain is None else _lines(domain, options["items"][0]),
        "ordered": not options["unordered"],
        "counts": counts,
        "max_items_per_user": options["max_items_per_user"],
        "neighbours": options["neighbours"].replace("-", "_"),
        "ngrams": ngrams_from(options["ngrams"]),
        "tokenizer": options["tokenizer"],
        **running_from(options),
        "scratch": options["scratch"],
        "scratch_limit": options["scratch_limit"],
    }


def _mechanism(chosen: Chosen, *, unordered: bool) -> Any:
    """Return the mechanism; ``--unordered`` is a parameter of ``discover`` too, if it is not given there."""
    if unordered and chosen.cls is dpsel.Discover and "ordered" not in chosen.parameters:
        chosen = chosen.with_option("--unordered", "ordered", value=False)
    return chosen.made()


def _lines(path: Path, column: str) -> list[str]:
    """Return the lines that are not empty. Only line feeds end one: an item may hold any other separator."""
    found = _lines_or_problem(path, column)
    if isinstance(found, str):
        raise click.UsageError(found)
    return found


def _lines_or_problem(path: Path, column: str) -> list[str] | str:
    """Return the lines, or what is wrong with them: an exception would hold them.

    A header line would be an item of the list, so a first line with the name of the column is refused.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        return f"--domain needs a file of UTF-8 text, and {path} is not; save it as UTF-8"
    lines = re.split("\r?\n", text)
    if lines[0] in (column, f'"{column}"'):
        return (
            f"--domain {path}: line 1 is the name of the item column, and each line is an item; remove a "
            "header line, or move this item to another line"
        )
    blank = [number for number, line in enumerate(lines, start=1) if line != line.strip()]
    if blank:
        message = (
            f"--domain {path}: line {blank[0]} starts or ends with a blank, which is part of the item; "
            "remove it if the column has none"
        )
        warnings.warn(message, DpselWarning, stacklevel=3)
    return [line for line in lines if line]
