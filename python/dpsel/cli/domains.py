"""``dpsel domains``: the values of several columns that may be published, as a domain file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

import dpsel
from dpsel.cli._budgets import ledger_option, paid_from, privacy_from, privacy_options
from dpsel.cli._options import memory_option, scratch_options, threads_option
from dpsel.cli._output import STDOUT, Staged, print_file, refuse_same_file
from dpsel.cli._types import HexKey, WholeRange
from dpsel.exceptions import FileError, SchemaError
from dpsel.quoting import quoted, quoted_path

_EPILOG = """\
\b
Example:
  dpsel domains rows.csv --user person --columns job,city --epsilon 1 --delta 1e-8 -o domain.json

CSV columns are texts, and numbers with fractions in them, too: each text that enough users have is a value.
The file is the domain file of dpsynth, in JSON.
"""


@click.command("domains", epilog=_EPILOG, short_help="Publish the values of several columns in one budget.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--columns", required=True, metavar="NAMES", help="The columns, with commas between them.")
@click.option("--user", metavar="COLUMN", help="Column that identifies the user.")
@click.option(
    "--rows-are-users",
    is_flag=True,
    help="In place of --user: each row is a user. A person of several rows is then not protected.",
)
@privacy_options
@ledger_option
@click.option(
    "--max-items-per-user",
    type=WholeRange(min=1),
    metavar="N",
    help="Values of a user, in all columns together.  [default: the number of columns]",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The domain file, .json, .yaml or .yml; - for standard output.",
)
@click.option("--report", type=click.Path(path_type=Path), metavar="FILE", help="What was enforced, as JSON.")
@threads_option
@memory_option
@scratch_options
@click.option("--insecure-test-key", type=HexKey(), help="Fixed release key: NOT PRIVATE. Tests only.")
def command(path: Path, **options: Any) -> None:
    """Read PATH, a CSV file whose columns are texts, or a Parquet file. Both need pyarrow."""
    if (options["user"] is None) is not options["rows_are_users"]:
        message = (
            "give either --user, the column that identifies the user, or --rows-are-users if no person has "
            "more than one row"
        )
        raise click.UsageError(message)
    output = None if str(options["output"]) == STDOUT else options["output"]
    outputs = {"--output": output, "--report": options["report"]}
    refuse_same_file({**outputs, "--ledger": options["ledger"]}, [str(path)])
    names = [name.strip() for name in options["columns"].split(",")]
    privacy = privacy_from(options["epsilon"], options["rho"], options["delta"])
    running = {
        name: options[name]
        for name in ("threads", "memory_limit", "scratch", "scratch_limit", "insecure_test_key")
    }
    with Staged() as staged:
        targets = [staged.add(target) if target else None for target in outputs.values()]
        _refuse_other_ending(output)
        found = dpsel.domains(
            _table(path, {"--columns": names, "--user": [options["user"]] if options["user"] else []}),
            columns=names,
            user=options["user"],
            privacy=paid_from(privacy, options | {"items": names}),
            max_items_per_user=options["max_items_per_user"],
            **running,
        )
        if targets[0]:
            found.write(targets[0])
        else:
            print_file("json", found.write)
        if targets[1]:
            found.report.save(targets[1])
    texts = "" if _is_parquet(path) else "; CSV columns are texts, so numbers with fractions are values, too"
    click.echo(f"{found!r}{texts}", err=True)


def _refuse_other_ending(output: Path | None) -> None:
    if output is not None and output.suffix.lower() not in {".json", ".yaml", ".yml"}:
        message = (
            f"--output {quoted_path(output)} is no name of a domain file, which is JSON and so YAML; end it "
            "in .json, .yaml or .yml"
        )
        raise click.UsageError(message)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _table(path: Path, wanted: dict[str, list[str]]) -> Any:
    """Read a file; the columns of CSV are texts, whatever their values look like.

    Args:
        path: The file.
        wanted: The columns that each option names.
    """
    try:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet
    except ImportError:
        raise ImportError("dpsel domains needs pyarrow; install it with pip install pyarrow") from None
    names = list(dict.fromkeys(name for each in wanted.values() for name in each))
    # An empty field is a null, as in a selection.
    texts = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    try:
        if _is_parquet(path):
            return pyarrow.parquet.read_table(path)
        with pyarrow.csv.open_csv(path, convert_options=texts) as head:
            _check_header(path, head.schema.names, wanted)
        texts.include_columns = names
        return pyarrow.csv.read_csv(path, convert_options=texts)
    except FileNotFoundError:
        reason = "no such file"
    except (OSError, pa.ArrowException):
        # Its own words may quote a row.
        reason = "it is damaged, or neither CSV nor Parquet"
    raise FileError(f"cannot read {quoted_path(path)}: {reason}")


_PURPOSES: Final = {"--columns": "to take values from", "--user": "to tell users apart"}


def _check_header(path: Path, header: list[str], wanted: dict[str, list[str]]) -> None:
    """Refuse a header line that lacks a column or has it twice, as `dpsel select` does."""
    for option, purpose in _PURPOSES.items():
        for name in wanted[option]:
            if header.count(name) > 1:
                raise SchemaError(
                    f"{quoted_path(path)} has several columns named {quoted(name)}, and one is needed "
                    f"{purpose}; rename them so that {option} names one of them"
                )
            if name not in header:
                columns = f"{len(header):,} column{'' if len(header) == 1 else 's'}"
                raise SchemaError(
                    f"the header line of {quoted_path(path)} has {columns}, none named {quoted(name)} "
                    f"{purpose}; set {option} to a name in that line, which must hold the column names, "
                    "separated by commas; write a file with another delimiter anew, or pass its table to "
                    "dpsel.domains in Python"
                )
