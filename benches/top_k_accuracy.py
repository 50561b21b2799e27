"""How far is a top-k off? The errors of every mechanism against k, as a table and a plot.

    python -m benches.top_k_accuracy shared/data/topk/*.csv --markdown errors.md --plot errors.png

Each file is CSV with columns item and count. Errors: Linf, the largest shortfall of a place against the true
sorted counts; L1, the sum of the absolute differences; and relative, the true count of place k over that of
the worst item returned, less 1. The medians and quartiles of the trials. For sets the items are
put in order of their true counts first.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

from benches import tables

TRIALS = 50


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10, 25, 50, 75, 100, 150, 200])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    found = {file.stem: curves(read(file), args) for file in args.files}
    table = tables.markdown(
        ("data", "k", "mechanism", "Linf", "L1", "relative"),
        [
            [data, str(k), name, *(spread(errors[:, column]) for column in range(3))]
            for data, each in found.items()
            for (k, name), errors in each.items()
        ],
    )
    if args.markdown:
        args.markdown.write_text(table)
    if args.plot:
        draw(found, args)
    print(table)


def mechanisms(epsilon: float, delta: float) -> dict[str, tuple[object, object]]:
    import dpsel

    pure, approx = dpsel.PureDP(epsilon=epsilon), dpsel.ApproxDP(epsilon=epsilon, delta=delta)
    return {
        "Joint": (dpsel.Joint(), pure),
        "JointSet": (dpsel.JointSet(), pure),
        "PNF-Peel": (dpsel.PermuteFlipPeel(), pure),
        "CDP-Peel": (dpsel.GumbelPeel(), approx),
        "Laplace": (dpsel.LaplaceTopK(), pure),
        "Gamma": (dpsel.Gamma(), pure),
    }


def read(file: Path) -> np.ndarray:
    with file.open(newline="", encoding="utf-8") as lines:
        return np.array([int(row["count"]) for row in csv.DictReader(lines)], dtype=np.int64)


def curves(counts: np.ndarray, args: argparse.Namespace) -> dict[tuple[int, str], np.ndarray]:
    """Linf, L1 and relative error of every trial, for each k and mechanism."""
    import dpsel

    best = np.sort(counts)[::-1]
    found = {}
    for k in (k for k in args.k if k <= len(counts)):
        for name, (mechanism, privacy) in mechanisms(args.epsilon, args.delta).items():
            trials = []
            for _ in range(args.trials):
                release = dpsel.top_k_from_counts(
                    counts, k=k, privacy=privacy, mechanism=mechanism, ordered=mechanism.ordered
                )
                got = counts[release.items]
                if not mechanism.ordered:
                    got = np.sort(got)[::-1]
                off = np.maximum(best[:k] - got, 0)
                trials.append((off.max(), np.abs(best[:k] - got).sum(), best[k - 1] / max(got.min(), 1) - 1))
            found[(k, name)] = np.array(trials, dtype=np.float64)
    return found


def spread(values: np.ndarray) -> str:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return f"{middle:,.3g} ({low:,.3g} to {high:,.3g})"


def draw(found: dict[str, dict[tuple[int, str], np.ndarray]], args: argparse.Namespace) -> None:
    """One row per data set, one column per error."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 4 * len(found)), layout="constrained")
    axes = figure.subplots(len(found), 3, squeeze=False)
    for row, (data, each) in zip(axes, found.items(), strict=True):
        for column, (ax, title) in enumerate(zip(row, ("Linf", "L1", "relative"), strict=True)):
            for name in mechanisms(args.epsilon, args.delta):
                ks = [k for k, other in each if other == name]
                quartiles = np.array([np.quantile(each[(k, name)][:, column], (0.25, 0.5, 0.75)) for k in ks])
                ax.plot(ks, quartiles[:, 1], marker=".", label=name)
                ax.fill_between(ks, quartiles[:, 0], quartiles[:, 2], alpha=0.2)
            ax.set_yscale("symlog", linthresh=0.01 if column == 2 else 1)  # noqa: PLR2004 - relative
            ax.set_title(f"{data}: {title} error")
            ax.set_xlabel("k")
            ax.grid(visible=True, alpha=0.3)
    axes[0][0].legend()
    figure.savefig(args.plot)


if __name__ == "__main__":
    main()
