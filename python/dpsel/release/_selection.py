"""The result of a selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic

from dpsel._tables import Display
from dpsel.exceptions import SchemaError
from dpsel.item_table import ItemTable
from dpsel.release._contents import Contents
from dpsel.release._empty import no_items
from dpsel.release._report import Report
from dpsel.release._summary import selection_lines, selector, stamp
from dpsel.release._tree import is_tree, tree_display
from dpsel.release._wording import counted_column, describe, quantity
from dpsel.typing import ItemsT

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from dpsel._core_calls import Release as CoreRelease
    from dpsel._restored import Restored
    from dpsel.release._rest import Covered, RestNumbers

__all__ = ["EXTENSIONS", "Release"]

EXTENSIONS: Final = (".parquet", ".csv", ".ndjson", ".jsonl", ".arrow", ".arrows", ".feather", ".ipc")
"""The file name extensions that [`write`][dpsel.Release.write] knows."""

#: How the kind of table that came in is made from the released items.
CONVERSIONS: Final[dict[str, Callable[[ItemTable], Any]]] = {
    "polars": ItemTable.to_polars,
    "pandas": ItemTable.to_pandas,
    "pyarrow": ItemTable.to_arrow,
    "list": ItemTable.to_pylist,
    "table": lambda table: table,
}


def converted(table: ItemTable, returns: str, restored: Restored | None) -> Any:
    """Return the items as a table of the kind, and with the types, that came in."""
    items = CONVERSIONS[returns](table)
    return items if restored is None else restored(items)


class Release(Contents, Generic[ItemsT]):
    """The released items and the report, computed once: reading them again draws no new randomness.

    It has the Arrow stream method, and its pickle holds the released items and the report only. It is made
    by [`select_partitions`][dpsel.select_partitions].

    Examples:
        >>> import dpsel
        >>> release = dpsel.select_partitions(
        ...     [(user, "tea") for user in range(500)],
        ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...     max_items_per_user=1,
        ...     mechanism=dpsel.OneItem(),
        ... )
        >>> len(release)
        1
        >>> print(release)
        1 item released by OneItem()
        guarantee: (epsilon = 1, delta = 1e-06)-DP for one user added or removed, 1 item per user at most
        protected: the user in user; released: item
        released with a probability that grows with the weight, even odds at: 14
    """

    __slots__ = ("_items", "_restored", "_returns", "_table", "report")

    report: Report
    """What was enforced."""

    def __init__(self, core: CoreRelease, returns: str, restored: Restored | None = None) -> None:
        """Wrap the compiled release; ``returns`` and ``restored`` are kind and types of ``items``."""
        self._table = ItemTable(core)
        self._returns, self._restored = returns, restored
        self._items: Any = None
        self.report = Report.of_core(core.report)

    @classmethod
    def load(
        cls, items: str | os.PathLike[str], report: str | os.PathLike[str] | Report | None = None
    ) -> Release[Any]:
        """Read a release back, from its items and its report.

        Args:
            items: The file that [`write`][dpsel.Release.write] or ``dpsel select -o`` made. The items of CSV
                are text, and dates of NDJSON are; Parquet and Arrow files, which need pyarrow, keep all
                types.
            report: The report, or the file that ``report.save`` or ``dpsel select --report`` made; by
                default a file of the name of the items with the extension ``.json``.

        Returns:
            The release. Nothing tells whether the report belongs to these items: keep the two together.

        Raises:
            FileError: If a file cannot be read.
            ReportError: If the report is none, or names other columns than the file of items has.

        Examples:
            >>> import tempfile, pathlib, dpsel
            >>> release = dpsel.select_partitions(
            ...     [(user, "tea") for user in range(500)],
            ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            ...     max_items_per_user=1,
            ... )
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     path = pathlib.Path(folder, "drinks.csv")
            ...     release.write(path)
            ...     release.report.save(path.with_suffix(".json"))
            ...     dpsel.Release.load(path).items.to_pylist()
            ['tea']
        """
        from dpsel.release._load import loaded

        return cls(loaded(items, report), "table")

    @property
    def items(self) -> ItemsT:
        """The released items, as the kind of table that came in, sorted by their own values.

        polars, pandas and pyarrow give their own kind, DuckDB a pyarrow Table; pairs give a list of items
        (of tuples, if there are several columns or weights); files and other Arrow producers give an
        [`ItemTable`][dpsel.release.ItemTable]. Columns of categories (polars, pandas, pyarrow) have the
        released items as their categories, and no others; the other forms of a release have plain columns.
        """
        if self._items is None:
            self._items = converted(self._table, self._returns, self._restored)
        items: ItemsT = self._items
        return items

    def to_table(self) -> ItemTable:
        """Return the items as an [`ItemTable`][dpsel.release.ItemTable], whatever came in."""
        return self._table

    def to_pylist(self) -> list[Any]:
        """Return the items as Python values; tuples if there are several columns."""
        return self._table.to_pylist()

    def to_arrow(self) -> Any:
        """Return the items as a ``pyarrow.Table``."""
        return self._table.to_arrow()

    def to_polars(self) -> Any:
        """Return the items as a ``polars.DataFrame``."""
        return self._table.to_polars()

    def to_pandas(self) -> Any:
        """Return the items as a ``pandas.DataFrame``."""
        return self._table.to_pandas()

    @property
    def rest(self) -> RestNumbers | None:
        """The noisy numbers of what the list covers; ``None`` unless ``rest=`` asked for them.

        ``rest.users`` has the numbers of users with ``all``, ``some`` and ``none`` of their items in the
        list. ``rest.rows`` has rows ``inside`` and ``outside`` of it, or is ``None``. ``report.rest`` has the
        noise.
        """
        from dpsel.release._rest import numbers_of_rest

        return numbers_of_rest(self.report)

    @property
    def coverage(self) -> dict[str, Covered] | None:
        """How much the list covers: of ``users``, and of ``rows`` if counted; ``None`` without ``rest=``.

        A user is covered that has an item of the list. Each is a share with an interval of 95 % for the
        noise. Of one user at most ``max_rows_per_user`` rows count, so heavy users weigh less than in all
        rows. Public items count as covered, and rows of excluded items do not count.

        Examples:
            >>> import dpsel
            >>> rows = [(user, "tea") for user in range(900)] + [(user, f"own {user}") for user in range(300)]
            >>> release = dpsel.select_partitions(
            ...     rows, privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-6), max_items_per_user=2, rest=0.1
            ... )
            >>> release.coverage["users"].low > 0.9
            True
        """
        from dpsel.release._rest import coverage_of

        return coverage_of(self.report)

    def with_rest(self, *, label: str = "(rest)") -> ItemTable:
        """Return the keys with their numbers, and a last row for everything else, from published numbers.

        Of users the row has those who hold an item that is not in the list; of rows those outside of it. A
        user who holds several keys is in several rows, so numbers of users add up to more than all users.
        Of rows, a user counts for at most ``max_rows_per_user`` in the rest, but for ``max_rows_per_item`` in
        each key.

        Args:
            label: The key of the row, in columns of texts, of trees in the first one; others have nulls.

        Returns:
            An [`ItemTable`][dpsel.release.ItemTable] with one column more, ``is_rest``, which is true in the
            last row alone, and without weights.

        Raises:
            InvalidParameterError: If the release lacks ``counts=`` or ``rest=``, the rows of the rest were
                not counted, or a released key is the label.

        Examples:
            >>> import dpsel
            >>> rows = [(user, "tea") for user in range(900)] + [(user, f"own {user}") for user in range(300)]
            >>> release = dpsel.select_partitions(
            ...     rows,
            ...     privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-6),
            ...     max_items_per_user=2,
            ...     counts=0.2,
            ...     rest=0.1,
            ... )
            >>> [(key, is_rest) for key, _, is_rest in release.with_rest()]
            [('tea', False), ('(rest)', True)]
        """
        from dpsel.release._rest_row import with_rest_row

        return with_rest_row(self.report, self._table, label)

    def count_interval(self, confidence: float = 0.95, *, all_at_once: bool = False) -> float:
        """Return by how much the column ``users`` or ``rows`` may be off.

        It is about the noise, which is independent of the data and of the choice of items. A user of more
        than ``max_counted_items`` released items counts less than 1 in each. So the number that the interval
        holds is at most the number of users, and less if many users are like that. The same holds for rows
        and those beyond ``max_rows_per_item``. A number is cut off at 2^32 before noise, which the interval
        does not know either.

        Args:
            confidence: The probability that the interval holds.
            all_at_once: The interval holds for all released items with this probability, not only for one.

        Returns:
            The half-width, in users or rows: the sum of what users count lies within so much of the
            published number.

        Raises:
            InvalidParameterError: If the release has no counts, or ``confidence`` is not between 0 and 1.

        Examples:
            >>> import dpsel
            >>> release = dpsel.select_partitions(
            ...     [(user, drink) for user in range(900) for drink in ("tea", "milk")],
            ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            ...     max_items_per_user=2,
            ...     counts=0.3,
            ... )
            >>> release.count_interval() < release.count_interval(all_at_once=True)
            True
        """
        from dpsel.release._counts import half_width

        return half_width(self.report, confidence, len(self) if all_at_once else 1)

    def shrunken_counts(self) -> list[float]:
        """Return estimates of the numbers of users or rows that are nearer to the truth on average.

        They are computed from the published numbers and the report alone, so they cost nothing. They assume
        that sizes of items fall like a power above what can come out, and learn the rest from all numbers
        together. So rare items, whose numbers are mostly noise, move most. Numbers far above the noise hardly
        move. With few released items there is little to learn from. See
        [the guide](https://dpsel.github.io/dpsel/guide/counts/#shrunken-estimates) for what they gain, and
        where they lose.

        Returns:
            An estimate for each released item, in the order of ``items``. The numbers of public items stay
            as they are: they were not selected.

        Raises:
            InvalidParameterError: If the release has no counts.

        Examples:
            >>> import dpsel
            >>> rows = [(user, item) for item in range(1, 200) for user in range(9000 // item)]
            >>> release = dpsel.select_partitions(
            ...     rows, privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=20, counts=0.3
            ... )
            >>> len(release.shrunken_counts()) == len(release)
            True
        """
        from dpsel.release._shrunken import shrunken

        asked = counted_column(self.report["request"])
        numbers = self._table.column(asked) if asked else []
        public = self._table.column("public") if "public_items" in self.report["request"] else None
        return shrunken(self.report, numbers, [False] * len(numbers) if public is None else public)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the items to a file; its extension says the format (``EXTENSIONS``).

        The file is written under another name and renamed, so it is complete or not there.

        Args:
            path: Where to.

        Raises:
            FileError: If the extension is not known or the file cannot be written.
        """
        self._table.write(path)

    def __arrow_c_schema__(self) -> object:
        """Export the schema of the items."""
        return self._table.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the items, as often as asked."""
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        """Return the number of released items."""
        return len(self._table)

    def _lines(self) -> list[str]:
        made = f"{stamp(self.report)}{quantity(len(self), 'item')} released by {selector(self.report)}"
        return [made, *selection_lines(self.report), *([] if len(self) else no_items(self.report))]

    def __str__(self) -> str:
        """What was released and promised, for a person; if there are no items, what that can mean.

        The nodes of a tree follow as an indented tree.
        """
        return (self._display() if is_tree(self.report) else Display(self._lines())).text()

    def _display(self) -> Display:
        if not is_tree(self.report):
            return self._table.display(self._lines())
        try:
            return tree_display(self._lines(), self.report, self._numbers())
        except SchemaError:
            # Nanoseconds, which no type of Python holds: the table says so.
            return self._table.display(self._lines())

    def __repr__(self) -> str:
        """One line: number of items, mechanism and guarantee."""
        stamp = ", insecure_test_key: true" if self.report.is_insecure else ""
        why = "" if len(self) else " (print it for reasons)"
        return f"<dpsel.Release: {quantity(len(self), 'item')}{why}, {describe(self.report)}{stamp}>"

    def __getstate__(self) -> tuple[ItemTable, str, Restored | None, Report]:
        """Pickle the released items, their declared types and the report only."""
        return self._table, self._returns, self._restored, self.report

    def __setstate__(self, state: tuple[ItemTable, str, Restored | None, Report]) -> None:
        """Restore; the table of the kind that came in is made again when asked for."""
        self._table, self._returns, self._restored, self.report = state
        self._items = None
