"""``dpsel domains``: the values of several columns that may be published, as a domain file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import dpsel
from dpsel.cli._budgets import ledger_option, paid_from, privacy_from, privacy_options
from dpsel.cli._options import memory_option, scratch_options, threads_option
from dpsel.cli._output import Staged, refuse_same_file
from dpsel.cli._types import HexKey, WholeRange
from dpsel.exceptions import FileError
from dpsel.quoting import quoted_path

_EPILOG = """\
\b
Example:
  dpsel domains rows.csv --columns job,city --epsilon 1 --delta 1e-8 -o domain.json

Without --user each row is a user. The file is the domain file of dpsynth, in JSON.
"""


@click.command("domains", epilog=_EPILOG, short_help="Publish the values of several columns in one budget.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--columns", required=True, metavar="NAMES", help="The columns, with commas between them.")
@click.option("--user", metavar="COLUMN", help="Column of the user.  [default: each row is a user]")
@privacy_options
@ledger_option
@click.option(
    "--max-items-per-user",
    type=WholeRange(min=1),
    metavar="N",
    help="Values of a user, in all columns together.  [default: the number of columns]",
)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="JSON.")
@click.option("--report", type=click.Path(path_type=Path), metavar="FILE", help="What was enforced, as JSON.")
@threads_option
@memory_option
@scratch_options
@click.option("--insecure-test-key", type=HexKey(), help="Fixed release key: NOT PRIVATE. Tests only.")
def command(path: Path, **options: Any) -> None:
    """Read PATH, a CSV file whose columns are texts, or a Parquet file. Both need pyarrow."""
    outputs = {"--output": options["output"], "--report": options["report"]}
    refuse_same_file({**outputs, "--ledger": options["ledger"]}, [str(path)])
    names = [name.strip() for name in options["columns"].split(",")]
    privacy = privacy_from(options["epsilon"], options["rho"], options["delta"])
    running = {
        name: options[name]
        for name in ("threads", "memory_limit", "scratch", "scratch_limit", "insecure_test_key")
    }
    with Staged() as staged:
        targets = [staged.add(target) if target else None for target in outputs.values()]
        found = dpsel.domains(
            _table(path, [*names, *([options["user"]] if options["user"] else [])]),
            columns=names,
            user=options["user"],
            privacy=paid_from(privacy, options | {"items": names}),
            max_items_per_user=options["max_items_per_user"],
            **running,
        )
        if targets[0]:
            found.write(targets[0])
        if targets[1]:
            found.report.save(targets[1])
    click.echo(repr(found), err=True)


def _table(path: Path, names: list[str]) -> Any:
    """Read a file; the columns of CSV are texts, whatever their values look like."""
    try:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        message = "dpsel domains needs pyarrow; install it with pip"
        raise click.UsageError(message) from None
    try:
        if path.suffix.lower() == ".parquet":
            return pyarrow.parquet.read_table(path)
        texts = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), include_columns=names
        )
        return pyarrow.csv.read_csv(path, convert_options=texts)
    except FileNotFoundError:
        reason = "no such file"
    except (OSError, pa.ArrowException):
        # Its own words may quote a row.
        reason = "it is damaged, or neither CSV nor Parquet"
    raise FileError(f"cannot read {quoted_path(path)}: {reason}")
