"""Plots of releases with noisy numbers or weights: released values and public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel._plot import STYLES, finished, new_axes
from dpsel._tables import one_line
from dpsel.exceptions import InvalidParameterError
from dpsel.release._tree import is_tree, largest_nodes
from dpsel.release._wording import counted_column

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from dpsel.release._report import Report

__all__ = ["plot_release"]

#: 95 % of the noise lies within so many scales.
_WITHIN: Final = {"gaussian": 1.96, "laplace": math.log(20.0)}
#: Inches of a row, and of what is above and below the rows.
_ROW: Final = 0.26
_REST: Final = 1.4
#: Points of a label, and its characters.
_FONT: Final = 9.0
_LABEL: Final = 30
_END: Final = 10
_POINTS_PER_INCH: Final = 72.0
#: Space from one label to the next, in heights of the font.
_SPACE: Final = 1.4
_LARGE: Final = 1e5
#: Points between labels and the axis.
_GAP: Final = 3.5
#: Points by which a node begins to the right of the one above it.
_STEP: Final = 14.0


@dataclass(frozen=True, slots=True)
class _Noisy:
    """What is drawn: the column, its name, half of the interval that has 95 % of the noise, a threshold."""

    column: str
    name: str
    reach: float | None
    threshold: float | None = None


def plot_release(
    report: Report,
    columns: dict[str, Sequence[Any]],
    items: list[Any],
    most: int,
    path: str | os.PathLike[str] | None,
    ax: Any,
) -> Any:
    """Draw the items of the largest noisy numbers, or weights, and the interval of the noise."""
    noisy = _noisy(report)
    numbers = columns[noisy.column]
    nodes = largest_nodes(report["request"], columns, most)[::-1] if is_tree(report) else []
    shown = [(_short(node.label), numbers[node.place]) for node in nodes]
    shown = shown or _largest(numbers, items, most)[::-1]
    axes = new_axes(ax, _REST + _ROW * max(4, len(shown)))
    (colour, _), (line, dash) = STYLES[1], STYLES[2]
    axes.errorbar(
        [value for _, value in shown],
        range(len(shown)),
        xerr=noisy.reach,
        fmt="o",
        color=colour,
        capsize=3,
        label=noisy.name if noisy.reach is None else f"{noisy.name}, with 95 % of the noise",
    )
    if noisy.threshold is not None:
        axes.axvline(noisy.threshold, color=line, linestyle=dash, label="threshold")
    _label(axes, [label for label, _ in shown])
    _indent(axes, [node.depth for node in nodes])
    axes.set_xlabel(noisy.column)
    return finished(axes, path, own=ax is None)


def _largest(numbers: Sequence[Any], items: list[Any], most: int) -> list[tuple[str, float]]:
    """Return labels and numbers, the largest first."""
    pairs = [pair for pair in zip(items, numbers, strict=True) if pair[1] is not None]
    largest = sorted(pairs, key=lambda pair: pair[1], reverse=True)[:most]
    return [(_short(item), number) for item, number in largest]


def _noisy(report: Report) -> _Noisy:
    """Return what a release can show: numbers if it has them, otherwise weights."""
    request = report["request"]
    if report.task == "top_k" and request["counts"]["kind"] != "none":
        own = report.counts
        reach = _reach_of(report["calibration"]) if own is None else own["half_width"]
        return _Noisy("count", "noisy number of users", reach)
    if (counts := report.counts) is not None:
        name = str(counted_column(request))
        return _Noisy(name, f"noisy number of {name}", counts["half_width"])
    if not request.get("with_weights"):
        fix = "ask for counts" if report.task == "top_k" else "select with counts=0.2, or with_weights=True"
        raise InvalidParameterError(
            f"a plot shows noisy numbers or weights, and this release has none; {fix}"
        )
    rounds = [each for each in report.rounds if each["threshold"] is not None]
    if len(rounds) > 1:
        return _Noisy("weight", "noisy weight", None)
    least = request.get("min_users", 1) - 1
    reach = _WITHIN[rounds[0]["noise"]] * rounds[0]["scale"]
    return _Noisy("weight", "noisy weight", reach, rounds[0]["threshold"] + least)


def _reach_of(calibration: dict[str, Any]) -> float | None:
    """Return half of the interval of the counts of a top-k, about, if these have a budget of their own."""
    if (square := calibration.get("counts_square_rate")) is not None:
        return _WITHIN["gaussian"] * math.sqrt(0.5 / float(square))
    if (rate := calibration.get("counts_rate")) is not None:
        return _WITHIN["laplace"] / float(rate)
    return None


def _label(axes: Any, labels: list[str]) -> None:
    """Write the items beside their rows, and numbers below, so that none touches the next one."""
    from matplotlib.ticker import EngFormatter, MaxNLocator, StrMethodFormatter

    high = axes.get_window_extent().height / axes.figure.dpi * _POINTS_PER_INCH
    size = min(_FONT, high / max(1, len(labels)) / _SPACE)
    # What is between dollar signs would be a formula.
    axes.set_yticks(range(len(labels)), labels, fontsize=size, parse_math=False)
    axes.set_ylim(-0.7, max(0, len(labels) - 1) + 0.7)
    large = max(map(abs, axes.get_xlim())) >= _LARGE
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(EngFormatter() if large else StrMethodFormatter("{x:,g}"))


def _indent(axes: Any, depths: list[int]) -> None:
    """Let the labels of nodes begin further to the right, the deeper the node is."""
    if not depths:
        return
    ticks = axes.yaxis.get_major_ticks()
    inches = [tick.label1.get_window_extent().width / axes.figure.dpi for tick in ticks]
    ends = [_STEP * depth + _POINTS_PER_INCH * wide for depth, wide in zip(depths, inches, strict=True)]
    for tick, depth in zip(ticks, depths, strict=True):
        tick.label1.set_horizontalalignment("left")
        tick.set_pad(_GAP + max(ends) - _STEP * depth)


def _short(item: Any) -> str:
    text = ", ".join(map(str, item)) if isinstance(item, tuple) else str(item)
    text = one_line(text if len(text) <= 2 * _LABEL else text[:_LABEL] + text[-_LABEL:])
    # Items that begin alike often differ at the end.
    return text if len(text) <= _LABEL else f"{text[: _LABEL - _END]}…{text[-_END:]}"
