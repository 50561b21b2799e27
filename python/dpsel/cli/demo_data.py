"""``dpsel demo-data``: data to try the tool on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click

from dpsel import demo_data
from dpsel.cli._output import Staged
from dpsel.cli._types import Whole, WholeRange
from dpsel.quoting import quoted_path

QUOTATIONS = "quotations"

_EPILOG = """\
\b
Examples:
  dpsel demo-data lines.csv --kind quotations
  dpsel demo-data words.csv --kind text --users 10000 --items str
  dpsel demo-data zeta.parquet --kind zeta --users 100000 --order random

\b
Kinds:
  quotations  594 lines of Shakespeare, the King James Bible and founding
              documents of the United States, in the public domain;
              columns line (the user) and text; CSV only
  text        skewed like words in prose; columns user and item
  zeta        the synthetic data of the DP-SIPS paper (Pareto sizes, zeta
              items); columns user and item
"""


@click.command("demo-data", epilog=_EPILOG, short_help="Write data to try the tool on.")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--kind", required=True, type=click.Choice((QUOTATIONS, *demo_data.KINDS)), help="See below.")
@click.option("--users", type=WholeRange(min=1), metavar="N", help="Number of users to make up.")
@click.option("--seed", type=Whole(), metavar="SEED", help="Other seed, other rows.  [default: 0]")
@click.option(
    "--order", type=click.Choice(demo_data.ORDERS), help="Rows by user, or shuffled.  [default: user]"
)
@click.option("--items", type=click.Choice(demo_data.ITEM_TYPES), help="Type of the items.  [default: int]")
def command(out: Path, kind: str, **options: Any) -> None:
    """Write OUT (.csv, .ndjson or, where pyarrow is installed, .parquet) with rows to try the tool on.

    The rows are made up, or public-domain text: they contain nobody's data.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if kind == QUOTATIONS:
        _copy_quotations(out, given)
        return
    if "users" not in given:
        message = f"--kind {kind} needs --users"
        raise click.UsageError(message)
    if out.suffix not in demo_data.EXTENSIONS:
        message = f"OUT must end in one of {', '.join(demo_data.EXTENSIONS)}, got {quoted_path(out)}"
        raise click.UsageError(message)
    with Staged() as staged:
        rows = demo_data.write(demo_data.generate(kind, **given), staged.add(out))
    click.echo(f"{out}: {rows:,} rows", err=True)


def _copy_quotations(out: Path, given: dict[str, Any]) -> None:
    if given:
        message = f"--{next(iter(given))} does not apply to --kind {QUOTATIONS}, which is fixed"
        raise click.UsageError(message)
    if out.suffix != ".csv":
        message = f"--kind {QUOTATIONS} is written as .csv, got {quoted_path(out)}"
        raise click.UsageError(message)
    with Staged() as staged:
        shutil.copyfile(demo_data.quotations(), staged.add(out))
    rows = len(demo_data.quotations().read_bytes().splitlines()) - 1  # without the header
    click.echo(f"{out}: {rows:,} rows", err=True)
