"""``dpsel top-k``: read the rows, pick the items that most users hold, write them."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

import dpsel
from dpsel.cli import _progress
from dpsel.cli._options import ByteSize, HexKey, column_options, inputs_from, privacy_options
from dpsel.cli._output import STDOUT, Staged, print_file, refuse_report_on_stdout, refuse_same_file
from dpsel.cli.select import INPUT_FORMATS, STDOUT_FORMATS, output_target
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms import top_k_mechanisms

BY_NAME = {name.replace("_", "-"): cls for name, cls in top_k_mechanisms().items()}
AUTO = "auto"


def counts_options(command: Any) -> Any:
    """Add ``--counts-epsilon``, ``--counts-rho`` and ``--counts-delta``; see :func:`counts_of`."""
    options = (
        click.option("--counts-epsilon", type=float, metavar="E", help="Noisy counts, at this price on top."),
        click.option("--counts-rho", type=float, metavar="R", help="The same as zCDP: Gaussian noise."),
        click.option("--counts-delta", type=float, metavar="D", help="Goes with one of these two."),
    )
    for option in reversed(options):
        command = option(command)
    return command


_HELP = """\
Read PATHS (Parquet, CSV, NDJSON or Arrow IPC files, quoted globs of them, pipes, or - for standard input)
and publish about the K items that most users hold, best first.

With --domain the items come from a public list, one per line, and only how many users hold them is secret:
then no delta is needed. Without it the items are secret, too, and there may be fewer than K.
"""

_EPILOG = """\
\b
Examples:
  dpsel top-k events.parquet --user user_id --item country --k 10 \\
      --epsilon 1 --domain countries.txt -o top.csv
  dpsel top-k events.parquet --user user_id --item query --k 100 \\
      --epsilon 1 --delta 1e-8 --max-items-per-user 50 --report report.json
"""


@click.command("top-k", help=_HELP, epilog=_EPILOG, short_help="Publish the items that most users hold.")
@click.argument("paths", nargs=-1, required=True, metavar="PATHS...")
@column_options
@click.option("--k", required=True, type=int, metavar="K", help="Number of items.")
@privacy_options
@click.option(
    "--domain",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="The public list of items, one per line, in UTF-8; 12 is an integer where the column has integers.",
)
@click.option(
    "--mechanism",
    type=click.Choice((AUTO, *BY_NAME)),
    default=AUTO,
    show_default=True,
    help="How to pick; auto decides by the parameters alone.",
)
@click.option("--unordered", is_flag=True, help="A set without an order: far more accurate.")
@counts_options
@click.option("--max-items-per-user", type=click.IntRange(min=1), metavar="N", help="Limit per user.")
@click.option(
    "--neighbours",
    type=click.Choice(("add-remove", "swap")),
    default="add-remove",
    show_default=True,
    help="Add or remove a user, or replace one.",
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
    """Run ``dpsel top-k``."""
    target = output_target(output, output_format)
    refuse_report_on_stdout(report)
    refuse_same_file({"--output": target, "--report": report}, paths, {"--domain": options["domain"]})
    arguments, inputs = _arguments(options), inputs_from(paths, options["file_format"])
    shown = _progress.wanted(progress=progress, quiet=quiet)
    with ExitStack() as stack:
        staged = stack.enter_context(Staged())
        items_path = staged.add(target) if target else None
        report_path = staged.add(report) if report else None
        with _progress.bar(shown=shown) as update:
            release = dpsel.select_top_k(inputs, progress=update, **arguments)
            if report_path:
                release.report.save(report_path)
            if items_path:
                release.to_table().write(items_path)
        if not items_path:
            print_file(output_format or STDOUT_FORMATS[0], release.to_table().write)
    if not quiet:
        click.echo(str(release), err=True)


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Turn the options into the keyword arguments of ``dpsel.select_top_k``."""
    items: tuple[str, ...] = options["items"]
    domain: Path | None = options["domain"]
    name = options["mechanism"]
    if domain is not None and len(items) > 1:
        message = (
            "--domain lists the values of one column; with several --item give a file to the Python function"
        )
        raise click.UsageError(message)
    privacy = privacy_of(options["epsilon"], options["rho"], options["delta"])
    counts = counts_of(**{name: options[f"counts_{name}"] for name in ("epsilon", "rho", "delta")})
    if domain is None and isinstance(privacy, dpsel.PureDP):
        message = "without --domain the items are secret, which needs --delta; give --delta or --domain"
        raise click.UsageError(message)
    return {
        "user": options["user"],
        "item": items[0] if len(items) == 1 else list(items),
        "k": options["k"],
        "privacy": privacy,
        "mechanism": _mechanism(name, unordered=options["unordered"]),
        "domain": None if domain is None else _lines(domain),
        "ordered": not options["unordered"],
        "counts": counts,
        "max_items_per_user": options["max_items_per_user"],
        "neighbours": options["neighbours"].replace("-", "_"),
        "file_format": options["file_format"],
        "threads": options["threads"],
        "memory_limit": options["memory_limit"],
        "insecure_test_key": options["insecure_test_key"],
    }


def _mechanism(name: str, *, unordered: bool) -> Any:
    if name == AUTO:
        return AUTO
    return dpsel.Discover(ordered=not unordered) if name == "discover" else BY_NAME[name]()


def _lines(path: Path) -> list[str]:
    """Return the lines that are not empty. Only line feeds end one: an item may hold any other separator."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        message = f"--domain needs a file of UTF-8 text, and {path} is not; save it as UTF-8"
        raise click.UsageError(message) from None
    return [line for line in re.split("\r?\n", text) if line]


def counts_of(
    epsilon: float | None, rho: float | None, delta: float | None
) -> dpsel.PureDP | dpsel.ApproxDP | dpsel.ZCDP | None:
    """Make the budget of published counts, if there are any."""
    if epsilon is None and rho is None and delta is None:
        return None
    if (epsilon is None) == (rho is None):
        message = "give either --counts-epsilon or --counts-rho: counts have a budget of their own"
        raise click.UsageError(message)
    if rho is not None and delta is None:
        message = "--counts-rho needs --counts-delta; 1e-30 is as good as none"
        raise click.UsageError(message)
    try:
        return privacy_of(epsilon, rho, delta)
    except InvalidParameterError as error:
        # The classes do not know that they stand for counts.
        message = re.sub(r"^(epsilon|rho|delta)(?= must )", r"--counts-\1", str(error))
        raise click.UsageError(message) from None


def privacy_of(
    epsilon: float | None, rho: float | None, delta: float | None
) -> dpsel.PureDP | dpsel.ApproxDP | dpsel.ZCDP:
    """Make the privacy parameters; without ``--delta`` the guarantee is pure."""
    if (epsilon is None) == (rho is None):
        message = "give either --epsilon or --rho: how much privacy to spend is your decision"
        raise click.UsageError(message)
    if rho is not None:
        if delta is None:
            message = "--rho needs --delta; 1e-30 is as good as none"
            raise click.UsageError(message)
        return dpsel.ZCDP(rho=rho, delta=delta)
    assert epsilon is not None  # noqa: S101 - exactly one is given, checked above
    return dpsel.PureDP(epsilon=epsilon) if delta is None else dpsel.ApproxDP(epsilon=epsilon, delta=delta)
