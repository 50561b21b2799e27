"""Option types and options that several commands share."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

import dpsel


class Named:
    """A path as it was given: only a path can stand there, so errors may quote it."""

    def __init__(self, path: str) -> None:
        """Keep the path, to the letter: ``./-`` is a file and ``-`` is the standard input."""
        self._path = path

    def __fspath__(self) -> str:
        """Return the path."""
        return self._path


def inputs_from(paths: Sequence[str], file_format: str | None) -> list[Named]:
    """Return the files to read; ``-`` has no name to tell its format."""
    if "-" in paths and file_format is None:
        message = "- is standard input, which has no name to tell the format; pass --format"
        raise click.UsageError(message)
    return [Named(path) for path in paths]


F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?", re.IGNORECASE)
_KEY_BYTES = 32


class ByteSize(click.ParamType[int]):
    """A number of bytes: ``4GiB``, ``500MB``, ``1073741824``."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the text."""
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(value.strip())
        scale = (_UNITS | _BINARY).get(match[2].lower()) if match else None
        size = int(float(match[1]) * scale) if match and scale else 0
        if size < 1:
            self.fail(f"{value!r} is not a size such as 4GiB or 500MB", param, ctx)
        return size


class Counts(click.ParamType[tuple[int, ...]]):
    """Whole numbers above 0, separated by commas: ``1,10,100``."""

    name = "n,n,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Parse the text."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(int(part) for part in value.split(","))
        except ValueError:
            numbers = (0,)
        if min(numbers) < 1:
            self.fail(f"{value!r} is not a list of whole numbers above 0 such as 1,10,100", param, ctx)
        return numbers


class Numbers(click.ParamType[tuple[float, ...]]):
    """Numbers separated by commas: ``0.5,1,2``. Their range is checked where they are used."""

    name = "x,x,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """Parse the text."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(float(part) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers such as 0.5,1,2", param, ctx)


class HexKey(click.ParamType[bytes]):
    """A 256-bit key as 64 hexadecimal digits."""

    name = "hex"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        """Parse the text."""
        if isinstance(value, bytes):
            return value
        try:
            key = bytes.fromhex(value)
        except ValueError:
            key = b""
        if len(key) != _KEY_BYTES:
            self.fail("a test key is 64 hexadecimal digits", param, ctx)
        return key


class Frequencies(dict[str, float]):
    """Public frequencies, and the file that they were read from."""

    path: str


class FrequencyTable(click.ParamType[Frequencies]):
    """A CSV file of public frequencies: a header line, then item and number in each row."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Frequencies:
        """Read the file."""
        if isinstance(value, Frequencies):
            return value
        try:
            with Path(value).open(encoding="utf-8-sig", newline="") as file:
                rows = csv.reader(file)
                header = next(rows, [])
                pairs = [(item, float(number)) for item, number in rows]
        except OSError as error:
            self.fail(f"cannot read {value}: {error.strerror}", param, ctx)
        except (ValueError, csv.Error):
            self.fail(f"{value} is not a CSV file of two columns, an item and a number", param, ctx)
        if any(_is_number(name) for name in header[1:]):
            self.fail(
                f"{value} has a number in line 1, which must be a header such as item,count", param, ctx
            )
        table = Frequencies(pairs)
        if len(table) < len(pairs):
            self.fail(f"{value} has an item more than once; keep one line for each", param, ctx)
        table.path = value
        return table


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def column_options(command: F) -> F:
    """Add ``--user`` and ``--item``, which may be repeated and arrives as ``items``."""
    user = click.option("--user", required=True, metavar="COLUMN", help="Column that identifies the user.")
    item = click.option(
        "--item",
        "items",
        required=True,
        multiple=True,
        metavar="COLUMN",
        help="Column of the item; repeat it for a key of several columns.",
    )
    return user(item(command))


def privacy_options(command: F) -> F:
    """Add ``--epsilon``, ``--rho`` and ``--delta``; see :func:`privacy_from`."""
    options = (
        click.option("--epsilon", type=float, metavar="E", help="Privacy loss of (epsilon, delta)-DP."),
        click.option("--rho", type=float, metavar="R", help="zCDP cost, in place of --epsilon."),
        click.option("--delta", type=float, metavar="D", help="Far below 1 / number of users, such as 1e-8."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def privacy_from(
    epsilon: float | None, rho: float | None, delta: float | None
) -> dpsel.ApproxDP | dpsel.ZCDP:
    """Make the privacy parameters of ``--epsilon``, ``--rho`` and ``--delta``; there are no defaults."""
    if (epsilon is None) == (rho is None):
        message = "give either --epsilon or --rho: how much privacy to spend is your decision"
        raise click.UsageError(message)
    if delta is None:
        message = (
            "--delta is needed: it bounds the chance that an item of one single user is released; "
            "choose it far below 1 / number of users"
        )
        raise click.UsageError(message)
    if epsilon is not None:
        return dpsel.ApproxDP(epsilon=epsilon, delta=delta)
    assert rho is not None  # noqa: S101 - exactly one is given, checked above
    return dpsel.ZCDP(rho=rho, delta=delta)
