"""What a released list covers: the share of these numbers, and how many rows of one user count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpsel._arguments import as_int_if_given, as_number, type_name
from dpsel.exceptions import InvalidParameterError

__all__ = ["Rest", "checked_rest", "rest_of_json"]

_MOST_SHARE = 0.5
_MOST_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Rest:
    """Noisy numbers of what a released list covers, and of the rest, in the budget of the selection.

    ``select_partitions(..., rest=0.02)`` is short for ``rest=Rest(share=0.02)``. See
    [the guide](https://dpsel.github.io/dpsel/guide/counts/#coverage).

    Args:
        share: The part of the budget that they cost, above 0 and at most 0.5.
        max_rows_per_user: Count rows inside and outside of the list too: of one user, up to so many. A user
            with more counts all of them scaled down, after at most so many of each item. The noise grows with
            it. Choose it without looking at the data.

    Raises:
        InvalidParameterError: If a value is out of range.

    Examples:
        >>> import dpsel
        >>> rows = [(user, "tea") for user in range(900)] + [(user, f"own {user}") for user in range(300)]
        >>> release = dpsel.select_partitions(
        ...     rows,
        ...     privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-6),
        ...     max_items_per_user=2,
        ...     rest=dpsel.Rest(share=0.1, max_rows_per_user=2),
        ... )
        >>> abs(release.coverage["rows"].share - 0.75) < 0.2
        True
    """

    share: float = 0.02
    max_rows_per_user: int | None = None

    def __post_init__(self) -> None:
        """Check every value."""
        share = as_number("share", self.share)
        if not 0 < share <= _MOST_SHARE:
            raise InvalidParameterError(
                f"rest must be a share above 0 and at most 0.5, got {share}; it is the part of the budget "
                "that the numbers of the rest cost, and 0.02 is usual"
            )
        object.__setattr__(self, "share", share)
        rows = as_int_if_given("max_rows_per_user", self.max_rows_per_user)
        if rows is not None and not 1 <= rows <= _MOST_ROWS:
            raise InvalidParameterError(
                f"max_rows_per_user must be between 1 and 1,000,000, got {rows}; of one user, so many rows "
                "count; leave it out to count users alone"
            )
        object.__setattr__(self, "max_rows_per_user", rows)

    def to_json(self) -> dict[str, Any]:
        """Return them as they stand in requests and reports."""
        rows = self.max_rows_per_user
        return {"share": self.share} | ({} if rows is None else {"max_rows_per_user": rows})


def rest_of_json(request: dict[str, Any]) -> Rest | None:
    """Return the numbers of the rest that the request of a report asks for."""
    asked = request.get("rest")
    return None if asked is None else Rest(**asked)


def checked_rest(rest: Any) -> Rest | None:
    """Return what ``rest=`` asks for: a share alone stands for users alone."""
    if rest is None or isinstance(rest, Rest):
        return rest
    if isinstance(rest, bool | str | bytes) or not hasattr(rest, "__float__"):
        raise InvalidParameterError(
            f"rest must be a share of the budget or Rest(...), got {type_name(rest)}; "
            "0.02 counts the users that the list covers for a fiftieth of it"
        )
    return Rest(share=rest)
