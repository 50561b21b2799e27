"""Plots of curves. The only file that imports matplotlib."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Curve", "draw"]


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve and how it is drawn."""

    x: Sequence[float]
    y: Sequence[float]
    label: str
    style: str = "-"


def draw(
    curves: Iterable[Curve],
    *,
    labels: tuple[str, str],
    limits: tuple[float, float] | None = None,
    path: str | os.PathLike[str] | None,
    ax: Any,
) -> Any:
    """Draw curves into given axes or new ones, and save the figure if there is a path.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    axes = _new_axes() if ax is None else ax
    for curve in curves:
        axes.plot(curve.x, curve.y, curve.style, label=curve.label)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    if limits is not None:
        axes.set_ylim(*limits)
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
