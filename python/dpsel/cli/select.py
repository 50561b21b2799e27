"""``dpsel select``: read the rows, run the mechanism, write what may be published."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

import dpsel
from dpsel.cli import _mechanisms, _progress
from dpsel.cli._options import (
    ByteSize,
    Counts,
    FrequencyTable,
    HexKey,
    column_options,
    inputs_from,
    privacy_from,
    privacy_options,
)
from dpsel.cli._output import STDOUT, Staged, print_file, refuse_report_on_stdout, refuse_same_file

INPUT_FORMATS = ("parquet", "csv", "ndjson", "ipc")
STDOUT_FORMATS = ("csv", "ndjson")
_PARAMETERS = ("rounds", "ratio", "release", "alpha", "passes", "calibration", "prior")

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
  dpsel select reviews.ndjson --user author --item text --ngrams 1,2 \\
      --rho 0.1 --delta 1e-6 --max-items-per-user 300 \\
      --mechanism sips --rounds 3 -o words.csv

\b
Choosing the parameters, before looking at the data:
  epsilon             1 is strong; up to about 4 is usual for words or keys.
                      The costs of several releases of the same users add up.
  delta               the chance that something only one user has gets out:
                      far below 1 / number of users.
  max-items-per-user  about what a typical user has. Users with more
                      contribute a random choice of that many; a much larger
                      limit mostly raises the threshold. `dpsel plan` shows
                      thresholds for several limits without reading data.

Order, number of threads and duplicated rows do not change a release. CSV columns are text.
"""


@click.command("select", help=_HELP, epilog=_EPILOG, short_help="Publish the items that enough users hold.")
@click.argument("paths", nargs=-1, required=True, metavar="PATHS...")
@column_options
@privacy_options
@click.option(
    "--max-items-per-user", required=True, type=click.IntRange(min=1), metavar="N", help="Limit per user."
)
@click.option(
    "--mechanism",
    type=click.Choice((_mechanisms.AUTO, *_mechanisms.NAMES)),
    default=_mechanisms.AUTO,
    show_default=True,
    help="How to select; auto decides by the parameters alone.",
)
@click.option("--rounds", type=int, metavar="I", help="Rounds of --mechanism sips or steered.")
@click.option("--ratio", type=float, metavar="R", help="Budget of a sips round over the next one's.")
@click.option(
    "--alpha",
    type=float,
    metavar="A",
    help="Cutoff above the threshold, in noise scales, of a policy, mad, mad2r or the published calibration.",
)
@click.option(
    "--release",
    type=click.Choice(("noise", "curve")),
    help="How weighted ones, policies and sips release; curve: more items, no weights.  [default: noise]",
)
@click.option("--passes", type=int, metavar="P", help="How often each user comes in a policy.")
@click.option(
    "--prior",
    type=FrequencyTable(),
    metavar="FILE",
    help="Public frequencies for the greedy mechanisms: CSV with a header line, item and number in each row.",
)
@click.option(
    "--calibration",
    type=click.Choice(("curve", "published")),
    help="Of greedy-frequency; published is NOT PRIVATE, for reproducing the paper.  [default: curve]",
)
@click.option(
    "--with-weights",
    is_flag=True,
    help="Add the noisy weight of each released item; auto then takes noise, which may release fewer items.",
)
@click.option(
    "--ngrams", type=Counts(), metavar="MIN[,MAX]", help="The item column is text: its n-grams are items."
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(INPUT_FORMATS),
    help="Format of PATHS, if not by name; - needs it.",
)
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="At most N threads; default all.")
@click.option("--memory-limit", type=ByteSize(), metavar="SIZE", help="Refuse to use more, such as 4GiB.")
@click.option(
    "-o",
    "--output",
    default=STDOUT,
    metavar="FILE",
    help="Items to FILE, format by extension; - is standard output.  [default: -]",
)
@click.option(
    "--output-format", type=click.Choice(STDOUT_FORMATS), help="Format on standard output.  [default: csv]"
)
@click.option("--report", type=click.Path(path_type=Path), metavar="FILE", help="What was enforced, as JSON.")
@click.option("--progress", is_flag=True, help="Draw the progress bar even if not on a terminal.")
@click.option("-q", "--quiet", is_flag=True, help="No progress bar and no summary.")
@click.option(
    "--insecure-test-key", type=HexKey(), help="Fixed release key: reproducible, NOT PRIVATE. Tests only."
)
def command(
    paths: tuple[str, ...],
    output: str,
    output_format: str | None,
    report: Path | None,
    *,
    progress: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Run ``dpsel select``."""
    target = output_target(output, output_format)
    refuse_report_on_stdout(report)
    prior = options["prior"]
    refuse_same_file(
        {"--output": target, "--report": report}, paths, {"--prior": None if prior is None else prior.path}
    )
    arguments, inputs = _arguments(options), inputs_from(paths, options["file_format"])
    shown = _progress.wanted(progress=progress, quiet=quiet)
    with ExitStack() as stack:
        staged = stack.enter_context(Staged())
        items_path = staged.add(target) if target else None
        report_path = staged.add(report) if report else None
        with _progress.bar(shown=shown) as update:
            release = dpsel.select_partitions(inputs, progress=update, **arguments)
            if report_path:
                release.report.save(report_path)
            if items_path:
                release.write(items_path)
        if not items_path:
            print_file(output_format or STDOUT_FORMATS[0], release.write)
    if not quiet:
        click.echo(str(release), err=True)


def output_target(output: str, output_format: str | None) -> Path | None:
    """Return the file to write, or ``None`` for standard output; refuse what could not be written."""
    if output == STDOUT:
        return None
    if output_format is not None:
        message = "--output-format is for standard output; with -o the extension of the file says the format"
        raise click.UsageError(message)
    target = Path(output)
    if not target.name.lower().endswith(dpsel.release.EXTENSIONS):
        known = ", ".join(dpsel.release.EXTENSIONS)
        message = f"-o needs a file name that ends in one of {known}, got {output}"
        raise click.UsageError(message)
    return target


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Turn the options into the keyword arguments of ``dpsel.select_partitions``."""
    items: tuple[str, ...] = options["items"]
    return {
        "user": options["user"],
        "item": items[0] if len(items) == 1 else list(items),
        "privacy": privacy_from(options["epsilon"], options["rho"], options["delta"]),
        "max_items_per_user": options["max_items_per_user"],
        "mechanism": _mechanisms.mechanism_from(
            options["mechanism"], {name: options[name] for name in _PARAMETERS}
        ),
        "with_weights": options["with_weights"],
        "ngrams": ngrams_from(options["ngrams"]),
        "file_format": options["file_format"],
        "threads": options["threads"],
        "memory_limit": options["memory_limit"],
        "insecure_test_key": options["insecure_test_key"],
    }


def ngrams_from(lengths: tuple[int, ...] | None) -> tuple[int, int] | None:
    """Return (fewest, most) words: ``2`` is pairs only, ``1,2`` single words and pairs."""
    if lengths is None:
        return None
    if len(lengths) > 2:  # noqa: PLR2004 - a pair
        message = "--ngrams takes MIN or MIN,MAX, such as 1 or 1,2"
        raise click.UsageError(message)
    return lengths[0], lengths[-1]
