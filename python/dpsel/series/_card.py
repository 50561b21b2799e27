"""The card of a series: one page to publish beside its lists, of what is public about all of them."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpsel._tables import one_line
from dpsel.accounting import for_group
from dpsel.release._card import belief, figure_of, groups, guarantee, page, part_of_page, save_page, table
from dpsel.release._wording import quantity

if TYPE_CHECKING:
    import os

    from dpsel.series._results import SeriesStatus

__all__ = ["SeriesCard"]


@dataclass(frozen=True, slots=True)
class SeriesCard:
    """A page that says in words what all releases of a series together protect.

    It needs no other file. Everything on it is public: the parameters, the names of the releases in the log,
    which has no dates, and how many items each of them published.

    Args:
        status: Where the series stands.
        items: The number of items that each release published, in order.

    Examples:
        >>> import pathlib, tempfile, dpsel
        >>> folder = tempfile.TemporaryDirectory()
        >>> place = pathlib.Path(folder.name)
        >>> series = dpsel.Series.create(
        ...     place / "drinks",
        ...     key=place / "drinks.key",
        ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...     releases=52,
        ...     max_items_per_user=10,
        ...     user="user",
        ...     item="drink",
        ... )
        >>> "0 releases made of at most 52" in series.card().to_html()
        True
        >>> folder.cleanup()
    """

    status: SeriesStatus
    items: tuple[int, ...]

    def to_html(self) -> str:
        """Return the page."""
        return page("Series card", f"How these {self._what()} were protected", self._sections())

    def to_svg(self) -> str:
        """Return the figure alone: how far all releases together can move a belief about one user."""
        return figure_of(for_group(self.status.privacy, 1).epsilon)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file ``.html``, or the figure to a file ``.svg``.

        Raises:
            FileError: If the extension is another one, or the file cannot be written.
        """
        save_page(path, self.to_html(), self.to_svg())

    def _repr_html_(self) -> str:
        return part_of_page(self._sections())

    def _what(self) -> str:
        return "lists" if self.status.counts is None else "numbers"

    @property
    def _is_of_one_release(self) -> bool:
        return (self.status.counts or {}).get("unit") == "user-release"

    def _sections(self) -> list[tuple[str, str]]:
        total = self.status.privacy
        if self._is_of_one_release:
            # Beliefs and groups would be read as if they were about users.
            about = [("The guarantee", guarantee(total, "One user in one release"))]
        else:
            about = [
                ("The guarantee", guarantee(total)),
                ("What one user could change", belief(total)),
                ("Several users together", groups(total)),
            ]
        return [
            ("What is protected", self._protected()),
            *about,
            ("The releases", self._releases()),
            ("What is not promised", self._limits()),
        ]

    def _protected(self) -> str:
        status = self.status
        user = html.escape(one_line(" and ".join(status.user)))
        whose = "is in the data at all, with all rows of all releases"
        if self._is_of_one_release:
            whose = "is in the rows of one release; of one that comes in many releases much more can be told"
        end = "; no further one will be made" if status.is_closed else ""
        return (
            f"<p>{quantity(status.made, 'release')} made of at most {status.releases:,}{end}. Nobody can "
            f"tell from all {self._what()} together whether any one <b>{user}</b> {whose}, beyond what the "
            "next section allows. It holds for all releases together, also for those to come.</p>"
        )

    def _releases(self) -> str:
        lines: list[tuple[str, object]] = [("Items", " and ".join(self.status.item))]
        lines.append(("Items per user", f"at most {self.status.max_items_per_user:,}"))
        if (counts := self.status.counts) is not None:
            each = counts["max_releases_per_item"]
            lines[-1] = (
                "Items per user",
                f"whoever has at most {self.status.max_items_per_user:,} counts whole",
            )
            lines.append(("Releases per item", f"a user counts in {quantity(each, 'release')} at most"))
            lines.append(("Window", quantity(counts["window"], "release")))
        new = "new item" if self.status.counts is None else "number"
        named = zip(self.status.names, self.items, strict=True)
        return table([*lines, *((name, quantity(items, new)) for name, items in named)])

    def _limits(self) -> str:
        promptly = (
            " Nothing is promised to a user whose own rows react to lists of the running block."
            if self.status.prompt
            else ""
        )
        return (
            "<p>The costs of other releases about the same users come on top. Nothing is promised if two "
            "copies of the folder went on, or if an older one was put back, if rows decided whether there is "
            f"a release, or if somebody copies the rows of others.{promptly} Times and failures are not "
            "covered. It says nothing about what many users have in common: that a habit is frequent can "
            "be seen, and applies to those who are not in the data too. <code>dpsel series check</code> "
            "and <code>dpsel count-series check</code> derive the certificate again.</p>"
        )
