"""Has "auto" at the documented limit what the best of our mechanisms has? Its bars, and where it misses them.

    python -m benches.short_lists CLONES OUT                           # builds sets of short lists
    python -m benches.auto OUT FOLDER --bars --short imdb --first 5    # measures what is missing
    python -m benches.auto --bars                                      # prints what was measured

The guide says: *the number of items that a typical user has, but at least 10*. The former is the mean of the
distinct items of a user, rounded up. Sets are measured at the least of `ROUND` that is no smaller. Those of
short lists are also measured at the mean itself, which counts for the bars if it is 10 or more.

Each cell of the table is the items of "auto" over those of the best, with what was best. Rivals are the
mechanisms that win a cell of the large table of `benches.auto` at a limit of 3 or more. Sizes are in
`bars.csv`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpsel
from benches import tables
from benches.releases import DELTAS, Data, Figures
from dpsel._request._auto import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

FIGURES = Path(__file__).resolve().parent / "bars.csv"
#: The round limits, and the longest mean of what counts as short lists here.
ROUND, SHORT = (10, 30, 100, 300), 12
#: What "auto" should have of the best, on every set and on average, and of `LONG` where lists are long.
LEAST, LEAST_MEAN, LEAST_OF_LONG = 0.95, 0.985, 0.985
LONG = dpsel.Steered(reach=3)
RIVALS: tuple[Any, ...] = (
    dpsel.Matching(screening=True),
    dpsel.Steered(),
    dpsel.Steered(reach=2),
    LONG,
    dpsel.Sips(release="curve"),
)
NAMES = ("Matching", "Steered", "Steered, 2", "Steered, 3", "Sips")


@dataclass(frozen=True)
class Case:
    """A set at a limit and an epsilon: what "auto" has of the best and of `LONG`, and what is best."""

    data: str
    mean_list: float
    limit: int
    epsilon: float
    of_best: float
    of_long: float
    best: str

    @property
    def counts(self) -> bool:
        """Whether the guide advises this limit."""
        return self.limit >= ROUND[0]


def limits_of(mean_list: float) -> tuple[int, ...]:
    """The next round limit, and the mean rounded up if lists are short."""
    more = next((limit for limit in ROUND if limit >= mean_list), ROUND[-1])
    return tuple(dict.fromkeys((math.ceil(mean_list), more))) if mean_list <= SHORT else (more,)


def taken(epsilon: float, limit: int) -> Any:
    """What "auto" takes."""
    return resolve("auto", dpsel.ApproxDP(epsilon=epsilon, delta=DELTAS[epsilon]), limit)[0]


def measure(figures: Figures, sets: Iterable[Data], epsilons: Iterable[float]) -> None:
    """Run what is missing."""
    epsilons = list(epsilons)
    for data in sets:
        for epsilon, limit in product(epsilons, limits_of(len(data.table) / data.users)):
            for mechanism in (*RIVALS, taken(epsilon, limit)):
                figures.measure(data, epsilon, limit, mechanism)


def cases(figures: Figures) -> list[Case]:
    """Every set at its limits and each epsilon at which all was measured, short lists first."""
    means = {
        cell.data: int(row["rows"]) / int(row["users"])
        for cell, row in sorted(figures.found.items(), key=lambda found: found[0].data)
    }
    found = []
    for data, mean_list in sorted(means.items(), key=lambda one: one[1]):
        for limit, epsilon in product(limits_of(mean_list), DELTAS):
            sizes = [figures.mean_of(data, epsilon, limit, each) for each in RIVALS]
            auto = figures.mean_of(data, epsilon, limit, taken(epsilon, limit))
            known = [(size, name) for size, name in zip(sizes, NAMES, strict=True) if size is not None]
            if auto is None or len(known) < len(RIVALS):
                continue
            best, name = max((auto, "auto"), *known)
            long = figures.mean_of(data, epsilon, limit, LONG) or 0.0
            ratios = (max(auto, 0.5) / max(best, 0.5), max(auto, 0.5) / max(long, 0.5))
            found.append(Case(data, mean_list, limit, epsilon, *ratios, name))
    return found


def report(figures: Figures) -> str:
    """The table, and a line for each bar."""
    found = cases(figures)
    by_cell = {(case.data, case.limit, case.epsilon): case for case in found}
    lines = []
    for data, mean_list, limit in dict.fromkeys((case.data, case.mean_list, case.limit) for case in found):
        row = [by_cell.get((data, limit, epsilon)) for epsilon in DELTAS]
        shown = ["-" if case is None else f"{case.of_best:.3f} {case.best}" for case in row]
        lines.append((data, f"{mean_list:.1f}", str(limit), *shown))
    head = ("data", "mean list", "limit", *(f"ε = {epsilon:g}" for epsilon in DELTAS))
    return f"{tables.markdown(head, lines)}\n\n{bars(found)}"


def bars(found: list[Case]) -> str:
    """The geometric mean and the worst cell for each epsilon, what long lists lose, and smaller limits."""
    lines = []
    for epsilon in (*DELTAS, None):
        some = [case for case in found if case.counts and epsilon in (case.epsilon, None)]
        if some:
            name = "all" if epsilon is None else f"ε = {epsilon:g}"
            worst = min(some, key=lambda case: case.of_best)
            below = sum(case.of_best < LEAST for case in some)
            place = f"{worst.data} at {worst.limit}"
            lines.append((name, len(some), mean_of_best(some), f"{worst.of_best:.3f}", place, below))
    head = ("", "cells", f"mean (wanted: {LEAST_MEAN})", "worst", "on, at limit", f"below {LEAST}")
    losing = [case for case in found if case.mean_list > SHORT and case.of_long < LEAST_OF_LONG]
    named = ", ".join(f"{case.data} {case.of_long:.3f} at ε = {case.epsilon:g}" for case in losing)
    small = [case for case in found if not case.counts]
    rest = f"at smaller limits: {mean_of_best(small)} on average" if small else ""
    long = f"long lists below {LEAST_OF_LONG} of {LONG!r}: {named or 'none'}"
    return f"{tables.markdown(head, lines)}\n\n{long}\n{rest}"


def mean_of_best(some: list[Case]) -> str:
    return f"{math.exp(sum(math.log(case.of_best) for case in some) / len(some)):.3f}"
