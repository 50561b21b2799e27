"""How many items are released on real data, beside the best that was published with a valid proof?

    python -m benches.accuracy path/to/folder --short imdb wiki_abstracts   # measures what is missing
    python -m benches.accuracy                                             # prints what was measured
    python -m benches.accuracy --markdown docs/accuracy.md                 # puts the ratios into the page

The data sets, the guarantees and the file of sizes are those of `benches/releases.py`. All mechanisms get the
same (epsilon, delta), by the accounting of this package, which is at least as good as that of their papers.

Mechanisms are tuned on the data at no cost: each runs with the limits below, the policies with two cutoffs
as well, and the best setting counts. On sets of a million rows or more the limit is searched from 100 in both
directions, as long as more is released, and the second cutoff gets the limit of the first.

`"auto"` is not tuned. It has one limit: the smallest of 10, 30, 100 and 300 that is at least twice the mean
number of items of a user. Sizes are means over the keys.
"""

from __future__ import annotations

import re
import statistics
import sys
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import dpsel
from benches import auto, tables, true_rates
from benches.releases import EPSILONS, UPPER_BOUND, Cell, Data, Figures, arguments, datasets, true_order

LIMITS = (3, 10, 30, 100, 300, 1000)
LIMITS_OF_AUTO = (10, 30, 100, 300)
CUTOFFS = (5.0, 2.0)
#: The reaches of `Steered` with rows of their own. Another reach is another limit.
REACHES = (1, 3)
#: On sets of so many rows the limit is searched.
SEARCHED = 1_000_000
#: The guarantee of the long table.
MIDDLE = 1.765
#: How the file names `UnitGreedy` with a table.
TRUE_ORDER = "UnitGreedy(prior=...)"
#: What stands before the table in the page.
MARK = "<!-- benches.accuracy: ratios -->"
#: Sets that had no part in the development of our mechanisms, by the beginning of their names.
HELD_OUT = "deps_"


@dataclass(frozen=True)
class Row:
    """A mechanism with its settings, and how it was published: with noise, with a curve, or not at all."""

    name: str
    mechanisms: tuple[Any, ...]
    published: str = ""


def rows() -> list[Row]:
    """Every line of the long table."""
    gaussian = [dpsel.PolicyGaussian(alpha=alpha) for alpha in CUTOFFS]
    laplace = [dpsel.PolicyLaplace(alpha=alpha) for alpha in CUTOFFS]
    curved_gaussian = [dpsel.PolicyGaussian(alpha=alpha, release="curve") for alpha in CUTOFFS]
    curved_laplace = [dpsel.PolicyLaplace(alpha=alpha, release="curve") for alpha in CUTOFFS]
    literature = [
        Row("Weighted Gaussian", (dpsel.WeightedGaussian(),), "noise"),
        Row("Policy Gaussian", tuple(gaussian), "noise"),
        Row("Policy Laplace", tuple(laplace), "noise"),
        Row("DP-SIPS", (dpsel.Sips(),), "noise"),
        Row("Weighted Gaussian, curve", (dpsel.WeightedGaussian(release="curve"),), "curve"),
        Row("Policy Gaussian, curve", tuple(curved_gaussian), "curve"),
        Row("Policy Laplace, curve", tuple(curved_laplace), "curve"),
        Row("MAD, curve", (dpsel.Mad(),), "curve"),
        Row("MAD2R, curve", (dpsel.Mad2R(),), "curve"),
        Row("greedy by frequency, repaired", (dpsel.GreedyFrequency(),), "curve"),
    ]
    taken = {repr(mechanism) for row in literature for mechanism in row.mechanisms} | {"OneItem()"}
    own = [each for each in auto.ours() if getattr(each, "reach", 1) in REACHES]
    new = [Row(repr(each), (each,)) for each in own if repr(each) not in taken]
    return literature + new


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--markdown", type=Path, help="put the ratios after the mark of this page")
    args = parser.parse_args()
    figures = Figures(args.figures, args.threads)
    for data in datasets(args.paths, args.short, args.most_rows):
        measure(figures, data, args.epsilons)
    if stale := figures.stale([mechanism for row in rows() for mechanism in row.mechanisms]):
        print(f"measured with another form of the mechanism: {', '.join(stale)}", file=sys.stderr)
    for text in (ratios(figures), comparison(figures), long_table(figures)):
        print(text)
    if args.markdown:
        args.markdown.write_text(filled(args.markdown.read_text("utf-8"), ratios(figures)), "utf-8")


def measure(figures: Figures, data: Data, epsilons: list[float]) -> None:
    """Run what is missing on one data set."""
    for epsilon in epsilons:
        figures.bound(data, epsilon)
        figures.measure(data, epsilon, LIMITS[-1], true_order(data, epsilon))
        limit = enough(len(data.table) / data.users)
        figures.measure(data, epsilon, limit, auto.chosen(epsilon, limit))
        rates = rates_cell(data.name, epsilon, limit)
        figures.once(data, rates, partial(true_rates.size, data, epsilon, rates.limit))
        for row in rows():
            tune(figures, data, epsilon, row)


def rates_cell(data: str, epsilon: float, limit: int) -> Cell:
    """The line of `Steered` that knows the true rates, where users keep what "auto" lets them keep."""
    return Cell(data, epsilon, REACHES[-1] * limit, true_rates.TRUE_RATES)


def enough(mean: float) -> int:
    """The limit of "auto" where users have so many items on average."""
    return next((limit for limit in LIMITS_OF_AUTO if limit >= 2 * mean), LIMITS_OF_AUTO[-1])


def tune(figures: Figures, data: Data, epsilon: float, row: Row) -> None:
    """Run a row with all its settings, or on large sets with those around the best."""
    first = row.mechanisms[0]
    if first.name == "greedy_frequency":
        # It needs no limit; users with more items keep those that they prefer.
        figures.measure(data, epsilon, LIMITS[-1], first)
    elif len(data.table) < SEARCHED:
        for mechanism, limit in product(row.mechanisms, LIMITS):
            figures.measure(data, epsilon, limit, mechanism)
    else:
        limit = climb(figures, data, epsilon, first)
        for mechanism in row.mechanisms[1:]:
            figures.measure(data, epsilon, limit, mechanism)


def climb(figures: Figures, data: Data, epsilon: float, mechanism: Any) -> int:
    """Search the limit in both directions, as long as more is released."""

    def size(place: int) -> float:
        figures.measure(data, epsilon, LIMITS[place], mechanism)
        return figures.mean_of(data.name, epsilon, LIMITS[place], mechanism) or 0.0

    best = LIMITS.index(100)
    for step in (1, -1):
        while 0 <= best + step < len(LIMITS) and size(best + step) > size(best):
            best += step
    return LIMITS[best]


def best(figures: Figures, data: str, epsilon: float, row: Row) -> tuple[float, str] | None:
    """The most items of a row, and the setting."""
    found = [
        (size, setting(mechanism, limit))
        for mechanism, limit in product(row.mechanisms, LIMITS)
        if (size := figures.mean_of(data, epsilon, limit, mechanism)) is not None
    ]
    return max(found, default=None)


def setting(mechanism: Any, limit: int) -> str:
    alpha = getattr(mechanism, "alpha", None) if mechanism.name.startswith("policy") else None
    return f"limit {limit:,}" + (f", alpha {alpha:g}" if alpha else "")


def names(figures: Figures) -> list[str]:
    """The data sets: those that were held out first."""
    found = dict.fromkeys(cell.data for cell in figures.found)
    return sorted(found, key=lambda name: (not name.startswith(HELD_OUT), name))


@dataclass(frozen=True)
class Case:
    """One data set and guarantee: items and settings of the best, and of "auto"."""

    data: str
    epsilon: float
    noise: tuple[float, str]
    curve: tuple[float, str]
    own: tuple[float, str]
    auto: tuple[float, str]
    bound: float
    order: float
    rates: float

    @property
    def ratios(self) -> tuple[float, ...]:
        items = self.auto[0]
        others = (self.noise[0], self.curve[0], self.own[0], self.rates, self.bound)
        return tuple(items / other for other in others)


def cases(figures: Figures) -> list[Case]:
    """What was measured for each data set and guarantee, if nothing is missing."""
    found = []
    for data, epsilon in product(names(figures), EPSILONS):
        sizes = {row: one for row in rows() if (one := best(figures, data, epsilon, row))}
        bound = figures.found.get(Cell(data, epsilon, 0, UPPER_BOUND))
        if not bound:
            continue
        limit = enough(int(bound["rows"]) / int(bound["users"]))
        taken = figures.mean_of(data, epsilon, limit, auto.chosen(epsilon, limit))
        order = figures.mean(Cell(data, epsilon, LIMITS[-1], TRUE_ORDER))
        rates = figures.mean(rates_cell(data, epsilon, limit))
        tops = [top(sizes, groups) for groups in ({"noise"}, {"noise", "curve"}, {"", "noise", "curve"})]
        if taken and order and rates and all(tops):
            by_auto = (taken, f"limit {limit}")
            found.append(Case(data, epsilon, *tops, by_auto, float(bound["items"]), order, rates))
    return found


def comparison(figures: Figures) -> str:
    """One line for each data set and guarantee."""
    head = (
        "data",
        "ε",
        "published",
        "with curves",
        "best of ours",
        "auto",
        "true order",
        "true rates",
        "bound",
    )
    lines = []
    for case in cases(figures):
        shown = [f"{size:,.0f} ({how})" for size, how in (case.noise, case.curve, case.own, case.auto)]
        limits = [f"{size:,.0f}" for size in (case.order, case.rates, case.bound)]
        lines.append((case.data, f"{case.epsilon:g}", *shown, *limits))
    return tables.markdown(head, lines)


def ratios(figures: Figures) -> str:
    """The items of "auto" over those of others: median and range over the data sets."""
    head = (
        "data sets",
        "ε",
        "to published",
        "to published with curves",
        "to the best of ours",
        "to true rates",
        "to the bound",
    )
    lines = []
    for (name, held_out), epsilon in product((("held out", True), ("development", False)), EPSILONS):
        every = [
            case.ratios
            for case in cases(figures)
            if case.epsilon == epsilon and case.data.startswith(HELD_OUT) == held_out
        ]
        if every:
            lines.append((name, f"{epsilon:g}", *map(spread, zip(*every, strict=True))))
    return tables.markdown(head, lines)


def spread(values: tuple[float, ...]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} - {max(values):.2f})"


def long_table(figures: Figures) -> str:
    """The items of every mechanism with its best limit, at one guarantee; of sets that were tuned on."""
    found = [data for data in names(figures) if Cell(data, MIDDLE, 0, UPPER_BOUND) in figures.found]
    lines = []
    for row in rows():
        sizes = [best(figures, data, MIDDLE, row) for data in found]
        if any(sizes):
            lines.append((row.name, *(f"{size[0]:,.0f}" if size else "-" for size in sizes)))
    return tables.markdown(("mechanism", *found), lines)


def filled(page: str, text: str) -> str:
    """Put the table of ratios after its mark, in place of the table that is there."""
    page, times = re.subn(rf"({MARK}\n\n)(\|.*\n)*", lambda at: at[1] + text, page)
    if times != 1:
        raise SystemExit(f"the page must have the mark {MARK} once, found {times}")
    return page


def top(found: dict[Row, tuple[float, str]], groups: set[str]) -> tuple[float, str] | None:
    """The most items of the rows of some groups, and their name and setting."""
    sizes = [(size, f"{row.name}, {how}") for row, (size, how) in found.items() if row.published in groups]
    return max(sizes, default=None)


if __name__ == "__main__":
    main()
