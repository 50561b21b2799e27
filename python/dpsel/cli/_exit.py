"""Exit codes, and the one place where an exception becomes a line on standard error and a code."""

from __future__ import annotations

import os
import re
import sys
import traceback
from enum import IntEnum
from typing import TYPE_CHECKING

import click

from dpsel import exceptions
from dpsel.exceptions import STAYS_SPENT
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping


#: What is plainly no data: an option, a mechanism with numbers or single words, an extra of ours.
_OURS = re.compile(
    r"""'(?:--?[a-z][a-z0-9-]*|[a-z0-9-]+\((?:\w+=(?:[A-Za-z_]+|[\d./e-]+)(?:, )?)*\))'|"dpsel\[[a-z]+\]\""""
)
#: A quoted value, or arguments too many, which click shows in parentheses.
_QUOTED = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<=argument )\(.*\)|(?<=arguments )\(.*\)""", re.DOTALL
)


class ExitCode(IntEnum):
    """What the caller of the command learns."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    DATA = 3
    CHECK_FAILED = 4
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


EXIT_CODES_HELP = """\
Exit codes: 0 success; 1 internal error or no system entropy; 2 wrong options or parameters; 3 a problem
with the data, a file or memory; 4 `check` found a report that does not hold, or `audit` refuted a claim;
130 interrupted (Ctrl-C); 141 the reader of standard output went away; 143 terminated.
"""

_USAGE = (exceptions.InvalidParameterError, exceptions.CalibrationError, exceptions.BudgetExceededError)
_INTERNAL = (exceptions.EntropyError, exceptions.InternalError)

#: The error of `dpsel` without arguments: its text is the help. Older versions of click print
#: that text and exit with 0.
_HELP = getattr(click.exceptions, "NoArgsIsHelpError", ())


def exit_code(error: BaseException) -> ExitCode:
    """Return the exit code of an exception that ended a command."""
    match error:
        case click.FileError():
            return ExitCode.DATA
        case click.ClickException() | click.Abort():
            return ExitCode.USAGE
        case _ if isinstance(error, _USAGE):
            return ExitCode.USAGE
        case _ if isinstance(error, _INTERNAL):
            return ExitCode.INTERNAL
        case exceptions.DpselError() | OSError() | ImportError():
            return ExitCode.DATA
        case _:
            return ExitCode.INTERNAL


def report_error(error: BaseException, options: Mapping[str, str] | None = None) -> ExitCode:
    """Print one line about ``error`` on standard error and return its exit code.

    ``options`` has the option for each argument of the functions, which the errors speak of.

    A traceback may hold values of the data (in the text of a line or of a lower-level exception), so it
    is printed only on demand, with ``DPSEL_DEBUG=1``.
    """
    code = exit_code(error)
    if isinstance(error, _HELP):
        click.echo(str(error.format_message()), err=True)
        return code
    if os.environ.get("DPSEL_DEBUG") == "1":
        traceback.print_exception(error, file=sys.stderr)
    told = [f"error: {_one_line(error, options or {})}", *notes_of(error)]
    click.echo("; ".join(told), err=True)
    return code


def notes_of(error: BaseException) -> list[str]:
    """Return our note that a cost stays spent, if the error has it. Notes of others may quote data."""
    return [STAYS_SPENT] if STAYS_SPENT in getattr(error, "__notes__", ()) else []


def _one_line(error: BaseException, options: Mapping[str, str]) -> str:
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "dpsel"
        return f"{_flat(_without_data(error.format_message()))} (see '{command} --help')"
    if isinstance(error, click.ClickException):
        return _flat(_without_data(error.format_message()))
    if isinstance(error, exceptions.DpselError):
        return in_options(_flat(str(error)), options)
    if isinstance(error, OSError | ImportError):
        return _flat(str(error))
    # The text of an unforeseen exception may quote the data: name its type only.
    return f"unexpected {type(error).__name__}; set DPSEL_DEBUG=1 to see where (a traceback may show data)"


def in_options(text: str, options: Mapping[str, str]) -> str:
    """Put options in place of arguments.

    An argument is ``name=``, or a name with an underscore, or a name before "must" at the start of a message.
    Quoted text and parts of paths are no arguments. A mechanism and a form of text files are quoted for the
    shell, numbers stand behind their options, and commands stand for the methods of a series.
    """
    text = text.replace('levels="/"', "--levels-by /")
    text = re.sub(r"dpsel\.(Series|CountSeries)\.(\w+)", _command_of, text)
    text = re.sub(
        r"(?<![\w./=-])(\w+)=(0\.\d+)",
        lambda found: f"{options[found[1]]} {found[2]}" if found[1] in options else found[0],
        text,
    )
    text = re.sub(
        r"(mechanism|file_format)=dpsel\.(\w+\([^()]*\))",
        lambda found: f"{options.get(found[1], found[1])} '{found[2].lower()}'",
        text,
    )
    names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    joined = "|".join(sorted((re.escape(name) for name in options if "_" in name), key=len, reverse=True))
    before, after = r"(?<![\w./\\'\"=-])", r"(?![\w./\\'\"=-])"
    argument = rf"{before}(?:({names})=(?:True|False)?{after}|({joined}){after})|^({names})(?= must )"
    return re.sub(argument, lambda found: options[found[1] or found[2] or found[3]], text) if joined else text


def _command_of(method: re.Match[str]) -> str:
    kind = {"Series": "series", "CountSeries": "count-series"}[method[1]]
    return f"dpsel {kind}" if method[2] == "open" else f"dpsel {kind} {method[2]}"


def _without_data(text: str) -> str:
    """Leave out what click quotes of the command line, unless it is as plain as a name."""
    return _QUOTED.sub(lambda found: found[0] if _is_plain(found[0]) else quoted("\n"), text)


def _is_plain(found: str) -> bool:
    return _OURS.fullmatch(found) is not None or quoted(found[1:-1])[0] == "'"


def _flat(text: str) -> str:
    return " ".join(text.split())
