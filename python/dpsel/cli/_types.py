"""Types of option values: sizes, lists of numbers, keys and public tables."""

from __future__ import annotations

import csv
import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

import dpsel
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms.words import MechanismSyntaxError, parse
from dpsel.quoting import quoted, quoted_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?", re.IGNORECASE)
_KEY_BYTES = 32
_NUMBER = r"\d*\.?\d+(?:e-?\d+)?"
_QUANTILE = re.compile(
    rf"quantile\(\s*(?P<quantile>{_NUMBER})\s*"
    rf"(?:,\s*share\s*=\s*(?P<share>{_NUMBER})\s*)?(?:,\s*most\s*=\s*(?P<most>\d+)\s*)?\)"
)


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


class _Written:
    """Refuses what people do not write: Python also reads digits that are joined by underscores."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the text."""
        kind: Any = super()
        if isinstance(value, str) and "_" in value:
            kind.fail(f"{value!r} has an underscore; write digits alone", param, ctx)
        if isinstance(value, str) and "," in value:
            kind.fail(f"{value!r} is a list, and one number is needed; leave the others out", param, ctx)
        return kind.convert(value, param, ctx)


class Whole(_Written, click.types.IntParamType):
    """A whole number."""


class Real(_Written, click.types.FloatParamType):
    """A number."""


class WholeRange(_Written, click.IntRange):
    """A whole number of a range."""


class RealRange(_Written, click.FloatRange):
    """A number of a range."""


def _whole(text: str) -> int:
    """Return a whole number, also one that is written as ``1e9``."""
    if "_" in text:
        raise ValueError
    if "e" not in text.lower():
        return int(text)
    number = float(text)
    if not number.is_integer():
        raise ValueError
    return int(number)


class Counts(click.ParamType[tuple[int, ...]]):
    """Whole numbers above 0, separated by commas: ``1,10,100`` or ``1e8,1e9``."""

    name = "n,n,..."

    def __init__(self, example: str = "1,10,100") -> None:
        """Show an example of the option in errors."""
        self.example = example

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Parse the text."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(map(_whole, value.split(",")))
        except (ValueError, OverflowError):
            numbers = (0,)
        if min(numbers) < 1:
            self.fail(f"{value!r} is not a list of whole numbers above 0 such as {self.example}", param, ctx)
        return numbers


class Limit(click.ParamType[Any]):
    """A limit as a number, or as a quantile that the call finds: ``quantile(0.95, share=0.02)``."""

    name = "n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the text."""
        if not isinstance(value, str):
            return value
        text = value.strip()
        if match := _QUANTILE.fullmatch(text):
            share, most = float(match["share"] or 0.02), int(match["most"] or 1_000)
            try:
                return dpsel.Quantile(float(match["quantile"]), share, most)
            except InvalidParameterError as error:
                self.fail(str(error), param, ctx)
        if not text.isdecimal() or int(text) < 1:
            self.fail(
                f"{value!r} is no whole number above 0, and no quantile such as quantile(0.95, share=0.02)",
                param,
                ctx,
            )
        return int(text)


class Limits(Counts):
    """As ``Counts``, or one quantile."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the text."""
        if isinstance(value, str) and value.lstrip().startswith("quantile"):
            return (Limit().convert(value, param, ctx),)
        return super().convert(value, param, ctx)


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
            if "_" in value:
                raise ValueError  # noqa: TRY301 - as of another text
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


class FileFormat(click.ParamType[Any]):
    """A format of files as a name, or a form of text files in words: ``csv(delimiter=';', header=false)``."""

    name = "format"
    NAMES = ("parquet", "csv", "tsv", "ndjson", "ipc")
    #: Characters that a shell makes hard to write.
    _CHARACTERS: ClassVar = {"tab": "\t", "backslash": "\\", "none": ""}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the text."""
        if isinstance(value, dpsel.Csv):
            return value
        try:
            name, form = parse(value)
        except MechanismSyntaxError:
            name, form = "", {}
        if name in self.NAMES and "(" not in value:
            return name
        known = {field.name for field in dataclasses.fields(dpsel.Csv)}
        if name != "csv" or not form or not form.keys() <= known:
            self.fail(
                f"{quoted(value)} is none of {', '.join(self.NAMES)}, and no form of text files such as "
                "csv(delimiter=';', header=false, quote=none, escape=backslash)",
                param,
                ctx,
            )
        words = {key: each for key, each in form.items() if isinstance(each, str)}
        given: dict[str, Any] = form | {key: self._CHARACTERS.get(each, each) for key, each in words.items()}
        try:
            return dpsel.Csv(**given)
        except InvalidParameterError as error:
            self.fail(str(error), param, ctx)


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
        return _or_fail(self, _read(value, _frequencies), param, ctx)


def _frequencies(path: str, rows: Iterator[list[str]]) -> Frequencies | str:
    header = next(rows, [])
    try:
        pairs = [(item, float(number)) for item, number in rows]
    except ValueError:
        return f"{path} is not a CSV file of two columns, an item and a number"
    if any(_is_number(name) for name in header[1:]):
        return f"{path} has a number in line 1, which must be a header such as item,count"
    table = Frequencies(pairs)
    if len(table) < len(pairs):
        return f"{path} has an item more than once; keep one line for each"
    table.path = path
    return table


def _read(path: str, parsed: Callable[[str, Iterator[list[str]]], T | str]) -> T | str:
    """Return what is made of a CSV file, or what is wrong with it: an exception would hold its rows."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return parsed(path, csv.reader(file, strict=True))
    except OSError as error:
        return f"cannot read {quoted_path(path)}: {error.strerror}"
    except (UnicodeDecodeError, csv.Error):
        return f"{path} is not a CSV file"


def _or_fail(
    kind: click.ParamType[T], found: T | str, param: click.Parameter | None, ctx: click.Context | None
) -> T:
    if isinstance(found, str):
        kind.fail(found, param, ctx)
    return found


class Items(list[Any]):
    """Public items, the file that they were read from, and its header line."""

    path: str
    header: list[str]


class ItemFile(click.ParamType[Items]):
    """A CSV file of public items: a header line, then an item in each row, in several columns perhaps."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Items:
        """Read the file."""
        if isinstance(value, Items):
            return value
        return _or_fail(self, _read(value, _items), param, ctx)


def _items(path: str, rows: Iterator[list[str]]) -> Items | str:
    header = next(rows, [])
    found = [tuple(row) for row in rows if row]
    width = len(header)
    if width == 0 or any(len(row) != width for row in found):
        return f"{path} needs a header line, and as many fields in each row"
    items = Items(row[0] if width == 1 else row for row in found)
    items.path, items.header = path, header
    return items


def named_as(columns: Sequence[str], option: str, items: Items | None) -> Items | None:
    """Return public items whose header line names the columns of the item; refuse others.

    A list without a header line would lose its first item.
    """
    if items is None or items.header == list(columns):
        return items
    if (width := len(items.header)) != len(columns):
        given = "1 column" if width == 1 else f"{width} columns"
        named = "one" if len(columns) == 1 else str(len(columns))
        keep = "the column of items only" if len(columns) == 1 else "one column for each --item"
        message = f"{option}: {items.path} has {given}, but --item names {named}; keep {keep}"
        raise click.UsageError(message)
    names = "the name" if len(columns) == 1 else "the names, in the same order,"
    message = (
        f"{option}: the first line of {items.path} is read as a header, and must be {names} that --item "
        f"gives: {','.join(columns)}; add that line, or put it in place of a header with another name"
    )
    raise click.UsageError(message)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
