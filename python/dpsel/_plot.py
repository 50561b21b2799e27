"""Plots of curves. The only file that imports matplotlib."""

from __future__ import annotations

from dataclasses import dataclass, replace
from textwrap import fill
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

#: Inches. As wide as a hand: on a phone the text keeps about the size that it has on paper.
_WIDTH: Final = 5.5
_HEIGHT: Final = 3.6
_LINE: Final = 0.2
#: The characters of a line of the legend that fit the width.
_LABEL: Final = 56


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve and how it is drawn."""

    x: Sequence[float]
    y: Sequence[float]
    label: str
    marker: str = ""


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
    drawn = [replace(curve, label=fill(curve.label, _LABEL)) for curve in curves]
    axes = new_axes(ax, _HEIGHT + _LINE * sum(curve.label.count("\n") + 1 for curve in drawn))
    for place, curve in enumerate(drawn):
        colour, dash = _style(place)
        axes.plot(curve.x, curve.y, color=colour, linestyle=dash, marker=curve.marker, label=curve.label)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    if limits is not None:
        axes.set_ylim(*limits)
    return finished(axes, path, own=ax is None)


def _style(place: int) -> tuple[str, Any]:
    """Return the colour of a curve, and a dash that no other curve of this colour has."""
    turns, at = divmod(place, len(STYLES))
    return STYLES[at][0], STYLES[(at + turns) % len(STYLES)][1]


def finished(axes: Any, path: str | os.PathLike[str] | None, *, own: bool) -> Any:
    """Give axes the common style, and save the figure if there is a path."""
    axes.grid(visible=True, alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if own:
        # Below the axes, so that it hides nothing.
        axes.figure.legend(frameon=False, loc="outside lower center")
    else:
        axes.legend(frameon=False)
    if path is not None:
        axes.figure.savefig(checked_output(path), bbox_inches="tight")
    return axes


def new_axes(ax: Any, height: float) -> Any:
    """Return the axes that were given, or new ones of this height in inches.

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
    return Figure(figsize=(_WIDTH, height), layout="constrained").subplots()
