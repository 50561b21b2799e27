"""The values of each column, and the files that are made of them."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

from dpsel import _core_calls
from dpsel._tables import SHOWN_ROWS, Display, Displayed, cell, one_line
from dpsel.column_domains._pairs import read_as
from dpsel.column_domains._snowflake import domain_of, name_of
from dpsel.exceptions import InvalidParameterError, SchemaError
from dpsel.quoting import quoted
from dpsel.release._wording import counted_column

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from dpsel.release import Release, Report


class Domains(Displayed):
    """The released values of each column, typed as the column is. It is made by [`domains`][dpsel.domains].

    Examples:
        >>> import dpsel
        >>> people = {"job": ["cook", "nurse"] * 500, "age": [30, 40] * 500}
        >>> import pyarrow as pa
        >>> found = dpsel.domains(
        ...     pa.table(people), columns=["job", "age"], privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
        ... )
        >>> found["job"], found["age"]
        (['cook', 'nurse'], [30, 40])
        >>> print(found.to_snowflake("people"))
        ALTER TABLE people ALTER (
          COLUMN job SET PRIVACY DOMAIN IN ('cook', 'nurse'),
          COLUMN age SET PRIVACY DOMAIN BETWEEN (30, 40)
        );
    """

    __slots__ = ("_arrays", "_users", "counts", "report")

    report: Report
    """What was enforced, for all columns together."""

    counts: dict[str, list[int]] | None
    """The noisy numbers of the values of each column, in their order; ``None`` unless ``counts=`` asked."""

    def __init__(
        self, arrays: dict[str, Any], report: Report, counts: dict[str, list[int]] | None, *, users: bool
    ) -> None:
        """Keep an array of pyarrow for each column, numbers, and whether a column told the users."""
        self._arrays, self.report, self.counts, self._users = arrays, report, counts, users

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order that was asked for."""
        return list(self._arrays)

    def to_arrow(self, column: str) -> Any:
        """Return the values of a column as a ``pyarrow.Array`` of its type."""
        return self._arrays[column]

    def __getitem__(self, column: str) -> list[Any]:
        """Return the values of a column as Python values, sorted.

        Raises:
            SchemaError: If it has days that Python does not have, before the year 1 or after 9999.
        """
        try:
            return list(self._arrays[column].to_pylist())
        except (OverflowError, ValueError):
            pass
        raise SchemaError(
            f"column {quoted(column)} holds released values that Python's own types cannot hold exactly; use "
            "to_arrow()"
        )

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        return iter(self._arrays)

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._arrays)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a domain file in JSON: for each column ``{"type": ..., "possible_values": [...]}``.

        It is the form of ``dpsynth.domain.from_yaml_file``, because JSON is YAML. Dates become texts. dpsynth
        takes values that are not in the list for the first one.

        Args:
            path: Where to.

        Raises:
            FileError: If the file cannot be written.
        """
        made = {
            name: {"type": "CategoricalAttribute", "possible_values": _shown(array)}
            for name, array in self._arrays.items()
        }
        _core_calls.write_text(path, json.dumps(made, indent=1, ensure_ascii=False) + "\n")

    def to_snowflake(self, table: str) -> str:
        """Return the statement that sets the privacy domains of a table of Snowflake.

        Texts have lists, and integers the range from the least to the largest released value. Columns of
        other types, and those without a value, are left out.

        Args:
            table: The name of the table, as it stands in SQL.
        """
        found = (
            (name, domain_of(_shown(array))) for name, array in self._arrays.items() if not _is_of_days(array)
        )
        lines = [f"  COLUMN {name_of(name)} SET PRIVACY DOMAIN {domain}" for name, domain in found if domain]
        if not lines:
            raise InvalidParameterError(
                "no column has a text or an integer that was released, so there is no domain to set; use "
                "more privacy budget or other columns="
            )
        return "\n".join((f"ALTER TABLE {table} ALTER (", ",\n".join(lines), ");"))

    def __repr__(self) -> str:
        """Number of values of each column, and whose they are."""
        values = ", ".join(f"{one_line(name)}: {len(array):,}" for name, array in self._arrays.items())
        each = "" if self._users else "; each row is a user"
        return f"<dpsel.Domains: {values}{each}>"

    def _display(self) -> Display:
        rows = [
            [name, f"{len(array):,}", ", ".join(map(cell, _shown(array[:SHOWN_ROWS])))]
            for name, array in self._arrays.items()
        ]
        return Display([repr(self)], ["column", "values", "the first of them"], rows)


def _is_of_days(array: Any) -> bool:
    import pyarrow.types as pt

    return bool(pt.is_date32(array.type))


def _shown(array: Any) -> list[Any]:
    """Return values as files and people see them: days as texts, of any year."""
    import pyarrow as pa

    if not _is_of_days(array):
        return list(array.to_pylist())
    return list(map(_day, array.cast(pa.int32()).to_pylist()))


def _day(number: int) -> str:
    """Return a day in ISO 8601; years beyond those of Python have a sign there."""
    # The calendar repeats itself.
    cycles, rest = divmod(number, 146_097)
    near = dt.date(1970, 1, 1) + dt.timedelta(days=rest)
    year = near.year + 400 * cycles
    return f"{year:{'04' if 0 <= year <= dt.MAXYEAR else '+05'}}{near:-%m-%d}"


def typed(release: Release[Any], kinds: dict[str, Any]) -> tuple[dict[str, Any], dict[str, list[int]] | None]:
    """Return the released texts of each column as its type, sorted, and their numbers if there are any."""
    import pyarrow as pa

    table, number = release.to_table(), counted_column(release.report["request"])
    places, texts = (table.column(name) for name in table.columns[:2])
    numbers = table.column(number) if number else [0] * len(table)
    arrays, counts = {}, {}
    for at, (name, kind) in enumerate(kinds.items()):
        found = [
            (text, count) for place, text, count in zip(places, texts, numbers, strict=True) if place == at
        ]
        plain = read_as(kind)
        values = pa.array([text for text, _ in found], pa.large_string()).cast(plain).to_pylist()
        pairs = sorted(zip(values, (count for _, count in found), strict=True), key=lambda pair: pair[0])
        arrays[name] = pa.array([value for value, _ in pairs], plain).cast(kind)
        counts[name] = [count for _, count in pairs]
    return arrays, counts if number else None
