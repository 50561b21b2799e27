"""What a released list covers, read from its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dpsel.exceptions import ReportError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Covered", "ListedRows", "ListedUsers", "RestNumbers", "coverage_of", "rest_lines", "rest_of"]


_DISAGREE = "its request, its calibration and its numbers of the rest do not agree"


class Covered(NamedTuple):
    """A part of users or rows, with an interval of 95 % for the noise of its numbers."""

    share: float | None
    """The estimate, from 0 to 1; ``None`` if the numbers are all noise."""
    low: float
    """The lower end."""
    high: float
    """The upper end."""

    def __str__(self) -> str:
        """Return it in per cent, with the longer side of the interval."""
        if self.share is None:
            return "an unknown part"
        width = 100 * max(self.high - self.share, self.share - self.low)
        places = 0 if width >= 10 else 1 if width >= 0.1 else 2  # noqa: PLR2004 - per cent
        return f"{100 * self.share:.{places}f} +- {width:.{places}f} %"


class ListedUsers(NamedTuple):
    """Noisy numbers of users by how many of their items are in the list."""

    all: int
    """All of them."""
    some: int
    """Some of them."""
    none: int
    """None."""


class ListedRows(NamedTuple):
    """Noisy numbers of rows, where a user counts for at most ``max_rows_per_user``."""

    inside: int
    """Rows of items in the list."""
    outside: int
    """Rows of other items."""


class RestNumbers(NamedTuple):
    """The noisy numbers of what a list covers."""

    users: ListedUsers
    """Of users."""
    rows: ListedRows | None
    """Of rows, if they are counted."""


def rest_of(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a report says of the rest: scales, numbers and intervals; ``None`` without them.

    Raises:
        ReportError: If its parts do not agree.
    """
    noise, found = report["calibration"].get("rest"), report.get("rest")
    if noise is None and found is None:
        return None
    if noise is None or found is None:
        raise ReportError(_DISAGREE)
    try:
        kinds = [kind for kind in ("users", "rows") if kind in noise]
        return {"max_rows_per_user": noise.get("max_rows_per_user"), "paid": noise["paid"]} | {
            kind: found[kind]
            | {"scale": noise[kind]["noise"]["sigma"], "half_width": noise[kind]["half_width"]}
            | {"coverage": found["coverage"][kind]}
            for kind in kinds
        }
    except (KeyError, TypeError):
        raise ReportError(_DISAGREE) from None


def numbers_of_rest(report: Mapping[str, Any]) -> RestNumbers | None:
    """Return the numbers, if there are any."""
    if (rest := rest_of(report)) is None:
        return None
    rows = rest.get("rows")
    return RestNumbers(
        ListedUsers(*(rest["users"][name] for name in ListedUsers._fields)),
        None if rows is None else ListedRows(*(rows[name] for name in ListedRows._fields)),
    )


def coverage_of(report: Mapping[str, Any]) -> dict[str, Covered] | None:
    """Return the covered part of users, and of rows if they are counted; ``None`` without numbers."""
    if (rest := rest_of(report)) is None:
        return None
    return _covered(rest)


def _covered(rest: Mapping[str, Any]) -> dict[str, Covered]:
    ends = {kind: rest[kind]["coverage"] for kind in ("users", "rows") if kind in rest}
    return {kind: Covered(*(of.get(name) for name in Covered._fields)) for kind, of in ends.items()}


def rest_lines(report: Mapping[str, Any]) -> list[str]:
    """Return what the list covers, in a line for people, if it is known."""
    if (rest := rest_of(report)) is None:
        return []
    covered = _covered(rest)
    told = f"{covered['users']} of the users hold an item of the list"
    if (most := rest["max_rows_per_user"]) is not None:
        told += f"; it covers {covered['rows']} of the rows, where a user counts for at most {most:,}"
    public = "; public items count as covered" if "public_items" in report["request"] else ""
    return [f"coverage: {told}{public}"]
