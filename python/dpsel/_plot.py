"""Drawing plans and comparisons. The only file that imports matplotlib."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsel.comparison import Comparison
    from dpsel.planning import Plan

__all__ = ["plot_comparison", "plot_keep_curves"]


def plot_keep_curves(plan: Plan, path: str | os.PathLike[str] | None, ax: Any) -> Any:
    """Draw one curve per row of the plan."""
    axes = _new_axes() if ax is None else ax
    for index, row in enumerate(plan.rows):
        users, keep = plan.keep_curve(index)
        axes.plot(users, keep, label=f"{row['mechanism']}, at most {row['max_items_per_user']:,} items")
    axes.set_xlabel("users who hold the item")
    axes.set_ylabel("probability that it is released")
    axes.set_ylim(-0.02, 1.02)
    return _finished(axes, path)


def plot_comparison(
    comparison: Comparison, path: str | os.PathLike[str] | None, ax: Any, *, fraction: bool
) -> Any:
    """Draw one curve over the budgets per mechanism and limit, and the upper bound."""
    axes = _new_axes() if ax is None else ax
    summary = comparison.summary()
    budget = "rho" if all(row["epsilon"] is None for row in summary) else "epsilon"
    shown = sorted((row for row in summary if row[budget] is not None), key=lambda row: row[budget])
    value = "fraction" if fraction else "items"
    labels = dict.fromkeys((row["mechanism"], row["max_items_per_user"]) for row in summary)
    for mechanism, limit in labels:
        mine = [row for row in shown if (row["mechanism"], row["max_items_per_user"]) == (mechanism, limit)]
        points = [row[budget] for row in mine], [row[value] for row in mine]
        axes.plot(*points, marker="o", label=f"{mechanism}, at most {limit:,} items")
    if not fraction and budget == "epsilon":
        bounds = {row[budget]: row["upper_bound"] for row in shown}
        axes.plot(list(bounds), list(bounds.values()), "k--", label="no mechanism can release more")
    axes.set_xlabel(budget)
    axes.set_ylabel("released items, of the upper bound" if fraction else "released items")
    return _finished(axes, path)


def _finished(axes: Any, path: str | os.PathLike[str] | None) -> Any:
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    if path is not None:
        axes.figure.savefig(os.fspath(path), bbox_inches="tight")
    return axes


def _new_axes() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib; install it with pip install 'dpsel[plot]'") from error
    # A figure of its own, outside pyplot: nothing is shown, and nothing global is left behind.
    return Figure(figsize=(8, 5)).subplots()
