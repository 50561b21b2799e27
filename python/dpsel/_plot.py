"""Drawing plans. The only file that imports matplotlib."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpsel.planning import Plan

__all__ = ["plot_keep_curves"]


def plot_keep_curves(plan: Plan, path: str | os.PathLike[str] | None, ax: Any) -> Any:
    """Draw one curve per row of the plan."""
    axes = _new_axes() if ax is None else ax
    for index, row in enumerate(plan.rows):
        users, keep = plan.keep_curve(index)
        axes.plot(users, keep, label=f"{row['mechanism']}, at most {row['max_items_per_user']:,} items")
    axes.set_xlabel("users who hold the item")
    axes.set_ylabel("probability that it is released")
    axes.set_ylim(-0.02, 1.02)
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
