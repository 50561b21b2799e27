"""Counts beside a selection: their part of the budget, and how much one user counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dpsel._arguments import as_flag, as_int_if_given, as_number, is_one_of, type_name
from dpsel.exceptions import InvalidParameterError
from dpsel.quoting import quoted

__all__ = ["Counts", "checked_counts", "counts_of_json"]

_MOST_ITEMS = 10_000_000
_MOST_ROWS = 1_000_000
#: With more, the noise of numbers grows for hardly any user's sake; the guide has the comparison.
_USUAL_ITEMS = 100


@dataclass(frozen=True, slots=True)
class Counts:
    """Noisy numbers of users of the released items, or of their rows, in the budget of the selection.

    ``select_partitions(..., counts=0.2)`` is short for ``counts=Counts(share=0.2)``. See
    [the guide](https://dpsel.github.io/dpsel/guide/counts/).

    Args:
        share: The part of the budget that counts cost, above 0 and below 1. More gives better numbers and
            fewer items.
        max_counted_items: A user that holds at most so many released items counts 1 in each of them. A user
            of ``k`` more counts ``sqrt(max_counted_items / k)`` in each. The noise grows with its root. By
            default ``max_items_per_user``, and at most 100.
        nonnegative: Publish 0 in place of numbers below 0. Then numbers of rare items are too large on
            average.
        count: ``"users"``, or ``"rows"``: then the column is called ``rows``, and repeated rows count.
        max_rows_per_item: Needed for rows: of one user and item, at most so many rows count. The noise grows
            with it. A user whose numbers of rows have a larger norm than ``sqrt(max_counted_items)`` times
            this counts them scaled down to that norm.

    Raises:
        InvalidParameterError: If a value is out of range.

    Examples:
        >>> import dpsel
        >>> release = dpsel.select_partitions(
        ...     [(user, "tea") for user in range(5000)],
        ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...     max_items_per_user=1,
        ...     counts=dpsel.Counts(share=0.3),
        ... )
        >>> [(item, users)] = release.items
        >>> item, 4900 < users < 5100
        ('tea', True)

        Rows in place of users, of which everybody has three:

        >>> release = dpsel.select_partitions(
        ...     [(user, "tea") for user in range(5000) for cup in range(3)],
        ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...     max_items_per_user=1,
        ...     counts=dpsel.Counts(count="rows", max_rows_per_item=4),
        ... )
        >>> [(item, rows)] = release.items
        >>> item, 14000 < rows < 16000
        ('tea', True)
    """

    share: float = 0.2
    max_counted_items: int | None = None
    nonnegative: bool = False
    count: Literal["users", "rows"] = "users"
    max_rows_per_item: int | None = None

    def __post_init__(self) -> None:
        """Check every value."""
        share = as_number("share", self.share)
        if not 0 < share < 1:
            raise InvalidParameterError(
                f"share must be above 0 and below 1, got {share}; it is the part of the budget that counts "
                "cost, and 0.2 is usual"
            )
        object.__setattr__(self, "share", share)
        items = as_int_if_given("max_counted_items", self.max_counted_items)
        if items is not None and not 1 <= items <= _MOST_ITEMS:
            raise InvalidParameterError(
                f"max_counted_items must be between 1 and 10,000,000, got {items}; users of more released "
                "items count less than 1 in each of them"
            )
        object.__setattr__(self, "max_counted_items", items)
        object.__setattr__(self, "nonnegative", as_flag("nonnegative", self.nonnegative))
        object.__setattr__(self, "max_rows_per_item", self._checked_rows())

    def _checked_rows(self) -> int | None:
        """Return the limit of rows, which is there if rows are counted, and not otherwise."""
        if not is_one_of(self.count, "users", "rows"):
            raise InvalidParameterError(
                f"count must be 'users' or 'rows', got {_shown(self.count)}; 'rows' counts repeated rows too"
            )
        rows = as_int_if_given("max_rows_per_item", self.max_rows_per_item)
        if self.count == "users":
            if rows is not None:
                raise InvalidParameterError(
                    "max_rows_per_item is about rows, but users are counted, each once; add count='rows', or "
                    "leave it out"
                )
            return None
        if rows is None:
            raise InvalidParameterError(
                "count='rows' needs max_rows_per_item: of one user and item at most so many rows count, and "
                "the noise grows with it; choose it without looking at the data"
            )
        if not 1 <= rows <= _MOST_ROWS:
            raise InvalidParameterError(
                f"max_rows_per_item must be between 1 and 1,000,000, got {rows}; of one user, so many rows "
                "of each item count"
            )
        return rows

    def to_json(self, max_items_per_user: int) -> dict[str, Any]:
        """Return the counts as they stand in requests and reports."""
        usual = min(max_items_per_user, _USUAL_ITEMS)
        limit = usual if self.max_counted_items is None else self.max_counted_items
        asked = {"share": self.share, "max_counted_items": limit, "nonnegative": self.nonnegative}
        rows = self.max_rows_per_item
        return asked if rows is None else asked | {"max_rows_per_item": rows}


def _shown(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else type_name(value)


def counts_of_json(request: dict[str, Any]) -> Counts | None:
    """Return the counts that the request of a report asks for."""
    asked = request.get("counts")
    if asked is None:
        return None
    return Counts(count="rows" if "max_rows_per_item" in asked else "users", **asked)


def checked_counts(counts: Any) -> Counts | None:
    """Return what ``counts=`` asks for: a share alone stands for usual counts."""
    if counts is None or isinstance(counts, Counts):
        return counts
    if isinstance(counts, bool | str | bytes) or not hasattr(counts, "__float__"):
        raise InvalidParameterError(
            f"counts must be a share of the budget or Counts(...), got {type_name(counts)}; "
            "0.2 gives counts a fifth of it"
        )
    return Counts(share=counts)
