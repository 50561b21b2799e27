"""What a series shows: the list of a release, and where the series stands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpsel._tables import Display, Displayed
from dpsel.release._wording import notation, quantity

if TYPE_CHECKING:
    from dpsel.accounting import Privacy
    from dpsel.item_table import ItemTable

__all__ = ["CountRelease", "SeriesRelease", "SeriesStatus"]


@dataclass(frozen=True, slots=True, repr=False)
class SeriesStatus(Displayed):
    """Where a series stands. All of it is public.

    Args:
        privacy: The guarantee of all releases together, for adding or removing one user with all its rows.
        releases: The most releases.
        names: Those that were made, in order.
        max_items_per_user: The most items of one user that ever count in lists, and that count whole in
            numbers.
        user: The columns of the user.
        item: The columns of the item.
        prompt: Whether items of a user count at once.
        is_closed: Whether no further release can be made, since the state is gone.
        counts: Window, limit and unit of a series of numbers; ``None`` for lists.
    """

    privacy: Privacy
    releases: int
    names: tuple[str, ...]
    max_items_per_user: int
    user: tuple[str, ...]
    item: tuple[str, ...]
    prompt: bool
    is_closed: bool
    counts: dict[str, Any] | None = None

    @property
    def made(self) -> int:
        """The number of releases that were made."""
        return len(self.names)

    def to_json(self) -> str:
        """Return it as JSON."""
        left_out = ("privacy",) if self.counts else ("privacy", "counts")
        fields = {name: getattr(self, name) for name in self.__slots__ if name not in left_out}
        return json.dumps({"privacy": self.privacy.to_json(), "made": self.made} | fields, indent=2)

    def _guarantee(self) -> list[str]:
        guarantee = notation(self.privacy.to_json())
        if self.counts:
            return [f"guarantee of all together: {guarantee} {_of_counts(self)}"]
        kept = f"{quantity(self.max_items_per_user, 'item')} per user at most"
        lines = [
            f"guarantee of all together: {guarantee} for one user added or removed with all rows, {kept}"
        ]
        if self.prompt:
            lines.append("assumes that no user's own rows react to lists of the running block (prompt)")
        return lines

    def _display(self) -> Display:
        last = f", the last one {self.names[-1]}" if self.names else ""
        end = "; closed" if self.is_closed else ""
        made = f"{quantity(self.made, 'release')} made of at most {self.releases:,}{last}{end}"
        return Display([made, *self._guarantee()])

    def __repr__(self) -> str:
        """Return one line."""
        return f"<dpsel.SeriesStatus: {self.made} of {self.releases} releases>"


def _of_counts(status: SeriesStatus) -> str:
    """Say who is protected by numbers, and who counts whole."""
    asked = status.counts or {}
    items = quantity(status.max_items_per_user, "item")
    if asked["unit"] == "user-release":
        return f"for the rows of one user in one release, who counts whole in up to {items}"
    releases = quantity(asked["max_releases_per_item"], "release")
    return (
        f"for one user added or removed with all rows, who counts whole in up to {items}, in up to "
        f"{releases} each"
    )


@dataclass(frozen=True, slots=True, repr=False)
class SeriesRelease(Displayed):
    """The new items of one release of a series.

    Args:
        name: The name of the release.
        number: Its number, from 1 on.
        items: The new items, sorted by their own values.
        status: Where the series stood right after it.
    """

    name: str
    number: int
    items: ItemTable
    status: SeriesStatus

    def __len__(self) -> int:
        """Return the number of new items."""
        return len(self.items)

    def to_pylist(self) -> list[Any]:
        """Return the new items as Python values; tuples if there are several columns."""
        return self.items.to_pylist()

    def __arrow_c_schema__(self) -> object:
        """Export the schema of the items."""
        return self.items.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the items, as often as asked."""
        return self.items.__arrow_c_stream__(requested_schema)

    def _lines(self) -> list[str]:
        made = f"{quantity(len(self), 'new item')} in {self.name}, {self._place()}"
        return [made, *self.status._guarantee()]  # noqa: SLF001 - of this file

    def _place(self) -> str:
        return f"release {self.number:,} of at most {self.status.releases:,}"

    def _display(self) -> Display:
        return self.items.display(self._lines())

    def __str__(self) -> str:
        """Return lines for a person."""
        return Display(self._lines()).text()

    def __repr__(self) -> str:
        """Return one line."""
        return f"<dpsel.SeriesRelease: {quantity(len(self), 'new item')}, {self._place()}>"


@dataclass(frozen=True, slots=True, repr=False)
class CountRelease(SeriesRelease):
    """The numbers of one release of a series of numbers.

    Args:
        name: The name of the release.
        number: Its number, from 1 on.
        items: All items that were named so far, with noisy numbers in the column ``users``, sorted by items.
        status: Where the series stood right after it.
        half_width: An interval of 95 % is a number plus and minus this: noise and rounding. Items that were
            named later have less noise. What limits left out is not in it.
    """

    half_width: float

    def _lines(self) -> list[str]:
        asked = self.status.counts or {}
        over = f" over {quantity(asked['window'], 'release')}" if asked["window"] > 1 else ""
        made = f"numbers of {quantity(len(self), 'item')} in {self.name}{over}, {self._place()}"
        noise = f"each within {self.half_width:.1f} of the users that count, with 95 %"
        return [made, noise, *self.status._guarantee()]  # noqa: SLF001 - of this file

    def __repr__(self) -> str:
        """Return one line."""
        return f"<dpsel.CountRelease: {quantity(len(self), 'number')}, {self._place()}>"
