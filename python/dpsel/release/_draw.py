"""Plots of releases with noisy weights: released values and public numbers alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from dpsel._plot import STYLES, finished, new_axes
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    import os

    from dpsel.release._report import Report

__all__ = ["plot_release"]

#: 95 % of the noise lies within so many scales.
_WITHIN: Final = {"gaussian": 1.96, "laplace": math.log(20.0)}


def plot_release(
    report: Report,
    items: list[tuple[Any, float]],
    most: int,
    path: str | os.PathLike[str] | None,
    ax: Any,
) -> Any:
    """Draw the items of the largest noisy weights, the interval of the noise, and the threshold."""
    if not report["request"].get("with_weights"):
        raise InvalidParameterError(
            "a plot shows noisy weights, and this release has none; select with with_weights=True"
        )
    shown = sorted(items, key=lambda pair: pair[1], reverse=True)[:most][::-1]
    axes = new_axes(ax)
    places = range(len(shown))
    rounds = [each for each in report.rounds if each["threshold"] is not None]
    (colour, _), (line, dash) = STYLES[1], STYLES[2]
    reach = _WITHIN[rounds[0]["noise"]] * rounds[0]["scale"] if len(rounds) == 1 else None
    axes.errorbar(
        [weight for _, weight in shown],
        list(places),
        xerr=reach,
        fmt="o",
        color=colour,
        capsize=3,
        label="noisy weight" if reach is None else "noisy weight, with 95 % of the noise",
    )
    if len(rounds) == 1:
        least = report["request"].get("min_users", 1) - 1
        axes.axvline(rounds[0]["threshold"] + least, color=line, linestyle=dash, label="threshold")
    axes.set_yticks(list(places), [_label(item) for item, _ in shown])
    axes.set_xlabel("weight")
    return finished(axes, path)


def _label(item: Any) -> str:
    return ", ".join(map(str, item)) if isinstance(item, tuple) else str(item)
