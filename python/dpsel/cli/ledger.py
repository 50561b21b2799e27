"""``dpsel ledger``: make a budget in a file, and show what was spent."""

from __future__ import annotations

import json
from pathlib import Path

import click

import dpsel
from dpsel.cli._budgets import privacy_of, privacy_options
from dpsel.cli._options import json_option
from dpsel.cli._output import STDOUT, Staged, refuse_same_file
from dpsel.cli._streams import require_stdout

_EPILOG = """\
\b
Example:
  dpsel ledger spent.jsonl --epsilon 4 --delta 1e-6
  dpsel select events.csv --user user --item item --epsilon 1 --delta 1e-7 \\
      --max-items-per-user 50 --ledger spent.jsonl -o items.csv
  dpsel ledger spent.jsonl

A cost is in the file before the call reads a row, and stays spent if the call fails. Lines are only
appended, and each has the hash of the line before it. Note the last hash elsewhere: lines removed at the end
cannot be found otherwise.
"""


@click.command("ledger", epilog=_EPILOG, short_help="Make a budget in a file, and show what was spent.")
@click.argument("file", type=click.Path(path_type=Path))
@privacy_options
@json_option
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    metavar="PAGE",
    help="Write a page with all entries; with - to standard output, in place of the table.",
)
def command(
    file: Path,
    epsilon: float | None,
    rho: float | None,
    delta: float | None,
    *,
    as_json: bool,
    html: Path | None,
) -> None:
    """Show the costs in FILE and what remains. With a total (--epsilon or --rho), make FILE first."""
    is_printed = str(html) == STDOUT
    require_stdout(None if is_printed else html)
    refuse_same_file({"--html": None if is_printed else html}, [], {"FILE": file})
    if as_json and is_printed:
        message = "--html - and --json both go to standard output; name a file for the page"
        raise click.UsageError(message)
    total = None if epsilon is None and rho is None else privacy_of(epsilon, rho, delta)
    with Staged() as staged:
        page = staged.add(html) if html and not is_printed else None
        ledger = dpsel.Ledger(file, total)
        if page:
            page.write_text(ledger.to_html(), encoding="utf-8")
    if is_printed:
        click.echo(ledger.to_html(), nl=False)
    elif as_json:
        left = ledger.remaining
        shown = {"total": ledger.total.to_json(), "remaining": None if left is None else left.to_json()}
        entries = [{"label": entry.label, "cost": str(entry.cost)} for entry in ledger.spent]
        click.echo(json.dumps(shown | {"entries": entries, "head": ledger.head}, indent=2))
    else:
        click.echo(f"{ledger}\nhash of the last line: {ledger.head}")
