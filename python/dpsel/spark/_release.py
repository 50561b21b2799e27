"""The results of releases on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dpsel.spark._frames import frame_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsel.release import Release, Report, TopKRelease
    from dpsel.release._rest import Covered, RestNumbers

__all__ = ["SparkRelease", "SparkTopKRelease"]


_Local = TypeVar("_Local", bound="Release | TopKRelease")


class _OnDriver(Generic[_Local]):
    """Items on the driver, and as a Spark DataFrame when they are asked for."""

    __slots__ = ("_items", "_local", "_session")

    def __init__(self, local: _Local, session: Any) -> None:
        """Wrap a result and the session that it was made in."""
        self._local = local
        self._session = session
        self._items: Any = None

    @property
    def items(self) -> Any:
        """The items as a Spark DataFrame, in their order."""
        if self._items is None:
            self._items = frame_of(self._session, _signed(self._local.to_table().to_arrow()))
        return self._items

    @property
    def report(self) -> Report:
        """What was enforced."""
        return self._local.report

    def filter(
        self,
        table: Any,
        *,
        item: str | Sequence[str] | None = None,
        other: Any = None,
        roll_up: bool = False,
    ) -> Any:
        """Return the rows of a table whose item was released, as [`Release.filter`][dpsel.Release.filter].

        They are private data. A Spark DataFrame gives a lazy Spark DataFrame.

        Args:
            table: A Spark DataFrame, or any other table.
            item: The columns of the table that hold the item; by default those that the selection named.
            other: Keep the other rows too, with this in place of their item.
            roll_up: For the nodes of a tree: give each row the lowest released node that is its own or above.

        Returns:
            The rows.

        Raises:
            SchemaError: If a column is missing, or cannot hold the released items.
            InvalidParameterError: If the items are n-grams, or ``other`` was released or does not fit.
        """
        return self._local.filter(table, item=item, other=other, roll_up=roll_up)

    def to_local(self) -> _Local:
        """Return the release as the local engine does."""
        return self._local

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._local)

    def __str__(self) -> str:
        """A few lines for a person."""
        return str(self._local)

    def _repr_html_(self) -> str:
        return self._local._repr_html_()

    def __repr__(self) -> str:
        """One line: number of items, mechanism and guarantee."""
        return repr(self._local).replace("<dpsel.", "<dpsel.spark.Spark", 1)


class SparkRelease(_OnDriver["Release"]):
    """The released items and the report. Final: the items are on the driver, and no job draws them again.

    It is made by [`select_partitions`][dpsel.select_partitions]. The items are sorted by their own values;
    ``to_local()`` is a [`Release`][dpsel.Release].
    """

    __slots__ = ()

    @property
    def rest(self) -> RestNumbers | None:
        """The noisy numbers of what the list covers, as [`Release.rest`][dpsel.Release.rest]."""
        return self._local.rest

    @property
    def coverage(self) -> dict[str, Covered] | None:
        """How much the list covers, as [`Release.coverage`][dpsel.Release.coverage]."""
        return self._local.coverage


class SparkTopKRelease(_OnDriver["TopKRelease"]):
    """The items of a top-k and the report. Final: the items are on the driver, and no job draws them again.

    It is made by [`select_top_k`][dpsel.select_top_k]. The items have a column ``rank`` if they have an
    order, and ``count`` if counts were asked for; ``to_local()`` is a [`TopKRelease`][dpsel.TopKRelease].
    """

    __slots__ = ()


def _signed(table: Any) -> Any:
    """Ranks as integers with a sign: Spark has no others."""
    import pyarrow as pa

    kinds = [pa.int32() if pa.types.is_uint32(field.type) else field.type for field in table.schema]
    fields = [field.with_type(kind) for field, kind in zip(table.schema, kinds, strict=True)]
    return table.cast(pa.schema(fields))
