"""Released items as a small table of their own, for when no table library came in."""

from __future__ import annotations

import json
from heapq import nlargest
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, overload

from dpsel._arguments import at_least_one, type_name
from dpsel._optional import optional
from dpsel._tables import SHOWN_ROWS, Display, Displayed, first_rows
from dpsel.exceptions import SchemaError
from dpsel.outputs import checked_output
from dpsel.quoting import quoted

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from dpsel import _core_calls

__all__ = ["ItemTable"]

#: The columns of noisy numbers of users or rows.
_NUMBERS: Final = {"users", "rows", "count"}


class ItemTable(Displayed):
    """The released items of files and of Arrow producers.

    It has the Arrow stream method, so every table library reads it without a copy; it needs none itself.
    Results have it as ``release.items`` or by [`Release.to_table`][dpsel.Release.to_table]; it is not made by
    hand.

    Examples:
        >>> import dpsel
        >>> rows = [(user, drink) for user in range(500) for drink in ("tea", "milk")]
        >>> table = dpsel.select_partitions(
        ...     rows, privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=2
        ... ).to_table()
        >>> len(table), table.columns, list(table)
        (2, ['item'], ['milk', 'tea'])
        >>> table[0], table[-1:]
        ('milk', ['tea'])
        >>> table
        <dpsel.ItemTable: 2 items, column item>
        item
        ----
        milk
        tea
    """

    __slots__ = ("_core", "_is_ranked")

    def __init__(self, core: _core_calls.Release, *, is_ranked: bool = False) -> None:
        """Wrap the compiled release; ``is_ranked`` shows its rows in their own order."""
        self._core, self._is_ranked = core, is_ranked

    @property
    def core(self) -> _core_calls.Release:
        """The compiled release, for this package."""
        return self._core

    @property
    def columns(self) -> list[str]:
        """Names of the item columns, then of weights, numbers of users and marks that were asked for."""
        return self._core.column_names

    def to_pylist(self) -> list[Any]:
        """Return the items as Python values; tuples if there are several columns.

        Datetimes with a time zone are given in UTC.

        Returns:
            A new list.

        Raises:
            SchemaError: If Python's types cannot hold a value exactly (nanoseconds).
        """
        return self._rows(None)

    def column(self, name: str) -> list[Any]:
        """Return one column as Python values.

        Args:
            name: One of ``columns``.

        Returns:
            A new list.

        Raises:
            ValueError: If there is no such column.
        """
        if name not in self.columns:
            raise ValueError(f"there is no column {quoted(name)}; columns lists them")
        return self._core.to_columns(name)[0]

    def head(self, most: int = 10) -> list[Any]:
        """Return the first items, in the order of the table, as of ``to_pylist()``.

        Args:
            most: How many.
        """
        return self[: at_least_one("most", most)]

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``.

        Raises:
            ImportError: If pyarrow is not installed (``pip install pyarrow``).
        """
        return optional("pyarrow", "to_arrow()").table(self)

    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``.

        Raises:
            ImportError: If polars is not installed (``pip install polars``).
        """
        return optional("polars", "to_polars()").DataFrame(self)

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``.

        Raises:
            ImportError: If pandas is not installed, or pyarrow, which pandas needs for Arrow data.
        """
        pd = optional("pandas", "to_pandas()")
        optional("pyarrow", "to_pandas()")
        if hasattr(pd.DataFrame, "from_arrow"):
            return pd.DataFrame.from_arrow(self)
        return self.to_arrow().to_pandas()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the items to a file; its extension says the format.

        The file is written under another name and renamed, so it is complete or not there.

        Args:
            path: With an extension out of [`EXTENSIONS`][dpsel.release.EXTENSIONS].

        Raises:
            FileError: If the extension is not known or the file cannot be written.
        """
        self._core.write(checked_output(path))

    def __arrow_c_schema__(self) -> object:
        """Export the schema."""
        return self._core.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the items, as often as asked."""
        return self._core.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        """Return the number of released items."""
        return self._core.num_items

    @overload
    def __getitem__(self, place: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        """Return an item by its place, or a list of those of a slice, as of ``to_pylist()``.

        Raises:
            IndexError: If there is no such place.
            TypeError: If it is neither; a name stands for no column here.
        """
        if not isinstance(place, slice) and not hasattr(place, "__index__"):
            raise TypeError(
                f"an ItemTable has places, from 0 on, and slices, got {type_name(place)}; "
                "column(name) returns a column"
            )
        if isinstance(place, slice):
            return self._rows(range(len(self))[place])
        return self._rows([range(len(self))[place]])[0]

    def _rows(self, places: Sequence[int] | None) -> list[Any]:
        """Return the items at some places, or all; tuples if there are several columns."""
        columns = self._core.to_columns(places=places)
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the items as Python values."""
        return iter(self.to_pylist())

    def display(self, above: Sequence[str]) -> Display:
        """Return lines and first rows for a person: of the largest numbers, unless they are ranked."""
        names = self.columns
        asked = json.loads(self._core.report.text)["request"]["columns"]["items"]
        numbers = [name for name in names if name in _NUMBERS and name not in asked and "rank" not in names]
        largest = "" if self._is_ranked else "".join(numbers)
        places: Sequence[int] = range(min(len(self), SHOWN_ROWS))
        if largest:
            places = nlargest(SHOWN_ROWS, range(len(self)), key=self.column(largest).__getitem__)
        try:
            columns = self._core.to_columns(places=places)
        except SchemaError:
            return Display(
                [*above, "to_arrow() and to_polars() show nanoseconds, which no type of Python holds"]
            )
        return first_rows(above, dict(zip(names, columns, strict=True)), len(self), largest)

    def _display(self) -> Display:
        items, columns = ("item" if len(self) == 1 else "items"), self.columns
        names = f"column{'' if len(columns) == 1 else 's'} {', '.join(columns)}"
        return self.display([f"<dpsel.ItemTable: {len(self):,} {items}, {names}>"])

    def __repr__(self) -> str:
        """Number of items and columns, and the first rows."""
        return str(self)

    def __getstate__(self) -> tuple[_core_calls.Release, bool]:
        """Pickle the released items and their kind of order only."""
        return self._core, self._is_ranked

    def __setstate__(self, state: tuple[_core_calls.Release, bool]) -> None:
        """Restore."""
        self._core, self._is_ranked = state
