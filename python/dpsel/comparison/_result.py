"""The result of a comparison."""

from __future__ import annotations

import csv
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpsel._plot import Curve, draw
from dpsel._tables import Tabular
from dpsel.outputs import checked_output

if TYPE_CHECKING:
    import os

__all__ = ["Comparison"]

#: The columns that are equal in all repeats of a combination.
_GRID: Final = ("mechanism", "max_items_per_user", "epsilon", "rho", "delta")

#: How far published numbers may be off, if there are any. It follows from the request alone.
_NOISE: Final = "counts_half_width"


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Tabular):
    """What [`compare`][dpsel.compare] found: one row for each run.

    Examples:
        >>> import dpsel
        >>> rows = [(user, item) for user in range(300) for item in range(user % 30)]
        >>> compared = dpsel.compare(
        ...     rows,
        ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...     max_items_per_user=30,
        ...     mechanisms=dpsel.Sips(),
        ...     public_data=True,
        ... )
        >>> 0 < compared.rows[0]["fraction"] < 1
        True
    """

    _rows: tuple[dict[str, Any], ...]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict per run.

        ``mechanism``, ``max_items_per_user``, the parameters of the guarantee (``epsilon`` or ``rho``,
        ``delta``), ``repeat``, ``items`` (how many were released), ``lists`` (``"short"`` or ``"long"`` where
        the mechanism looks at lists, which says what it took, otherwise ``None``), ``upper_bound`` (items
        that a mechanism of this guarantee releases on average at most, whatever the limit; ``None`` under
        zCDP) and ``fraction`` (items / upper_bound). With ``counts=`` also ``counts_half_width``: with 95 % a
        number lies within so much of what users count.
        """
        return self._copies()

    def to_json(self) -> str:
        """Return the rows as JSON text."""
        return json.dumps(self.rows, indent=2)

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as CSV."""
        with Path(checked_output(path)).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(self._rows[0]))
            writer.writeheader()
            writer.writerows(self._rows)

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, fraction: bool = False, ax: Any = None
    ) -> Any:
        """Draw the released items against the budget.

        Args:
            path: Save the figure here; the extension says the format.
            fraction: Draw them as a fraction of the upper bound.
            ax: Draw into these matplotlib axes instead of new ones.

        Returns:
            The matplotlib axes.

        Raises:
            ImportError: If matplotlib is not installed (``pip install 'dpsel[plot]'``).
        """
        summary = self.summary()
        budget = "rho" if all(row["epsilon"] is None for row in summary) else "epsilon"
        shown = sorted((row for row in summary if row[budget] is not None), key=lambda row: row[budget])
        curves = _curves(shown, budget, "fraction" if fraction else "items")
        if not fraction and budget == "epsilon":
            bounds = {row[budget]: row["upper_bound"] for row in shown}
            curves.append(Curve(list(bounds), list(bounds.values()), "no mechanism can release more"))
        labels = budget, "released items, of the upper bound" if fraction else "released items"
        return draw(curves, labels=labels, path=path, ax=ax)

    def summary(self) -> list[dict[str, Any]]:
        """Return one row for each combination: the mean over its repeats, the fewest and the most items.

        ``looks`` says in how many repeats the mechanism looked at lists, ``short`` in how many it found them
        short.
        """
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in self._rows:
            groups.setdefault(tuple(row[name] for name in _GRID), []).append(row)
        return [_mean(rows) for rows in groups.values()]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["mechanism", "max items", "epsilon", "rho", "delta", "items", "of upper bound"]
        noise = ["numbers within"] if _NOISE in self._rows[0] else []
        summary = self.summary()
        looks = ["lists"] if any(row["looks"] for row in summary) else []
        cells = [[*_cells(row), *[_looks(row) for _ in looks]] for row in summary]
        return head + noise + looks, cells


def _curves(rows: list[dict[str, Any]], budget: str, value: str) -> list[Curve]:
    """Return one curve over the budgets for each mechanism and limit."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["mechanism"], row["max_items_per_user"]), []).append(row)
    return [
        Curve(
            [row[budget] for row in mine],
            [row[value] for row in mine],
            f"{mechanism}, at most {limit:,} items",
            "o",
        )
        for (mechanism, limit), mine in groups.items()
    ]


def _mean(rows: list[dict[str, Any]]) -> dict[str, Any]:
    items = [row["items"] for row in rows]
    mean, bound = statistics.fmean(items), rows[0]["upper_bound"]
    return {name: rows[0][name] for name in (*_GRID, _NOISE) if name in rows[0]} | {
        "items": mean,
        "fewest": min(items),
        "most": max(items),
        "looks": sum(row["lists"] is not None for row in rows),
        "short": sum(row["lists"] == "short" for row in rows),
        "upper_bound": bound,
        "fraction": mean / bound if bound else None,
    }


def _looks(row: dict[str, Any]) -> str:
    """Return in how many repeats a look found short lists, where the mechanism looks."""
    return f"short in {row['short']:,} of {row['looks']:,}" if row["looks"] else ""


def _cells(row: dict[str, Any]) -> list[str]:
    budget = ["" if row[name] is None else f"{row[name]:.6g}" for name in ("epsilon", "rho", "delta")]
    fraction = "" if row["fraction"] is None else f"{row['fraction']:.1%}"
    noise = [f"{row[_NOISE]:.4g}"] if _NOISE in row else []
    return [
        row["mechanism"],
        f"{row['max_items_per_user']:,}",
        *budget,
        f"{row['items']:,.0f}",
        fraction,
        *noise,
    ]
