"""How near is "auto" to the best of our mechanisms? Items of the one over items of the other.

    python -m benches.auto path/to/folder --short imdb wiki_abstracts    # measures what is missing
    python -m benches.auto                                               # prints what was measured
    python -m benches.auto --details                                     # every data set by itself
    python -m benches.auto path/to/folder --look --epsilons 0.5 1 3      # what another look would choose

For every epsilon and limit: the geometric mean over all data sets, the worst set, what "auto" chooses, and
what wins there. Below, the bars of the cells where it looks first.

`"auto"` is run where it looks at the data first. Elsewhere its release is that of the
mechanism which it chooses.

Three columns tell how much a better rule could bring. *Best one*: the geometric mean if "auto"
took the one mechanism that is best for this epsilon and limit on average. *Left out*: the same, if that
mechanism was chosen on the other families of sets only (`git_paths` and `git_messages` are one family).
*Look*: if the best mechanism of each set were known, for two per cent of epsilon.

The second table has the geometric mean and the worst set of every mechanism that wins somewhere. The third
has `Steered` with reaches up to 10, also those that "auto" does not take, over the best mechanism.

Mechanisms come from the registry, `Steered` with reaches of 1, 2 and 3: with 3, a user contributes as many
items as to three rounds of `Sips`. With larger reaches it would contribute more than to any other one, so
they do not count as rivals. These are not run:
- release with noise, where there is a curve: the weights are the same, and less is released;
- `CountLaplace`, `CountGaussian` and `WeightedLaplace`, which have no curve and are far behind on all sets
  of `docs/accuracy.md`;
- `MatchingOr`, other than as what "auto" takes: it does what one of two others does for a little less;
- `GreedyFrequency`, which is within three per cent of `UnitGreedy` there, and counts repeated rows;
- on sets of more than three million rows: what is behind by a third on every smaller set for the same epsilon
  and limit.
"""

from __future__ import annotations

import re
import statistics
from dataclasses import fields
from itertools import product
from typing import Any

import dpsel
from benches import bars as documented
from benches import look, tables
from benches.releases import DELTAS, EPSILONS, Data, Figures, arguments, datasets
from dpsel import mechanisms
from dpsel._request._auto import resolve

LIMITS = (1, 3, 10, 30, 100, 300, 1000)
SKIPPED = {"count_laplace", "count_gaussian", "weighted_laplace", "greedy_frequency", "matching_or"}
#: What a mechanism must reach of the best on a smaller set, to be run on a set of so many rows.
WORTH_A_RUN, LARGE = 0.67, 3_000_000
#: What is left of the items if two per cent of epsilon pay for a look at the data.
AFTER_A_LOOK = 0.98
#: The reaches of `Steered` that count as rivals, and those of the third table.
REACHES, WIDER = (1, 2, 3), (1, 2, 3, 5, 10)
#: What "auto" should have of the best, in each cell where it looks first and on average.
LEAST, LEAST_MEAN = 0.95, 0.985
#: The limits of the third table.
WIDER_LIMITS = (1, 3, 10, 30)


def ours() -> list[Any]:
    """Every mechanism with its variants: a curve if there is one, each value of a flag, and each reach."""
    found = []
    for name, cls in mechanisms.selection_mechanisms().items():
        if name in SKIPPED:
            continue
        values: dict[str, tuple[Any, ...]] = {}
        for each in fields(cls):  # type: ignore[arg-type]
            if each.name == "release":
                values["release"] = ("curve",)
            elif each.name == "reach":
                values["reach"] = REACHES
            elif isinstance(each.default, bool):
                values[each.name] = (False, True)
        found += [cls(**dict(zip(values, chosen, strict=True))) for chosen in product(*values.values())]
    return found


def candidates(epsilon: float, limit: int) -> list[Any]:
    """The mechanisms that take this limit, and what "auto" takes if that looks at the data first."""
    auto = chosen(epsilon, limit)
    rivals = [each for each in ours() if limit == 1 or each.name != "one_item"]
    return rivals if auto in rivals else [*rivals, auto]


def chosen(epsilon: float, limit: int) -> Any:
    """What "auto" takes."""
    privacy = dpsel.ApproxDP(epsilon=epsilon, delta=DELTAS[epsilon])
    return resolve("auto", privacy, limit)[0]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--limits", type=int, nargs="+", default=LIMITS)
    parser.add_argument("--details", action="store_true", help="also print every data set by itself")
    parser.add_argument("--auto-alone", action="store_true", help="measure nothing but what auto takes")
    parser.add_argument("--bars", action="store_true", help="the documented limit alone, of every set")
    parser.add_argument("--look", action="store_true", help="measure a look at filled slots alone")
    args = parser.parse_args()
    if args.bars:
        figures = Figures(documented.FIGURES, args.threads, args.most_keys)
        sets = datasets(args.paths, args.short, args.most_rows, args.first)
        documented.measure(figures, sets, DELTAS if args.epsilons is EPSILONS else args.epsilons)
        print(documented.report(figures))
        return
    figures = Figures(args.figures, args.threads, args.most_keys)
    if args.look:
        print(
            look.table(figures, datasets(args.paths, args.short, args.most_rows, args.first), args.epsilons)
        )
        return
    for data in datasets(args.paths, args.short, args.most_rows, args.first):
        for limit, epsilon in product(args.limits, args.epsilons):
            if args.auto_alone:
                figures.measure(data, epsilon, limit, chosen(epsilon, limit))
                continue
            measure(figures, data, epsilon, limit)
            for reach in WIDER if limit in WIDER_LIMITS else ():
                figures.measure(data, epsilon, limit, dpsel.Steered(reach=reach))
    print(summary(figures, args.epsilons, args.limits))
    print(bars(figures, args.epsilons, args.limits))
    print(averages(figures, args.epsilons, args.limits))
    print(wider(figures, args.epsilons))
    if args.details:
        print(details(figures, args.epsilons, args.limits))


def measure(figures: Figures, data: Data, epsilon: float, limit: int) -> None:
    """Run all candidates on one data set, but those that are not worth it."""
    seen = scores(figures, epsilon, limit) if len(data.table) > LARGE else {}
    others = [one for name, one in seen.items() if name != data.name]
    auto = repr(chosen(epsilon, limit))
    for mechanism in candidates(epsilon, limit):
        name = repr(mechanism)
        ratios = [one[name] / max(one.values()) for one in others if name in one]
        if name == auto or not ratios or max(ratios) >= WORTH_A_RUN:
            figures.measure(data, epsilon, limit, mechanism)


def scores(figures: Figures, epsilon: float, limit: int) -> dict[str, dict[str, float]]:
    """The mean sizes of the candidates by data set and mechanism."""
    rivals = candidates(epsilon, limit)
    found: dict[str, dict[str, float]] = {}
    for data in dict.fromkeys(cell.data for cell in figures.found):
        cells = {repr(each): figures.mean_of(data, epsilon, limit, each) for each in rivals}
        if sizes := {name: size for name, size in cells.items() if size is not None}:
            found[data] = sizes
    return found


def summary(figures: Figures, epsilons: list[float], limits: list[int]) -> str:
    head = ("ε", "limit", "auto takes", "mean", "worst", "on", "wins", "best one", "left out", "look")
    lines = []
    for epsilon, limit in product(epsilons, limits):
        found = {name: one for name, one in scores(figures, epsilon, limit).items() if max(one.values()) > 0}
        auto = repr(chosen(epsilon, limit))
        ratios = {name: share(one, auto) for name, one in found.items() if auto in one}
        if not ratios:
            continue
        worst = min(ratios, key=lambda name: ratios[name])
        wins: dict[str, int] = {}
        for one in found.values():
            best = max(one, key=lambda name: one[name])
            wins[best] = wins.get(best, 0) + 1
        winners = ", ".join(
            f"{name} {count}" for name, count in sorted(wins.items(), key=lambda win: -win[1])
        )
        least = min(len(found), 2)
        line = (
            f"{epsilon:g}",
            f"{limit:,}",
            auto,
            mean(ratios.values()),
            f"{ratios[worst]:.3f}",
            worst,
            winners,
        )
        estimates = (best_one(found), left_out(found) if least > 1 else "-", f"{AFTER_A_LOOK:.2f}")
        lines.append((*line, *estimates))
    return tables.markdown(head, lines)


def bars(figures: Figures, epsilons: list[float], limits: list[int]) -> str:
    """Every cell at which "auto" looks first, against what it has to reach."""
    found: dict[tuple[str, float, int], float] = {}
    for epsilon, limit in product(epsilons, limits):
        if isinstance(auto := chosen(epsilon, limit), dpsel.MatchingOr):
            for data, one in scores(figures, epsilon, limit).items():
                if repr(auto) in one:
                    found[data, epsilon, limit] = share(one, repr(auto))
    if not found:
        return "nothing was measured where auto looks first"
    worst = min(found, key=lambda cell: found[cell])
    below = sum(ratio < LEAST for ratio in found.values())
    data, epsilon, limit = worst
    return (
        f"{len(found)} cells where auto looks first: geometric mean {mean(found.values())} "
        f"(wanted: {LEAST_MEAN}); below {LEAST}: {below}; "
        f"worst {found[worst]:.3f} on {data} at epsilon {epsilon:g} and limit {limit}"
    )


def averages(figures: Figures, epsilons: list[float], limits: list[int]) -> str:
    """Every mechanism that wins at least two cells: geometric mean and worst of its ratios to the best."""
    cells = {each: scores(figures, *each) for each in product(epsilons, limits)}
    wins = [max(one, key=lambda name: one[name]) for found in cells.values() for one in found.values()]
    shown = [name for name in dict.fromkeys(map(repr, ours())) if wins.count(name) > 1]
    lines = []
    for (epsilon, limit), found in cells.items():
        line = [f"{epsilon:g}", f"{limit:,}", str(len(found))]
        for name in shown:
            ratios = [share(one, name) for one in found.values()]
            known = any(name in one for one in found.values())
            line.append(f"{mean(ratios)} ({min(ratios):.2f})" if known else "-")
        lines.append(line)
    return tables.markdown(("ε", "limit", "sets", *shown), lines)


def wider(figures: Figures, epsilons: list[float]) -> str:
    """`Steered` with each reach, over the best at the limit."""
    lines = []
    for epsilon, limit in product(epsilons, WIDER_LIMITS):
        found, line = scores(figures, epsilon, limit), [f"{epsilon:g}", f"{limit:,}"]
        for reach in WIDER:
            wide = dpsel.Steered(reach=reach)
            sizes = [
                (figures.mean_of(data, epsilon, limit, wide), max(one.values()))
                for data, one in found.items()
            ]
            ratios = [size / best for size, best in sizes if size is not None]
            line.append(f"{mean(ratios)} ({min(ratios):.2f})" if ratios else "-")
        lines.append(line)
    return tables.markdown(("ε", "limit", *(f"reach {reach}" for reach in WIDER)), lines)


def mean(ratios: Any) -> str:
    return f"{statistics.geometric_mean(ratios):.3f}"


def share(one: dict[str, float], name: str) -> float:
    """Items of a mechanism over those of the best; what was not worth a run counts as one third behind."""
    return max(one.get(name, WORTH_A_RUN * max(one.values())), 0.5) / max(one.values())


def average(found: dict[str, dict[str, float]], name: str) -> float:
    return statistics.geometric_mean(share(one, name) for one in found.values())


def best_one(found: dict[str, dict[str, float]]) -> str:
    """The mechanism that is best on average, and its geometric mean."""
    best = max(found_names(found), key=lambda name: average(found, name))
    return f"{best} {average(found, best):.3f}"


def left_out(found: dict[str, dict[str, float]]) -> str:
    """The geometric mean if each family of sets gets what is best on the others."""
    ratios = []
    for data, one in found.items():
        others = {other: sizes for other, sizes in found.items() if family(other) != family(data)}
        if not others:
            return "-"
        best = max(found_names(others), key=lambda name: average(others, name))
        ratios.append(share(one, best))
    return mean(ratios)


def family(data: str) -> str:
    return re.split(r"[^a-z]", data)[0]


def found_names(found: dict[str, dict[str, float]]) -> list[str]:
    return list(dict.fromkeys(name for one in found.values() for name in one))


def details(figures: Figures, epsilons: list[float], limits: list[int]) -> str:
    lines = []
    for epsilon, limit in product(epsilons, limits):
        auto = repr(chosen(epsilon, limit))
        for data, one in scores(figures, epsilon, limit).items():
            order = sorted(one, key=lambda name: -one[name])[:4]
            ratio = f"{share(one, auto):.3f}" if auto in one else "-"
            lines.append(
                (f"{epsilon:g}", f"{limit:,}", data, ratio, *(f"{name} {one[name]:,.0f}" for name in order))
            )
    head = ("ε", "limit", "data", "auto / best", "first", "second", "third", "fourth")
    return tables.markdown(head, lines)


if __name__ == "__main__":
    main()
