"""The result of a selection on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsel.release import Release
    from dpsel.report import Report

__all__ = ["SparkRelease"]


class SparkRelease:
    """The released items and the report. Final: the items are on the driver, and no job draws them again.

    It is made by :func:`dpsel.spark.select_partitions`.
    """

    __slots__ = ("_items", "_release", "_session")

    def __init__(self, release: Release, session: Any) -> None:
        """Wrap a release and the session that it was made in."""
        self._release = release
        self._session = session
        self._items: Any = None

    @property
    def items(self) -> Any:
        """The released items as a Spark DataFrame, sorted by their own values."""
        if self._items is None:
            self._items = self._session.createDataFrame(self._release.to_arrow())
        return self._items

    @property
    def report(self) -> Report:
        """What was enforced."""
        return self._release.report

    def to_local(self) -> Release:
        """Return the same as a :class:`dpsel.Release`."""
        return self._release

    def __len__(self) -> int:
        """Return the number of released items."""
        return len(self._release)

    def __str__(self) -> str:
        """Three lines for a person."""
        return str(self._release)

    def __repr__(self) -> str:
        """One line: number of items, mechanism and guarantee."""
        return repr(self._release).replace("<dpsel.Release", "<dpsel.spark.SparkRelease", 1)
