"""Plots of curves. The only file that imports matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

from dpsel.outputs import checked_output

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

__all__ = ["STYLES", "Curve", "draw", "finished", "new_axes"]

#: Colours that most people tell apart (Okabe and Ito, 2008), each with a dash of its own for black and white.
STYLES: Final = (
    ("#000000", "-"),
    ("#0072B2", "--"),
    ("#D55E00", "-."),
    ("#009E73", ":"),
    ("#CC79A7", (0, (5, 1))),
    ("#56B4E9", (0, (3, 1, 1, 1))),
    ("#E69F00", (0, (1, 1))),
)


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
    axes = new_axes(ax)
    for curve, (colour, dash) in zip(curves, cycle(STYLES)):
        style = {"color": colour, "linestyle": dash} if curve.style == "-" else {}
        axes.plot(curve.x, curve.y, *([] if style else [curve.style]), label=curve.label, **style)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    if limits is not None:
        axes.set_ylim(*limits)
    return finished(axes, path)


def finished(axes: Any, path: str | os.PathLike[str] | None) -> Any:
    """Give axes the common style, and save the figure if there is a path."""
    axes.grid(visible=True, alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False)
    if path is not None:
        axes.figure.savefig(checked_output(path), bbox_inches="tight")
    return axes


def new_axes(ax: Any) -> Any:
    """Return the axes that were given, or new ones.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plots need matplotlib; install it with pip install 'dpsel[plot]'") from error
    # A figure of its own, outside pyplot: nothing is shown, and nothing global is left behind.
    return Figure(figsize=(8, 5)).subplots()
