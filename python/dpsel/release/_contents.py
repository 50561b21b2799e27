"""Released items as a set: membership, set operations, and the rows of a table whose item was released."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from dpsel._arguments import as_flag, at_least_one
from dpsel._request import columns_of
from dpsel._tables import Displayed
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from dpsel._filter import Keys
    from dpsel.item_table import ItemTable
    from dpsel.release._card import Card
    from dpsel.release._item_set import ItemSet
    from dpsel.release._report import Report
    from dpsel.typing import FileFormat

__all__ = ["Contents"]

#: Columns of a release that are no part of an item.
BESIDE = frozenset({"level", "weight", "users", "rows", "public", "rank", "count"})


class Contents(Displayed):
    """What a release of rows can do with its items."""

    __slots__ = ()

    report: Report
    _returns: str

    @property
    @abstractmethod
    def items(self) -> Any:
        """The released items, as the kind of table that came in."""

    @abstractmethod
    def to_table(self) -> ItemTable:
        """Return the items as a table."""

    def filter(
        self,
        table: Any,
        *,
        item: str | Sequence[str] | None = None,
        other: Any = None,
        roll_up: bool = False,
    ) -> Any:
        """Return the rows of a table whose item was released; they are private data.

        Only the list of items is private in the sense of the guarantee. The rows that are returned are rows
        of the input, with all their columns: hand them to a tool that protects what it computes from them.

        Items are equal as in the selection: integers of all widths agree, and so do all types of text, but
        the integer 1 and the text "1" do not. A row whose item is null has none, and is left out; with
        ``other=`` it stays as it is.

        Args:
            table: A polars DataFrame or LazyFrame, a pandas DataFrame, a pyarrow Table, RecordBatch,
                RecordBatchReader or Dataset, a DuckDB relation, a Spark DataFrame (PySpark 4.1 or newer),
                anything else with the Arrow stream method, or an iterable of ``(user, item)`` or
                ``(user, [items])``.
            item: The columns of the table that hold the item; by default those that the selection named.
            other: Keep the other rows too, with this in place of their item; a tuple with one label for each
                column, or one label for all of them. It must not be a released item.
            roll_up: For the nodes of a tree: give each row the lowest released node that is its own or above
                it. Of polars, pandas and Spark DataFrames, pyarrow Tables and lists of pairs.

        Returns:
            polars, pandas, pyarrow tables and pairs as they came in; of a Spark DataFrame a lazy one, whose
            tasks need dpsel; readers, datasets, DuckDB relations and other streams as a
            ``pyarrow.RecordBatchReader``, which filters batch by batch.

        Raises:
            SchemaError: If a column is missing, or cannot hold the released items.
            InvalidParameterError: If the items are n-grams, or ``other`` was released or does not fit.

        Examples:
            >>> import dpsel
            >>> rows = [(user, drink) for user in range(500) for drink in ("tea", "milk")] + [(7, "absinthe")]
            >>> release = dpsel.select_partitions(
            ...     rows, privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=3
            ... )
            >>> release.filter([(1, "tea"), (7, "absinthe")])
            [(1, 'tea')]
            >>> release.filter([(1, "tea"), (7, "absinthe")], other="other")
            [(1, 'tea'), (7, 'other')]
            >>> "tea" in release, "absinthe" in release, list(release)
            (True, False, ['milk', 'tea'])
        """
        from dpsel._filter import filtered, rolled_up

        self._refuse_ngrams()
        if as_flag("roll_up", roll_up):
            self._check_roll_up(other)
            return rolled_up(self._keys(), table, self._item_columns(item))
        return filtered(self._keys(), table, self._item_columns(item), other, named=item is not None)

    def filter_file(
        self,
        source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        target: str | os.PathLike[str],
        *,
        item: str | Sequence[str] | None = None,
        other: str | None = None,
        file_format: FileFormat | None = None,
    ) -> None:
        """Write the rows of files whose item was released to another file, which holds private data.

        Rows of text are copied as they are written.

        Args:
            source: What a selection takes: a file, a folder, a pattern, ``-``, or a list of these, all of one
                format. Parquet and Arrow IPC need pyarrow.
            target: A file name with an extension of the same format; text also with ``.gz`` or ``.zst``.
            item: As for [`filter`][dpsel.Release.filter].
            other: As for [`filter`][dpsel.Release.filter].
            file_format: The format of all files if their names do not say it; [`Csv`][dpsel.Csv] for
                another delimiter or quote, or no header line.

        Raises:
            FileError: If a file cannot be read or written, or the extensions differ.
            DataError: If the file is damaged.
        """
        from dpsel._filter import filter_file

        self._refuse_ngrams()
        filter_file(self._keys(), source, target, self._item_columns(item), other, file_format)

    def top(self, k: int, *, by: str | Sequence[str] | None = None, level: int | None = None) -> Any:
        """Return the ``k`` keys with the largest noisy numbers, in all or of each group.

        It is computed from the published keys and numbers alone, so it costs nothing, for every ``k`` and
        every grouping. Sizes of groups are not numbers of persons: see
        [the guide](https://dpsel.github.io/dpsel/guide/groups/).

        Args:
            k: The most keys of each group. A group with fewer keys has a shorter list.
            by: An item column, or several, whose values make the groups; by default all keys are one.
            level: Of a tree, only nodes of this level, from 1 at the top; by default those of all levels, so
                a group may hold a node together with those below it.

        Returns:
            Rows of ``items``, as the same kind of table: sorted by group, and within it by the number,
            the largest first. Equal numbers are sorted by their keys.

        Raises:
            InvalidParameterError: If the release has no noisy numbers (``counts=``) or is a top-k, if ``k``
                is below 1, if ``by`` names another column, or if ``level`` is none of a tree.

        Examples:
            >>> import dpsel
            >>> rows = [(user, ("no", drink)) for user in range(900) for drink in ("tea", "milk")]
            >>> rows += [(user, ("pe", "tea")) for user in range(300, 1800)]
            >>> release = dpsel.select_partitions(
            ...     rows,
            ...     item=["country", "drink"],
            ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            ...     max_items_per_user=3,
            ...     counts=0.3,
            ... )
            >>> [row[:2] for row in release.top(1)]
            [('pe', 'tea')]
            >>> [row[0] for row in release.top(1, by="country")]
            ['no', 'pe']
        """
        from dpsel.release._top import places_of_top, taken

        places = places_of_top(self.report, self.to_table, k, by, level)
        return taken(self.items, self._returns, places)

    def plot(self, path: str | os.PathLike[str] | None = None, *, most: int = 30, ax: Any = None) -> Any:
        """Draw the released items over their noisy numbers, or weights, with the interval of the noise.

        Nodes of a tree are indented below those above them, the largest first among siblings.
        Everything in the plot is released or public. Weights also show the threshold: items near it are there
        because their noise was high, so their weights are too large on average.

        Args:
            path: Save the figure here; the extension says the format.
            most: Items to show, those of the largest numbers.
            ax: Draw into these matplotlib axes instead of new ones.

        Returns:
            The matplotlib axes.

        Raises:
            InvalidParameterError: If the release has no noisy numbers (``counts=``) or weights.
            ImportError: If matplotlib is not installed (``pip install 'dpsel[plot]'``).
        """
        from dpsel.release._plot import plot_release

        number = at_least_one("most", most)
        return plot_release(self.report, self._numbers(), self._values(), number, path, ax)

    def _numbers(self) -> dict[str, Sequence[Any]]:
        """Return the columns of the release by their names."""
        table = self.to_table()
        return {name: table.column(name) for name in table.columns}

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of items."""

    def card(self) -> Card:
        """Return a page to publish beside the items; see [`Card`][dpsel.release.Card]."""
        from dpsel.release._card import Card

        return Card(self.report, len(self))

    def _check_roll_up(self, other: Any) -> None:
        if self.report["request"]["columns"].get("levels") is None:
            raise InvalidParameterError(
                "roll_up=True gives rows a released node above theirs, but these items are no nodes; "
                "select nodes of a tree with levels="
            )
        if other is not None:
            raise InvalidParameterError(
                "other= and roll_up=True both say what stands in place of an item; give one of them"
            )

    def _refuse_ngrams(self) -> None:
        columns = self.report["request"].get("columns")
        if columns is None:
            raise InvalidParameterError(
                "the items come from counts, which have no columns; use item in release for each row"
            )
        if columns.get("ngrams"):
            raise InvalidParameterError(
                "the released items are n-grams, and a row of the table holds a text with many of them; "
                "split "
                "the texts into one n-gram for each row, and select these without ngrams="
            )

    def _item_columns(self, item: str | Sequence[str] | None) -> list[str]:
        if item is None:
            named: list[str] = self.report["request"]["columns"]["items"]
            return named
        return columns_of(None, item).items

    def _keys(self) -> Keys:
        # Not kept: a release is pickled and shared, and the set is made in no time.
        from dpsel._filter import Keys

        table = self.to_table()
        columns = self.report["request"]["columns"]
        named = [name for name in table.columns if name in columns["items"] or name not in BESIDE]
        return Keys(table.core, named, columns.get("levels"))

    def _values(self) -> list[Any]:
        table, columns = self.to_table(), self._keys().columns
        values = [table.column(name) for name in columns]
        return values[0] if len(values) == 1 else list(zip(*values, strict=True))

    def __contains__(self, item: object) -> bool:
        """Whether an item was released; a tuple, if there are several columns."""
        return item in self._keys()

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the items as Python values, without weights or marks."""
        return iter(self._values())

    def _as_set(self) -> ItemSet:
        from dpsel.release._item_set import ItemSet

        return ItemSet(self._values(), (self.report,))

    def __and__(self, other: Iterable[Any]) -> ItemSet:
        """Return the items that are in both; see [`ItemSet`][dpsel.release.ItemSet]."""
        return self._as_set() & other

    def __or__(self, other: Iterable[Any]) -> ItemSet:
        """Return the items that are in either; see [`ItemSet`][dpsel.release.ItemSet]."""
        return self._as_set() | other

    def __sub__(self, other: Iterable[Any]) -> ItemSet:
        """Return the items that are not in the other; see [`ItemSet`][dpsel.release.ItemSet]."""
        return self._as_set() - other
