"""Where commands put tables and reports: into files or to standard output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import dpsel
from dpsel.cli import _progress
from dpsel.cli._output import (
    STDOUT,
    Staged,
    print_file,
    refuse_other_report,
    refuse_report_of_others,
    refuse_same_file,
)
from dpsel.cli._streams import require_stdout
from dpsel.exceptions import STAYS_SPENT
from dpsel.outputs import report_beside
from dpsel.quoting import quoted_path

if TYPE_CHECKING:
    import os

    from dpsel.progress import Bar

F = TypeVar("F", bound=Callable[..., Any])

STDOUT_FORMATS = ("csv", "ndjson")

_PACKED = tuple(f"{text}{packed}" for text in (".csv", ".ndjson", ".jsonl") for packed in (".gz", ".zst"))
#: Ends of the names of files that can be written.
EXTENSIONS = (*dpsel.release.EXTENSIONS, *_PACKED)


def output_options(command: F) -> F:
    """Add where a table goes; see ``target_of``."""
    output = click.option(
        "-o",
        "--output",
        default=STDOUT,
        metavar="FILE",
        help="Items to FILE, format by extension; - is standard output.  [default: -]",
    )
    printed = click.option(
        "--output-format",
        type=click.Choice(STDOUT_FORMATS),
        help="Format on standard output.  [default: csv]",
    )
    return output(printed(command))


def result_options(command: F) -> F:
    """Add where the items and the report go, and what is shown on the way; see ``publish``."""
    options = (
        output_options,
        click.option(
            "--report", type=click.Path(path_type=Path), metavar="FILE", help="What was enforced, as JSON."
        ),
        click.option("--progress", is_flag=True, help="Draw the progress bar even if not on a terminal."),
        click.option("-q", "--quiet", is_flag=True, help="No progress bar and no summary."),
    )
    for option in reversed(options):
        command = option(command)
    return command


class Results:
    """Where the results of a command go. Making it refuses what could not be written."""

    def __init__(
        self,
        options: dict[str, Any],
        paths: Iterable[str],
        tables: Mapping[str, str | os.PathLike[str] | None],
    ) -> None:
        """Check the options; ``tables`` has the file of each option that names a public one."""
        self._target = target_of(options["output"], options["output_format"])
        self._format = options["output_format"] or STDOUT_FORMATS[0]
        if self._target is None:
            require_stdout()
        self._is_paid = options["ledger"] is not None
        self._report: Path | None = options["report"]
        if self._report is not None and str(self._report) == STDOUT:
            message = "--report needs the name of a file, got -; standard output is for the items"
            raise click.UsageError(message)
        refuse_same_file({"--output": self._target, "--report": self._report}, paths, tables)
        refuse_other_report(self._target, self._report, "--report")
        refuse_report_of_others(self._report, self._target)
        self._quiet: bool = options["quiet"]
        self._shown = _progress.wanted(progress=options["progress"], quiet=self._quiet)

    def publish(
        self,
        release: Callable[[Bar | None], Any],
        remark: Callable[[Any], str | None] = lambda _: None,
    ) -> None:
        """Make the release and write it: items and report appear together or not at all.

        ``remark`` may add something to the summary.
        """
        with Staged() as staged:
            items_path = staged.add(self._target) if self._target else None
            report_path = staged.add(self._report) if self._report else None
            with _progress.bar(shown=self._shown) as update:
                made = release(update)
                with self._noted():
                    if report_path:
                        made.report.save(report_path)
                    if items_path:
                        made.to_table().write(items_path)
            if not items_path:
                with self._noted():
                    print_file(self._format, made.to_table().write)
        if not self._quiet:
            click.echo(str(made), err=True)
            if text := remark(made):
                click.echo(text, err=True)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Say of a failure to write that the cost stays spent, if a ledger has paid it."""
        try:
            yield
        except BaseException as error:
            if self._is_paid:
                error.add_note(STAYS_SPENT)
            raise


def target_of(output: str, output_format: str | None) -> Path | None:
    """Return the file to write, or ``None`` for standard output; refuse a path that cannot be written."""
    if output == STDOUT:
        return None
    if output_format is not None:
        message = "--output-format is for standard output; with -o the extension of the file says the format"
        raise click.UsageError(message)
    target = Path(output)
    if not target.name.lower().endswith(EXTENSIONS):
        message = (
            f"-o needs a file name that ends in one of {', '.join(EXTENSIONS)}, got {quoted_path(output)}"
        )
        raise click.UsageError(message)
    return target


def write_derived(items: Path, options: Mapping[str, Any], make: Callable[[dpsel.Release], Any]) -> None:
    """Write a table that is made of the items and the report of a release, which are read here.

    Args:
        items: The file of the items.
        options: Those of the output, and the report, if it has another name.
        make: What makes the table of the release.
    """
    target, report = target_of(options["output"], options["output_format"]), options["report"]
    if target is None:
        require_stdout()
    refuse_same_file({"--output": target}, [], {"ITEMS": items, "--report": report})
    refuse_other_report(target, report or report_beside(items))
    made = make(dpsel.Release.load(items, report))
    if target is None:
        print_file(options["output_format"] or STDOUT_FORMATS[0], made.write)
    else:
        made.write(target)
