"""``dpsel audit``: try to refute what mechanisms claim."""

from __future__ import annotations

import contextlib
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dpsel
from dpsel.cli._budgets import Privacy, privacy_of
from dpsel.cli._exit import ExitCode
from dpsel.cli._mechanisms import Chosen, MechanismType
from dpsel.cli._output import STDOUT, Staged
from dpsel.cli._streams import require_stdout
from dpsel.cli._types import Real, RealRange, WholeRange
from dpsel.mechanisms.words import shown_name, spellings
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

_EPILOG = """\
\b
Examples:
  dpsel audit
  dpsel audit sips 'policy-gaussian(passes=2)' --thorough --report audit.json
  dpsel audit --callable mylibrary.keys:select --epsilon 1 --delta 0.02 \\
      --max-items-per-user 3 --seconds 60

How to read the table: it has the claimed epsilon and delta, and beside each the least value that the audit
showed to be needed. Exact laws are computed from the thresholds, curves and rates that releases use. Samples
give lower bounds; the probability that any of them in a report is wrong is one in a million. An audit can
refute a claim, but not prove it. Without MECHANISM everything that ships is audited, and as a control a
published calibration that is known to be wrong. `steered` has more lines, for attacks on the scores that
it publishes: on its claim, and on the most that a user may add to the score of one item.

`quantile` is the noisy look that a limit from the data takes, and `counts` are numbers of users or rows
beside every selection. `series` and `count-series` are those of these commands. These are no mechanisms, and
have their names here.

A MECHANISM is a name, which stands for every way to release, or a name with parameters in parentheses:
'sips(rounds=5)'. `dpsel mechanisms` lists them.

A --callable takes a list of (user, item) pairs and returns the released items: a set, a list, or pairs of
items and numbers. Modules are also looked for in the current directory. Claim a large delta: samples cannot
see a small one. The audit ends as soon as the claim is refuted, and shows the two tables, the event, what
was counted, and a program that counts it again.
"""


_OTHERS = ("quantile", "counts", "series", "count-series")


class _Subject(MechanismType):
    """A mechanism with parameters, or a name, which may stand for several ways to release."""

    def __init__(self) -> None:
        """Accept all mechanisms that there are."""
        super().__init__("selection", "top-k", auto=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a name as the audit spells it, or a mechanism."""
        if not isinstance(value, str) or "(" in value or ")" in value:
            return super().convert(value, param, ctx)
        if value in _OTHERS:
            return value
        if cls := spellings(self.named).get(value):
            return shown_name(cls)
        if value.removesuffix("-curve").removesuffix("-published").removesuffix("-screening") in self.named:
            return value
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            raise click.BadParameter(
                f"{error.message}; beside mechanisms there are {', '.join(_OTHERS)}", ctx, param, "MECHANISM"
            ) from None


@click.command("audit", epilog=_EPILOG, short_help="Try to refute what mechanisms claim.")
@click.argument("mechanisms", nargs=-1, metavar="[MECHANISM]...", type=_Subject())
@click.option(
    "--quick/--thorough",
    default=True,
    help="Two to four minutes for everything, or half an hour.  [default: quick]",
)
@click.option("--epsilon", type=Real(), metavar="E", help="The claimed epsilon.  [default: one that fits]")
@click.option("--delta", type=Real(), metavar="D", help="The claimed delta; without it --epsilon is pure.")
@click.option(
    "--max-items-per-user", type=WholeRange(min=1), metavar="N", help="Items of each user that count."
)
@click.option(
    "--levels", type=WholeRange(min=2, max=32), metavar="N", help="Audit `steered` on trees of N levels."
)
@click.option(
    "--callable",
    "target",
    metavar="MODULE:FUNCTION",
    help="Audit this function from rows to items; needs --epsilon and --max-items-per-user.",
)
@click.option(
    "--rho", type=Real(), metavar="R", help="With --callable: a claim of zCDP, instead of --epsilon."
)
@click.option(
    "--seconds",
    type=RealRange(min=0, min_open=True),
    metavar="S",
    help="With --callable: how long to try at most.  [default: 60; with --thorough 600]",
)
@click.option(
    "--calls",
    type=WholeRange(min=1),
    metavar="N",
    help="With --callable: how many calls to make at most, instead of seconds.",
)
@click.option(
    "--neighbours",
    type=click.Choice(["add-remove", "swap"]),
    help="With --callable: one user more, or one user with other rows.  [default: add-remove]",
)
@click.option(
    "--items",
    type=click.Choice(["int", "str", "numpy"]),
    multiple=True,
    help="With --callable: what items are; may be repeated.  [default: int, and others that it takes]",
)
@click.option(
    "--domain",
    type=WholeRange(min=1),
    metavar="N",
    help="With --callable: the items are public, and are the numbers below N.",
)
@click.option(
    "--padding",
    type=WholeRange(min=0),
    metavar="N",
    help="With --callable: users who are in every table, for functions that take no empty one.",
)
@click.option(
    "--copies",
    type=WholeRange(min=1),
    metavar="N",
    help="With --callable: disjoint copies of the tables in one call, for functions that decide about an "
    "item by the users connected with it.  [default: 1]",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="The findings as JSON; with - to standard output, and the table to standard error.",
)
def command(mechanisms: tuple[Chosen | str, ...], report: Path | None, *, quick: bool, **options: Any) -> int:
    """Try to refute what MECHANISMs claim, on neighbouring tables made for this; needs no data.

    Exits with 4 if a claim is refuted.
    """
    is_printed = report is not None and str(report) == STDOUT
    require_stdout(None if is_printed else report)
    privacy = _privacy(options["epsilon"], options["rho"], options["delta"])
    subjects = [each.made() if isinstance(each, Chosen) else each for each in mechanisms]
    with Staged() as staged:
        place = staged.add(report) if report and not is_printed else None
        found = _run(subjects, privacy, options | {"quick": quick})
        if place:
            found.save(place)
    if is_printed:
        click.echo(found.to_json())
    click.echo(str(found), err=is_printed)
    return ExitCode.OK if found.ok else ExitCode.CHECK_FAILED


#: Options that only make sense with a function.
_OF_CALLABLES = ("rho", "seconds", "calls", "neighbours", "items", "domain", "padding", "copies")


def _run(mechanisms: list[Any], privacy: Privacy | None, options: dict[str, Any]) -> dpsel.AuditReport:
    limit, target = options["max_items_per_user"], options["target"]
    given = {name: options[name] for name in _OF_CALLABLES if options[name] not in (None, ())}
    if target is None:
        if given:
            message = f"--{next(iter(given))} belongs to --callable"
            raise click.UsageError(message)
        effort: Any = "quick" if options["quick"] else "thorough"
        return dpsel.audit(
            *mechanisms,
            privacy=privacy,
            effort=effort,
            max_items_per_user=limit,
            levels=options["levels"],
            progress=_progress("auditing {} ..."),
        )
    if mechanisms:
        message = "give either mechanisms or --callable"
        raise click.UsageError(message)
    if options["levels"] is not None:
        message = "--levels is for mechanisms; leave it out with --callable"
        raise click.UsageError(message)
    if privacy is None or limit is None:
        message = "--callable needs what the function claims: --epsilon, mostly --delta, --max-items-per-user"
        raise click.UsageError(message)
    given.pop("rho", None)
    if "neighbours" in given:
        given["neighbours"] = given["neighbours"].replace("-", "_")
    arguments = {"seconds": 60.0 if options["quick"] else 600.0} | given
    # What the function prints must not get into the table or the JSON.
    with contextlib.redirect_stdout(sys.stderr):
        return dpsel.audit_callable(
            _function(target),
            privacy=privacy,
            max_items_per_user=limit,
            name=target,
            progress=_progress("{}"),
            **arguments,
        )


def _privacy(epsilon: float | None, rho: float | None, delta: float | None) -> Privacy | None:
    if epsilon is None and rho is None and delta is None:
        return None
    if epsilon is None and rho is None:
        message = "--delta needs --epsilon"
        raise click.UsageError(message)
    return privacy_of(epsilon, rho, delta)


def _function(target: str) -> Callable[[list[Any]], Any]:
    """Import ``module:function``."""
    module, _, name = target.partition(":")
    if not module or not name:
        message = f"--callable must be MODULE:FUNCTION, got {quoted(target)}"
        raise click.UsageError(message)
    sys.path.insert(0, str(Path.cwd()))
    try:
        function: Any = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
    except (ImportError, AttributeError) as error:
        message = f"cannot import {quoted(target)}: {error}"
        raise click.UsageError(message) from error
    finally:
        sys.path.pop(0)
    if not callable(function):
        message = f"{quoted(target)} is not a function"
        raise click.UsageError(message)
    return function  # type: ignore[no-any-return]


def _progress(form: str) -> Callable[[str], None] | None:
    """Show what is being done, on a terminal."""
    if not sys.stderr.isatty():
        return None
    return lambda text: click.echo(form.format(text), err=True)
