"""The result of a top-k: the items, noisy counts if asked for, and what was enforced."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Generic

from dpsel._tables import Display, first_rows
from dpsel.item_table import ItemTable
from dpsel.release._contents import Contents
from dpsel.release._empty import no_picks
from dpsel.release._report import Report
from dpsel.release._selection import converted
from dpsel.release._summary import stamp, top_k_lines
from dpsel.release._wording import describe, describe_mechanism, quantity
from dpsel.typing import ItemsT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsel._core_calls import Release as CoreRelease
    from dpsel._core_calls import ReportText
    from dpsel._restored import Restored

__all__ = ["TopKRelease"]


class TopKRelease(Contents, Generic[ItemsT]):
    """The items and the report, computed once: reading them again draws no new randomness.

    It is made by [`select_top_k`][dpsel.select_top_k] and [`top_k_from_counts`][dpsel.top_k_from_counts].

    Examples:
        >>> import dpsel
        >>> release = dpsel.top_k_from_counts(
        ...     [900, 20, 700],
        ...     k=1,
        ...     privacy=dpsel.PureDP(epsilon=1.0),
        ...     publish_counts=dpsel.PureDP(epsilon=0.5),
        ... )
        >>> release.items, 800 < release.counts[0] < 1000
        ([0], True)
        >>> print(release)
        1 item picked by Joint()
        guarantee: (epsilon = 1)-DP for one user added or removed
        counts: (epsilon = 0.5)-DP on top, (epsilon = 1.5)-DP in all
    """

    __slots__ = ("_counts", "_items", "_restored", "_returns", "_table", "report")

    report: Report
    """What was enforced."""

    def __init__(
        self,
        items: list[Any] | None,
        counts: list[Any] | None,
        table: ItemTable | None,
        returns: str,
        report: str | ReportText,
        restored: Restored | None = None,
    ) -> None:
        """Wrap the answer: a table of rows, or lists of counts."""
        self._restored = restored
        self._items, self._counts, self._table, self._returns = items, counts, table, returns
        self.report = Report.of_core(report)

    @classmethod
    def from_core(cls, core: CoreRelease, returns: str, restored: Restored | None = None) -> TopKRelease:
        """Wrap the answer of rows."""
        return cls(None, None, ItemTable(core), returns, core.report, restored)

    @classmethod
    def from_counts(cls, items: list[Any], counts: list[Any] | None, report: str) -> TopKRelease:
        """Wrap the answer of counts."""
        return cls(items, counts, None, "list", report)

    @property
    def items(self) -> ItemsT:
        """The items: a list for pairs and counts, otherwise a table of the kind that came in.

        Lists are in order of rank; tables have columns ``rank`` (if the items have an order) and ``count``
        (if counts were asked for).
        """
        made: Any = (
            self.to_pylist()
            if self._returns == "list"
            else converted(self.to_table(), self._returns, self._restored)
        )
        items: ItemsT = made
        return items

    @property
    def counts(self) -> list[int] | None:
        """The noisy counts, in the order of the items; ``None`` if they were not asked for."""
        if self._table is None:
            return None if self._counts is None else list(self._counts)
        if "count" not in self._table.columns:
            return None
        return list(self._table.column("count"))

    def to_pylist(self) -> list[Any]:
        """Return the items as Python values, in order of rank; tuples if there are several columns."""
        if self._table is None:
            return list(self._items or [])
        names = [name for name in self._table.columns if name not in {"rank", "count"}]
        columns = [self._table.column(name) for name in names]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def to_table(self) -> ItemTable:
        """Return the items of rows as an [`ItemTable`][dpsel.release.ItemTable].

        Raises:
            TypeError: If counts came in, whose labels are Python values.
        """
        if self._table is None:
            raise TypeError("the items of counts are Python values; use items")
        return self._table

    def to_json(self) -> str:
        """Return items and counts as JSON text; items that JSON lacks become texts."""
        return json.dumps({"items": self.to_pylist(), "counts": self.counts}, default=str)

    def _numbers(self) -> dict[str, Sequence[Any]]:
        return super()._numbers() if self._table is not None else {"count": self._counts or []}

    def _values(self) -> list[Any]:
        return self.to_pylist()

    def __contains__(self, item: object) -> bool:
        """Whether an item was selected; a tuple, if there are several columns."""
        return super().__contains__(item) if self._table is not None else item in self.to_pylist()

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._items or []) if self._table is None else len(self._table)

    def _lines(self) -> list[str]:
        cost = self.report.cost
        made = (
            f"{stamp(self.report)}{quantity(len(self), 'item')} picked by {describe_mechanism(self.report)}"
        )
        return [made, *top_k_lines(self.report, cost), *([] if len(self) else no_picks(self.report))]

    def __str__(self) -> str:
        """A few lines for a person."""
        return Display(self._lines()).text()

    def _display(self) -> Display:
        if self._table is not None:
            return self._table.display(self._lines())
        columns = {"item": self._items or []} | ({} if self._counts is None else {"count": self._counts})
        return first_rows(self._lines(), columns, len(self))

    def __repr__(self) -> str:
        """One line: number of items, mechanism and guarantee."""
        stamp = ", insecure_test_key: true" if self.report.is_insecure else ""
        return f"<dpsel.TopKRelease: {quantity(len(self), 'item')}, {describe(self.report)}{stamp}>"

    def __getstate__(self) -> tuple[Any, ...]:
        """Pickle the answer and the report only."""
        return self._items, self._counts, self._table, self._returns, self._restored, self.report

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Restore."""
        self._items, self._counts, self._table, self._returns, self._restored, self.report = state
