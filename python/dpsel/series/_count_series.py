"""``CountSeries``: numbers of users of public items, release after release, under one guarantee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

from dpsel.series import _counts, _mechanism
from dpsel.series._results import CountRelease
from dpsel.series._shared import FolderOfReleases, own_key, status_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from dpsel.accounting import Privacy
    from dpsel.series._folder import Folder
    from dpsel.series._records import Commit
    from dpsel.typing import FileFormat, IntoContributions

__all__ = ["CountSeries"]


class CountSeries(FolderOfReleases):
    """How many users public items have, such as every week, at one price for all numbers.

    The items are those that you name: a list that was public anyway, or what a
    [`Series`][dpsel.Series] or a selection released. Each release publishes a noisy number for each of them:
    its users in this release or, with ``window=``, added up over the last releases. A number never changes
    afterwards. The mechanism and its proof are on
    [a page](https://dpsel.github.io/dpsel/algorithms/count_series/).

    It is made once by [`create`][dpsel.CountSeries.create], and later opened by
    [`open`][dpsel.CountSeries.open]. Folder, key, names of releases and ledger are those of a
    [`Series`][dpsel.Series].

    Examples:
        >>> import pathlib, tempfile, dpsel
        >>> folder = tempfile.TemporaryDirectory()
        >>> place = pathlib.Path(folder.name)
        >>> numbers = dpsel.CountSeries.create(
        ...     place / "numbers",
        ...     key=place / "numbers.key",
        ...     privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-6),
        ...     releases=52,
        ...     max_items_per_user=2,
        ...     max_releases_per_item=26,
        ...     user="user",
        ...     item="drink",
        ... )
        >>> week = [(user, "tea") for user in range(500)]
        >>> release = numbers.release(week, "2026-W01", items=["milk", "tea"])
        >>> release.items.column("drink"), len(release.items.column("users"))
        (['milk', 'tea'], 2)
        >>> abs(release.items.column("users")[1] - 500) < 3 * release.half_width
        True

        A week later, maybe in another process:

        >>> numbers = dpsel.CountSeries.open(place / "numbers", key=place / "numbers.key")
        >>> len(numbers.release(week, "2026-W02"))
        2
        >>> folder.cleanup()
    """

    __slots__ = ()

    _has_counts = True

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        *,
        key: bytes | str | os.PathLike[str],
        privacy: Privacy,
        releases: int,
        max_items_per_user: int,
        max_releases_per_item: int | None = None,
        window: int = 1,
        unit: Literal["user", "user-release"] = "user",
        user: str | Sequence[str],
        item: str | Sequence[str],
    ) -> Self:
        """Make a series of numbers, and pay for all of its releases.

        Whatever is given here stays for the whole series. A repeated call with the same arguments opens the
        series that is there, and pays nothing again.

        Args:
            folder: Where the series lives; it is made, for its owner alone. Keep it in one place: of two
                copies that go on, or of an older one that is put back, nothing is promised.
            key: 32 bytes, or a file with 64 hexadecimal digits, which is made if it is not there. Keep it
                apart from the folder.
            privacy: The guarantee of all numbers together. With [`Ledger.on_use`][dpsel.Budget.on_use] a
                ledger books it once.
            releases: The most releases. More are refused; fewer cost the same.
            max_items_per_user: Whoever has at most so many of the items counts whole in all of them; of a
                user of more items some pairs may not count. The noise grows with the root of it.
            max_releases_per_item: In how many releases a user counts in an item: in the first ones in which
                it has the item. The noise grows with it: at ``window=1`` with its root. Only with
                ``unit="user"``.
            window: A number adds up the users of so many releases, the last one included. With ``1`` it is of
                one release. With ``window=releases`` and ``max_releases_per_item=1`` it is how many users had
                the item so far.
            unit: Who is protected: ``"user"``, with all rows of all releases, or ``"user-release"``, the rows
                of a user in one release. The latter has far less noise, and promises far less to a user that
                comes in many releases. A ledger adds up what it is told, so keep one for each unit.
            user: The column that identifies the user, or several. Labels if rows are pairs.
            item: The column of the item, or several.

        Returns:
            The series.

        Raises:
            InvalidParameterError: If a parameter is out of range.
            CalibrationError: If no noise meets the guarantee.
            BudgetExceededError: If the budget has less left.
            SeriesError: If another series is in the folder, or the key is not its own.
            FileError: If the folder or the key file cannot be written.
        """
        header = _counts.header_of(
            privacy,
            releases,
            max_items_per_user,
            user,
            item,
            window=window,
            max_releases_per_item=max_releases_per_item,
            unit=unit,
        )
        files, own = own_key(folder, key)
        # No variable of ours has the bytes from here on.
        del key
        return cls._started(files, own, privacy, header)

    def release(
        self,
        data: IntoContributions,
        name: str,
        *,
        items: Iterable[Any] | None = None,
        threads: int | None = None,
        memory_limit: int | str | None = None,
        file_format: FileFormat | None = None,
    ) -> CountRelease:
        """Publish the numbers of the next release.

        The table has the rows of this release alone, such as those of one week. Whether there is a release,
        and which items are named, must not depend on rows that are not released.

        A call with the name of a release that was made returns its numbers, reads no row and spends nothing.
        So after a failure or a crash call again with the same name.

        Args:
            data: As for [`select_partitions`][dpsel.select_partitions].
            name: What the release is called, such as its week. It is public.
            items: Public items to be counted from now on, besides those that were named before. ``None`` for
                no others; needed in the first release.
            threads: The most threads; by default one for each core.
            memory_limit: The most bytes, such as ``"4GiB"``; there is an error beyond.
            file_format: The format of files whose names do not say it.

        Returns:
            The numbers of all items that were named so far.

        Raises:
            SeriesError: If the series is full, closed, in use, damaged or older than it should be.
            SchemaError: If a column is missing, or has another type than in earlier releases or in ``items``.
            DataError: If the rows break a rule.
            MemoryLimitError: If ``memory_limit`` is not enough.
            FileError: If a file cannot be read or written.
        """
        settings: Any = {"threads": threads, "memory_limit": memory_limit, "file_format": file_format}
        return self._made(name, lambda header: _counts.attempt(header, data, items, **settings), _shown)


def _shown(folder: Folder, commit: Commit) -> CountRelease:
    items = _mechanism.table_of(folder.header, folder.items_of(commit))
    status, noise = status_of(folder, commit.number), _counts.half_width(folder.header, commit.number)
    return CountRelease(commit.name, commit.number, items, status, noise)
