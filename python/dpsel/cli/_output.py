"""Output files that appear complete or not at all, and the stream of a result to standard output."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Self

import click

from dpsel.exceptions import FileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
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
        target = Path(os.path.realpath(target))
        if target.exists() and not target.is_file():
            raise FileError(f"cannot write {target}: it is a directory or a device")
        if not target.parent.is_dir():
            raise FileError(f"cannot write {target}: there is no directory {target.parent}")
        try:
            folder = tempfile.mkdtemp(prefix=f".{target.stem}.", dir=target.parent)
        except OSError as error:
            raise FileError(f"cannot write {target}: {error.strerror}") from error
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
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()


def refuse_same_file(targets: dict[str, Path], inputs: Iterable[str]) -> None:
    """Refuse to write two results to one file, or a result over an input."""
    seen: dict[str, str] = {}
    for name, path in targets.items():
        real = os.path.realpath(path)
        if real in seen:
            message = f"{name} and {seen[real]} name the same file"
            raise click.UsageError(message)
        seen[real] = name
    for source in inputs:
        real = os.path.realpath(source)
        if real in seen:
            message = f"{seen[real]} would overwrite an input file"
            raise click.UsageError(message)
