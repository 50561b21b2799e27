"""The ``dpsel`` command group, the list of its commands, and the frame every command runs in."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import shell_complete

import dpsel
from dpsel.cli import (
    audit,
    card,
    check,
    compare,
    completion,
    count_series,
    demo_data,
    domains,
    filter,  # noqa: A004 - the name of the command
    ledger,
    mechanisms,
    plan,
    plan_size,
    plan_top_k,
    rest,
    select,
    series,
    top,
    top_k,
)
from dpsel.cli._exit import EXIT_CODES_HELP, ExitCode, in_options, notes_of, report_error
from dpsel.cli._streams import prepare_streams
from dpsel.cli.completion import COMPLETION_VARIABLE, PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType

# A new command is a file with a click command called `command`, and its name here.
COMMANDS = (
    select.command,
    series.command,
    count_series.command,
    domains.command,
    top_k.command,
    plan.command,
    plan_top_k.command,
    plan_size.command,
    mechanisms.command,
    compare.command,
    check.command,
    card.command,
    filter.command,
    top.command,
    rest.command,
    ledger.command,
    audit.command,
    demo_data.command,
    completion.command,
)

_EPILOG = f"""\
\b
Try it on the corpus that ships with the package:
  dpsel demo-data lines.csv --kind quotations
  dpsel select lines.csv --user line --item text --ngrams 1,2 \\
      --epsilon 4 --delta 1e-5 --max-items-per-user 20

{EXIT_CODES_HELP}
"""


#: Wheels of a release record the commit that they were made from.
_VERSION = (
    f"{dpsel.__version__} ({f'commit {dpsel.__commit__}' if dpsel.__commit__ else 'commit not recorded'})"
)


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_VERSION, prog_name=PROGRAM)
def cli() -> None:
    """Publish the items of a (user, item) table that differential privacy allows.

    Items are words, queries, URLs, product codes: anything that many users have in common. An item that
    only a few users hold stays unpublished, with a guarantee that covers each user's whole contribution.
    """


for _command in COMMANDS:
    cli.add_command(_command)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; never lets an exception through."""
    before = sys.stdout, sys.stderr
    prepare_streams()
    try:
        return _guarded(sys.argv[1:] if args is None else list(args))
    finally:
        if args is not None:
            # A program has called this, and the streams are its own.
            sys.stdout, sys.stderr = before


def _guarded(given: list[str]) -> int:
    """Run the command line; an exception becomes a message and an exit code."""
    signals: list[int] = []
    try:
        with _termination_interrupts(signals), _short_warnings(_options(given)):
            code = _run(given)
            sys.stdout.flush()
    except BrokenPipeError as error:
        _discard_stdout()
        for note in notes_of(error):
            click.echo(note, err=True)
        return ExitCode.BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort) as error:
        terminated = signal.SIGTERM in signals
        told = ["error: terminated" if terminated else "error: interrupted", *notes_of(error)]
        click.echo("; ".join(told), err=True)
        return ExitCode.TERMINATED if terminated else ExitCode.INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - the last frame; a panic in Rust is no Exception
        return report_error(error, _options(given))
    return code


def _options(args: Sequence[str]) -> dict[str, str]:
    """Return the option for each argument of the functions behind the commands."""
    parameters = [each for command in every_command().values() for each in command.params]
    options = [name for option in parameters for name in option.opts]
    named = {name[2:].replace("-", "_"): name for name in options if name.startswith("--")}
    named |= {
        "file_format": "--format",
        "ordered": "--unordered",
        "total": "--epsilon or --rho",
    }
    # Counts of a top-k have a budget of their own.
    return named | ({"counts": "--counts-epsilon"} if "top-k" in args[:1] else {})


def every_command() -> dict[str, click.Command]:
    """Return the commands by their names, and after a group those of the group."""
    found: dict[str, click.Command] = {}
    for command in COMMANDS:
        found[str(command.name)] = command
        if isinstance(command, click.Group):
            found |= {f"{command.name} {name}": each for name, each in command.commands.items()}
    return found


def _run(args: list[str]) -> int:
    """Parse and run. click's own frame is left out, because it hides closed pipes and interrupts."""
    if instruction := os.environ.get(COMPLETION_VARIABLE):
        return shell_complete(cli, {}, PROGRAM, COMPLETION_VARIABLE, instruction)
    try:
        _refuse_repeats(args)
        with cli.make_context(PROGRAM, args) as context:
            result = cli.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return result if isinstance(result, int) else ExitCode.OK


def _refuse_repeats(args: Sequence[str]) -> None:
    """Refuse an option that is given twice and takes one value: click would drop all but the last."""
    commands = every_command()
    name = next((name for name in (" ".join(args[:2]), *args[:1]) if name in commands), None)
    if name is None:
        return
    command = commands[name]
    context = click.Context(command, info_name=f"{PROGRAM} {name}")
    parser = command.make_parser(context)
    try:
        _, _, given = parser.parse_args(list(args[1 + name.count(" ") :]))
    except click.UsageError:
        return  # the run itself says it, with its usage
    for option in given:
        takes_one = isinstance(option, click.Option) and not (option.multiple or option.is_flag)
        if takes_one and given.count(option) > 1:
            message = f"{option.opts[-1]} is given twice and takes one value; give it once"
            raise click.UsageError(message, context)


@contextmanager
def _termination_interrupts(seen: list[int]) -> Iterator[None]:
    """Let SIGTERM unwind like Ctrl-C, so that files written aside are removed."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    try:
        previous = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not in the main thread: the caller owns the signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def _short_warnings(options: Mapping[str, str]) -> Iterator[None]:
    """Print warnings of the library as one line each, with options in place of arguments."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        click.echo(f"warning: {in_options(' '.join(str(message).split()), options)}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", dpsel.exceptions.DpselWarning)
        warnings.showwarning = show
        yield


def _discard_stdout() -> None:
    """Discard the buffered output of the closed pipe, or Python complains at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # standard output is not a file (under a test runner)
        return
