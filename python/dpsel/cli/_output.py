"""Output files that appear complete or not at all, and the stream of a result to standard output."""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from dpsel.exceptions import FileError
from dpsel.formats import local_path
from dpsel.outputs import checked_output, report_beside
from dpsel.quoting import quoted_path
from dpsel.release import EXTENSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

STDOUT = "-"


class Staged:
    """Files written beside their targets and renamed together at the end.

    Making the place before a job starts also shows that it can be written, before any budget is spent.
    """

    def __init__(self) -> None:
        """Start with no files."""
        self._moves: list[tuple[Path, Path]] = []

    def add(self, target: Path) -> Path:
        """Return the path to write instead of ``target``; it has the same extension."""
        # A link stays: the file that it leads to is replaced. A pipe or device must never be.
        target = Path(os.path.realpath(checked_output(target)))
        if target.exists() and not target.is_file():
            raise FileError(f"cannot write {quoted_path(target)}: it is a directory or a device")
        if not target.parent.is_dir():
            raise FileError(
                f"cannot write {quoted_path(target)}: there is no directory {quoted_path(target.parent)} on "
                "this machine; name a file here, because addresses are not written"
            )
        try:
            folder = tempfile.mkdtemp(prefix=f".{target.stem}.", dir=target.parent)
        except OSError as error:
            raise FileError(f"cannot write {quoted_path(target)}: {error.strerror}") from error
        aside = Path(folder) / target.name
        self._moves.append((aside, target))
        return aside

    def commit(self) -> None:
        """Give every file its name."""
        for aside, target in self._moves:
            aside.replace(target)

    def __enter__(self) -> Self:
        """Enter the block in which the files are written."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit after success; in any case leave nothing beside the targets."""
        try:
            if kind is None:
                self.commit()
        finally:
            for aside, _ in self._moves:
                shutil.rmtree(aside.parent, ignore_errors=True)


def print_file(extension: str, write: Callable[[Path], object]) -> None:
    """Let ``write`` make a private temporary file, then copy it to standard output."""
    with tempfile.TemporaryDirectory(prefix="dpsel-") as folder:
        path = Path(folder) / f"items.{extension}"
        write(path)
        if binary := getattr(sys.stdout, "buffer", None):
            with path.open("rb") as file:
                shutil.copyfileobj(file, binary)
        else:
            # A notebook has a stream of texts alone.
            sys.stdout.write(path.read_text("utf-8"))
        sys.stdout.flush()


def refuse_same_file(
    targets: Mapping[str, str | os.PathLike[str] | None],
    inputs: Iterable[str],
    tables: Mapping[str, str | os.PathLike[str] | None] | None = None,
) -> None:
    """Refuse to write two results to one file, or a result over anything that is read.

    Args:
        targets: The file of each option that writes one; ``None`` where there is none.
        inputs: Paths and patterns, as the core takes them.
        tables: The file of each option that names one to read, such as a public table, a key or a ledger.
    """
    seen: dict[str, str] = {}
    for name, path in targets.items():
        if path is None:
            continue
        real = os.path.realpath(path)
        if real in seen:
            message = f"{name} and {seen[real]} name the same file"
            raise click.UsageError(message)
        seen[real] = name
    for name, path in (tables or {}).items():
        if path is not None and (writer := seen.get(os.path.realpath(path))):
            message = f"{writer} would overwrite the file of {name}"
            raise click.UsageError(message)
    for file in (file for source in inputs for file in _named_by(source)):
        if writer := seen.get(os.path.realpath(file)):
            message = f"{writer} would overwrite an input file"
            raise click.UsageError(message)


def refuse_other_report(
    target: Path | None, own: str | os.PathLike[str] | None, advice: str | None = None
) -> None:
    """Refuse to write items beside a report of other ones, which ``Release.load`` would take for theirs.

    Args:
        target: The file of the items; ``None`` for standard output.
        own: The report of these items, which is written with them or was before.
        advice: The option that makes the report in the way their own, if there is one.
    """
    if target is None or not target.name:
        return
    mine = None if own is None else os.path.realpath(own)
    for items in dict.fromkeys((target, Path(os.path.realpath(target)))):
        beside = report_beside(items)
        if os.path.exists(beside) and os.path.realpath(beside) != mine:  # noqa: PTH110 - false if too long
            instead = f"give {advice} {beside} to replace it, " if advice else ""
            message = (
                f"--output {items}: the file {quoted_path(beside)} is there, and would be read as the "
                f"report of these items, which it is not; {instead}write the items to another name, or move "
                "that file"
            )
            raise click.UsageError(message)


def refuse_report_of_others(report: Path | None, target: Path | None) -> None:
    """Refuse to write a report beside other items, for which ``Release.load`` would take it.

    Args:
        report: The file of the report, if there is one.
        target: The file of its items; ``None`` for standard output.
    """
    if report is None:
        return
    mine = None if target is None else os.path.realpath(target)
    for extension in (f"{kind}{packed}" for kind in EXTENSIONS for packed in ("", ".gz", ".zst")):
        items = report.with_name(report.stem + extension)
        if report_beside(items) == report and items.is_file() and os.path.realpath(items) != mine:
            message = (
                f"--report {report}: the file {quoted_path(items)} is there, and this would be read as the "
                "report of its items, which it is not; write the report to another name, or move that file"
            )
            raise click.UsageError(message)


def _named_by(source: str) -> list[str]:
    """Return the files that a path or pattern names, as ``_ingest`` and the core's ``files/expand.rs`` do."""
    path = local_path(source)
    if os.path.lexists(path):
        return [path]
    return [path, *glob.glob(path, recursive=True, include_hidden=True)]  # noqa: PTH207 - patterns of texts
