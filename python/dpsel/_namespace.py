"""The calls of dpsel as methods of a table of another library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Unpack

    from dpsel.release import Release, TopKRelease
    from dpsel.typing import SelectOptions, TopKOptions

__all__ = ["Namespace"]


class Namespace:
    """``frame.dpsel``: each method is the function of that name with the frame as its data."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def select_partitions(self, **options: Unpack[SelectOptions]) -> Release[Any]:
        """Return the items that may be published; see [`select_partitions`][dpsel.select_partitions].

        Raises:
            DpselError: As the function.
        """
        from dpsel.selection import select_partitions

        return select_partitions(self._frame, **options)

    def select_top_k(self, **options: Unpack[TopKOptions]) -> TopKRelease[Any]:
        """Return the k items that most users hold; see [`select_top_k`][dpsel.select_top_k].

        Raises:
            DpselError: As the function.
        """
        from dpsel.top_k import select_top_k

        return select_top_k(self._frame, **options)

    def keep_released(self, release: Release[Any], **options: Any) -> Any:
        """Return the rows whose item was released, which are private data; see ``Release.filter``.

        Raises:
            DpselError: As [`filter`][dpsel.Release.filter].
        """
        return release.filter(self._frame, **options)
