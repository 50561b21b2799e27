"""``Series``: lists of new items, release after release, under one guarantee for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from dpsel.series import _mechanism
from dpsel.series._results import SeriesRelease
from dpsel.series._shared import FolderOfReleases, own_key, status_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from dpsel.accounting import Privacy
    from dpsel.item_table import ItemTable
    from dpsel.series._folder import Folder
    from dpsel.series._records import Commit
    from dpsel.typing import FileFormat, IntoContributions

__all__ = ["Series"]


class Series(FolderOfReleases):
    """A list of new items for each release, such as every week, at one price for all of them.

    The table grows, and each user has one norm for the whole series, which it spends as its rows come. So 52
    lists cost what one costs, and not 52 times as much. The mechanism and its proof are on
    [a page](https://dpsel.github.io/dpsel/algorithms/series/).

    A series is made once by [`create`][dpsel.Series.create], and later opened by
    [`open`][dpsel.Series.open]. It is in one folder, with all that it knows of users encrypted under your
    key. Each call takes the lock of the folder, reads it and leaves it complete: so there is nothing to shut,
    and a process may be killed at any time. A release is committed before its list is returned, and from then
    on a call with its name returns the same list.

    Examples:
        >>> import pathlib, tempfile, dpsel
        >>> folder = tempfile.TemporaryDirectory()
        >>> place = pathlib.Path(folder.name)
        >>> series = dpsel.Series.create(
        ...     place / "drinks",
        ...     key=place / "drinks.key",
        ...     privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-6),
        ...     releases=52,
        ...     max_items_per_user=10,
        ...     user="user",
        ...     item="drink",
        ... )
        >>> week = [(user, "tea") for user in range(500)]
        >>> series.release(week, "2026-W01").items.to_pylist()
        ['tea']

        A week later, maybe in another process:

        >>> series = dpsel.Series.open(place / "drinks", key=place / "drinks.key")
        >>> series.release(week, "2026-W02").items.to_pylist()
        []
        >>> series.items.to_pylist()
        ['tea']
        >>> folder.cleanup()
    """

    __slots__ = ()

    _has_counts = False

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        *,
        key: bytes | str | os.PathLike[str],
        privacy: Privacy,
        releases: int,
        max_items_per_user: int,
        user: str | Sequence[str],
        item: str | Sequence[str],
        prompt: bool = False,
    ) -> Self:
        """Make a series, and pay for all of its releases.

        Whatever is given here stays for the whole series. A repeated call with the same arguments opens the
        series that is there, and pays nothing again.

        Args:
            folder: Where the series lives; it is made, for its owner alone. Keep it in one place: of two
                copies that go on, or of an older one that is put back, nothing is promised.
            key: 32 bytes, or a file with 64 hexadecimal digits, which is made if it is not there. Keep it
                apart from the folder. Without it nobody can read the lists or go on.
            privacy: The guarantee of all lists together, for one user with all rows of all releases. With
                [`Ledger.on_use`][dpsel.Budget.on_use] a ledger books it once, and refuses later a folder that
                is older than what was shown.
            releases: The most releases. More are refused; fewer cost the same.
            max_items_per_user: The most items of one user that ever count, in the order in which they come.
            user: The column that identifies the user, or several. Labels if rows are pairs.
            item: The column of the item, or several.
            prompt: New items of a user count at once. Otherwise they wait for the next block: blocks begin
                with the releases 1, 3, 5, 9, 17 and so on. A block has two releases at least, and at most a
                seventh of all, rounded up. With ``True`` nothing is promised to a user whose own rows react
                to lists of the running block.

        Returns:
            The series.

        Raises:
            InvalidParameterError: If a parameter is out of range.
            CalibrationError: If no noise and threshold meet the guarantee.
            BudgetExceededError: If the budget has less left.
            SeriesError: If another series is in the folder, or the key is not its own.
            FileError: If the folder or the key file cannot be written.
        """
        header = _mechanism.header_of_lists(privacy, releases, max_items_per_user, user, item, prompt=prompt)
        files, own = own_key(folder, key)
        # No variable of ours has the bytes from here on.
        del key
        return cls._started(files, own, privacy, header)

    def release(
        self,
        data: IntoContributions,
        name: str,
        *,
        threads: int | None = None,
        memory_limit: int | str | None = None,
        file_format: FileFormat | None = None,
    ) -> SeriesRelease:
        """Return the new items of the next release.

        Pairs of user and item that were seen before are ignored, so the table may hold all rows so far or the
        new ones alone. Rows that come late count with the release with which they come, and rows that vanish
        take nothing back. An empty table makes a release, too: whether there is one must not depend on rows.

        A call with the name of a release that was made returns its list, reads no row and spends nothing.
        So after a failure or a crash call again with the same name.

        Args:
            data: As for [`select_partitions`][dpsel.select_partitions].
            name: What the release is called, such as its week. It is public.
            threads: The most threads; by default one for each core.
            memory_limit: The most bytes, such as ``"4GiB"``; there is an error beyond.
            file_format: The format of files whose names do not say it.

        Returns:
            The list. There is no progress on the way: only the list may tell of the noise.

        Raises:
            SeriesError: If the series is full, closed, in use, damaged or older than it should be.
            SchemaError: If a column is missing, or has another type than in earlier releases.
            DataError: If the rows break a rule.
            MemoryLimitError: If ``memory_limit`` is not enough.
            FileError: If a file cannot be read or written.
        """
        settings: Any = {"threads": threads, "memory_limit": memory_limit, "file_format": file_format}
        return self._made(name, lambda header: _mechanism.attempt(header, data, **settings), _shown)

    @property
    def items(self) -> ItemTable:
        """All items that came out so far, in the order of their own values."""
        with self._entered() as folder:
            return _mechanism.joined(folder.header, [folder.items_of(commit) for commit in folder.commits])


def _shown(folder: Folder, commit: Commit) -> SeriesRelease:
    items = _mechanism.table_of(folder.header, folder.items_of(commit))
    return SeriesRelease(commit.name, commit.number, items, status_of(folder, commit.number))
