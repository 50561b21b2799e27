"""``dpsel audit``: try to refute what mechanisms claim."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dpsel
from dpsel.cli._exit import ExitCode
from dpsel.cli._output import Staged

if TYPE_CHECKING:
    from collections.abc import Callable

_EPILOG = """\
\b
Examples:
  dpsel audit
  dpsel audit sips policy-gaussian --thorough --report audit.json
  dpsel audit --callable mylibrary.keys:select --epsilon 1 --delta 0.02 \\
      --max-items-per-user 3

What the table says: the claimed epsilon and delta, and beside each what was shown to be needed at least.
Exact laws are computed from the thresholds, curves and rates that releases use; samples give lower bounds
that are false with a chance of one in a million, for the whole report. A claim that stands is not proved
by that. Without MECHANISM everything that ships is audited, and a published calibration that is known to
be wrong, as a control.

A --callable takes a list of (user, item) pairs of whole numbers and returns the released items. Modules
are also looked for in the current directory. Claim a large delta: samples cannot see a small one.
"""


@click.command("audit", epilog=_EPILOG, short_help="Try to refute what mechanisms claim.")
@click.argument("mechanisms", nargs=-1, metavar="[MECHANISM]...")
@click.option(
    "--quick/--thorough", default=True, help="About a minute for everything, or many.  [default: quick]"
)
@click.option("--epsilon", type=float, metavar="E", help="The claim.  [default: one that fits]")
@click.option("--delta", type=float, metavar="D", help="The claim; without it, pure differential privacy.")
@click.option("--max-items-per-user", type=click.IntRange(min=1), metavar="N", help="The limit per user.")
@click.option(
    "--callable",
    "target",
    metavar="MODULE:FUNCTION",
    help="Audit this function from rows to items; needs --epsilon and --max-items-per-user.",
)
@click.option(
    "--copies",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --callable: disjoint copies of the tables in one call.  [default: 1]",
)
@click.option("--report", type=click.Path(path_type=Path), metavar="FILE", help="Write the findings as JSON.")
def command(mechanisms: tuple[str, ...], report: Path | None, *, quick: bool, **options: Any) -> int:
    """Try to refute what MECHANISMs claim, on neighbouring tables made for it; needs no data.

    Exits with 4 if a claim is refuted.
    """
    arguments: dict[str, Any] = {
        "privacy": _privacy(options["epsilon"], options["delta"]),
        "effort": "quick" if quick else "thorough",
    }
    with Staged() as staged:
        place = staged.add(report) if report else None
        found = _run(mechanisms, arguments, options)
        if place:
            found.save(place)
    click.echo(str(found))
    return ExitCode.OK if found.ok else ExitCode.CHECK_FAILED


def _run(
    mechanisms: tuple[str, ...], arguments: dict[str, Any], options: dict[str, Any]
) -> dpsel.AuditReport:
    limit, target, copies = options["max_items_per_user"], options["target"], options["copies"]
    if target is None:
        if copies is not None:
            message = "--copies belongs to --callable"
            raise click.UsageError(message)
        return dpsel.audit(*mechanisms, **arguments, max_items_per_user=limit, progress=_progress())
    if mechanisms:
        message = "give either mechanisms or --callable"
        raise click.UsageError(message)
    if arguments["privacy"] is None or limit is None:
        message = "--callable needs what the function claims: --epsilon, mostly --delta, --max-items-per-user"
        raise click.UsageError(message)
    function = _function(target)
    return dpsel.audit_callable(
        function, **arguments, max_items_per_user=limit, copies=copies or 1, name=target
    )


def _privacy(epsilon: float | None, delta: float | None) -> dpsel.ApproxDP | dpsel.PureDP | None:
    if epsilon is None:
        if delta is not None:
            message = "--delta needs --epsilon"
            raise click.UsageError(message)
        return None
    return dpsel.PureDP(epsilon=epsilon) if delta is None else dpsel.ApproxDP(epsilon=epsilon, delta=delta)


def _function(target: str) -> Callable[[list[tuple[int, int]]], Any]:
    """Import ``module:function``."""
    module, _, name = target.partition(":")
    if not module or not name:
        message = f"--callable wants MODULE:FUNCTION, got {target}"
        raise click.UsageError(message)
    sys.path.insert(0, str(Path.cwd()))
    try:
        function: Any = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
    except (ImportError, AttributeError) as error:
        message = f"cannot import {target}: {error}"
        raise click.UsageError(message) from error
    finally:
        sys.path.pop(0)
    if not callable(function):
        message = f"{target} is no function"
        raise click.UsageError(message)
    return function  # type: ignore[no-any-return]


def _progress() -> Callable[[str], None] | None:
    """Name what is being audited, on a terminal."""
    if not sys.stderr.isatty():
        return None
    return lambda name: click.echo(f"auditing {name} ...", err=True)
