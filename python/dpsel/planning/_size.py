"""Plans of size: the memory, scratch and time that a table takes, from public figures of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel._arguments import as_bytes, as_int, at_least_one, several, type_name
from dpsel._tables import Tabular
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["SizePlan", "plan_size"]

#: Bytes of a distinct row in memory, with its share of users and items. All figures are those of the workload
#: of <https://dpsel.github.io/dpsel/performance/>: 37 rows a user, 3.5 rows an item, two threads.
_ROW: Final = 17
#: What a row takes, by mechanism: about so many bytes on the disk; nanoseconds in memory and from the disk.
_ROWS: Final = {"sips": (13, 80, 200), "steered": (15, 260, 640)}
#: The same where rows of a user are apart, so that its digest stands beside each of them.
_SCATTERED: Final = {"sips": (31, 120, 340), "steered": (36, 320, 650)}
#: Bytes of a limit for each row. With less, items may not fit, which ends a job.
_LIMIT: Final = 1
#: What a job takes in any case.
_LEAST: Final = 64 << 20
#: Bytes of a limit that are for buffers. Half of the others are for rows before they go to the disk.
_BUFFERS: Final = 48 << 20
#: Seconds from which a time is in minutes.
_MINUTES: Final = 120
#: The least figure in a table that is written as a number.
_SHOWN: Final = 0.1


def plan_size(
    rows: int | Sequence[int],
    *,
    memory_limit: int | str | None = None,
    text_bytes: int = 0,
    scattered: bool = False,
) -> SizePlan:
    """Return about how much memory, scratch and time tables of so many rows take, without data.

    The numbers are extrapolated from [measurements](https://dpsel.github.io/dpsel/performance/)
    of one workload on two cores, so expect them within a factor of two. Pass public figures only: the true
    number of rows of private data is private itself.

    Args:
        rows: Number of distinct rows (user, item), or several.
        memory_limit: As for [`select_partitions`][dpsel.select_partitions]. Without it nothing goes to a
            disk.
        text_bytes: The length of a text item, if items are texts. Each is in memory, or in scratch with its
            rows if the source can be read only once.
        scattered: Whether the rows of a user are in no order, instead of side by side. Then they take more of
            the disk.

    Returns:
        One row for each number of rows.

    Raises:
        InvalidParameterError: If an argument is out of range.

    Examples:
        >>> import dpsel
        >>> plan = dpsel.plan_size([10_000_000, 1_000_000_000], memory_limit="2GiB")
        >>> [row["place"] for row in plan.rows]
        ['memory', 'disk']
    """
    limit = as_bytes("memory_limit", memory_limit)
    if limit is not None and limit < _LEAST:
        raise InvalidParameterError(f"memory_limit must be at least 64 MiB, got {limit / (1 << 20):.10g} MiB")
    each = as_int("text_bytes", text_bytes)
    if each < 0:
        raise InvalidParameterError(f"text_bytes must be a whole number from 0 on, got {each}")
    if not isinstance(scattered, bool):
        raise InvalidParameterError(f"scattered must be True or False, got {type_name(scattered)}")
    figures = _SCATTERED if scattered else _ROWS
    return SizePlan(
        tuple(_row(at_least_one("rows", number), limit, each, figures) for number in several(rows))
    )


def _row(
    rows: int, limit: int | None, text_bytes: int, figures: Mapping[str, tuple[int, int, int]]
) -> dict[str, Any]:
    memory = rows * _ROW + rows * text_bytes * 2 // 7
    on_disk = limit is not None and memory > max((limit - _BUFFERS) // 2, limit // 6)
    scratch, seconds = {}, {}
    for name, (each, in_memory, from_disk) in figures.items():
        scratch[f"scratch_{name}"] = rows * (each + text_bytes) * on_disk
        seconds[f"seconds_{name}"] = rows * (from_disk if on_disk else in_memory) * 1e-9
    return {
        "rows": rows,
        "place": "disk" if on_disk else "memory",
        "memory": min(memory, limit) if on_disk and limit is not None else memory,
        "memory_of_all_rows": memory,
        "least_limit": max(_LEAST, rows * _LIMIT) if on_disk else 0,
        **scratch,
        **seconds,
    }


@dataclass(frozen=True, slots=True, repr=False)
class SizePlan(Tabular):
    """What [`plan_size`][dpsel.plan_size] found: one row for each number of rows.

    Examples:
        >>> import dpsel
        >>> dpsel.plan_size(10**9).rows[0]["memory"]
        17000000000
    """

    _rows: tuple[dict[str, Any], ...]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict per row.

        ``place`` is where rows are kept, ``"memory"`` or ``"disk"``. ``memory`` is what the job takes there,
        ``memory_of_all_rows`` what it would take without a disk, both in bytes. ``least_limit`` is the memory
        limit, in bytes, from which the other figures of a disk hold; it is 0 in memory. ``scratch_sips`` and
        ``scratch_steered`` are at most about the bytes on the disk of the two mechanisms. ``seconds_sips``
        and ``seconds_steered`` are their time on two cores.
        """
        return self._copies()

    def to_json(self) -> str:
        """Return the rows as JSON text."""
        return json.dumps({"rows": self._rows}, indent=2)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["rows", "kept in", "memory, GB", "with a limit from, GB", "Sips: scratch, GB", "time"]
        head += ["Steered: scratch, GB", "time"]
        body = [
            [
                f"{row['rows']:,}",
                row["place"],
                _figure(row["memory"] / 1e9),
                _figure(row["least_limit"] / 1e9),
                _figure(row["scratch_sips"] / 1e9),
                _time(row["seconds_sips"]),
                _figure(row["scratch_steered"] / 1e9),
                _time(row["seconds_steered"]),
            ]
            for row in self._rows
        ]
        return head, body


def _time(seconds: float) -> str:
    """Return seconds, or minutes from two on."""
    return f"{seconds / 60:.0f} min" if seconds >= _MINUTES else f"{_figure(seconds)} s"


def _figure(value: float) -> str:
    """Return a number with one decimal; what would be 0.0 and is more says so."""
    return "0" if value == 0 else f"{value:.1f}" if value >= _SHOWN else f"< {_SHOWN}"
