"""Draws the pictures of the pages Learn and Understand from `docs/images/learn.json`, of keys and of speed.

python website/pictures.py            draws them from the numbers in the file
python website/pictures.py --write    computes the numbers again, then draws
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import figures
import matplotlib as mpl
from matplotlib.figure import Figure

FOLDER = figures.FILE.parent
#: Inches. Wider pictures have small text on a phone.
WIDTH = 5.4
BLUE, ORANGE, GREEN, GREY = "#3f51b5", "#e65100", "#2e7d32", "#9e9e9e"


def main(words: list[str]) -> None:
    """Compute if asked, and draw."""
    if "--write" in words:
        figures.FILE.write_text(json.dumps(figures.found()) + "\n", encoding="utf-8")
    numbers = json.loads(figures.FILE.read_text(encoding="utf-8"))
    mpl.rcParams |= {
        "svg.hashsalt": "dpsel", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11,
        "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    }  # fmt: skip
    saved("keys", keys(figures.keys()))
    saved("speed", speed(figures.speed()))
    saved("selection-1-cliff", cliff(numbers["keep"]))
    saved("selection-2-weights", weights())
    saved("selection-3-noise", noise(numbers["noise"]))
    saved("choose-epsilon", epsilon(numbers["needed"]))
    saved("choose-delta", delta(numbers["needed"]))
    saved("choose-limit", limit(numbers["needed"]))
    saved("steered-1-rounds", rounds(numbers["steered"]))
    saved("steered-2-paths", paths(numbers["steered"]))
    saved("steered-3-weights", moved(numbers["steered"]))


def saved(name: str, figure: Figure) -> None:
    """Write a picture without a date, so that the same numbers give the same file."""
    figure.savefig(FOLDER / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})


def axes_of(panels: int = 1, height: float = 3.6, **shared: bool) -> tuple[Figure, list[Any]]:
    """A figure with axes one above the other, of this height: on a phone its text can be read."""
    figure = Figure(figsize=(WIDTH, height * panels), layout="constrained")
    return figure, list(figure.subplots(panels, 1, squeeze=False, **shared).flat)


def keys(found: dict[str, dict[str, tuple[int, int]]]) -> Figure:
    """Keys of each library: one panel above the other, so that a phone shows them."""
    figure = Figure(figsize=(5.2, 7.2), layout="constrained")
    for axes, (title, libraries) in zip(figure.subplots(2, 1), found.items(), strict=True):
        for place, (name, counts) in enumerate(libraries.items()):
            dark, light = (BLUE, "#9fa8da") if name == "dpsel" else ("#616161", "#bdbdbd")
            for shift, count, color in zip((-0.2, 0.2), counts, (dark, light), strict=True):
                bar = axes.barh(place + shift, count, height=0.38, color=color)
                axes.bar_label(bar, [f"{count:,}"], padding=4, fontsize=11)
        axes.set_yticks(range(len(libraries)), list(libraries))
        axes.invert_yaxis()
        axes.set(title=title, xticks=[])
        axes.margins(x=0.16)
        axes.grid(visible=False)
        axes.spines["bottom"].set_visible(False)
    figure.supxlabel("keys released: dark with a limit of 20, light with the best limit", fontsize=11)
    return figure


def speed(found: dict[str, dict[str, float]]) -> Figure:
    """Seconds of each program, by the kind of rows."""
    figure, (axes,) = axes_of(1, 5.6)
    programs = list(next(iter(found.values())))
    for place, (program, color) in enumerate(zip(programs, (BLUE, GREEN, ORANGE, GREY), strict=True)):
        bars = axes.barh(
            [kind + (place - 1.5) * 0.2 for kind in range(len(found))],
            [seconds[program] for seconds in found.values()],
            height=0.2,
            color=color,
            label="polars, not private" if program == "polars" else program,
        )
        axes.bar_label(bars, fmt="{:.2f}", fontsize=9, padding=3)
    axes.set_yticks(range(len(found)), [kind.replace(", ", "\n") for kind in found])
    axes.set_xlabel("seconds")
    axes.margins(x=0.12)
    axes.invert_yaxis()
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    return figure


def cliff(keep: dict[str, Any]) -> Figure:
    """An exact threshold beside a private one."""
    figure, (exact, private) = axes_of(2)
    at = 50
    users = keep["users"]
    exact.step([0, at, 200], [0, 1, 1], where="post", color=ORANGE)
    exact.plot([at - 1, at], [0, 1], "o", color=ORANGE)
    exact.annotate("one user decides", (at, 0.5), (at + 25, 0.45), arrowprops={"arrowstyle": "->"})
    exact.set_title("HAVING COUNT(*) >= 50")
    private.plot(users, keep["probability"], color=BLUE)
    private.set_title("dpsel, ε = 1, δ = 1e-8, limit 10")
    near = min(range(len(users)), key=lambda n: abs(keep["probability"][n] - 0.5))
    private.plot(users[near - 1 : near + 1], keep["probability"][near - 1 : near + 1], "o", color=BLUE)
    private.annotate(
        "one user\nchanges little",
        (users[near], keep["probability"][near]),
        (users[near] - 95, 0.6),
        arrowprops={"arrowstyle": "->"},
    )
    for axes in (exact, private):
        axes.set_xlabel("users who hold the item")
        axes.set_ylabel("probability of release")
        axes.set_ylim(-0.03, 1.05)
        axes.set_xlim(0, 200)
    return figure


def weights() -> Figure:
    """What users of 1, 4 and 16 items give to each of them."""
    figure, all_axes = axes_of(3, 1.9)
    for axes, items in zip(all_axes, (1, 4, 16), strict=True):
        axes.bar(range(1, items + 1), [1 / math.sqrt(items)] * items, color=BLUE, width=0.7)
        axes.set(ylim=(0, 1.1), xlim=(0, 17), xticks=[], title=f"{items} item{'s' * (items > 1)}")
        axes.text(8.5, 1.0, f"each gets {1 / math.sqrt(items):g}", ha="center")
    figure.supylabel("weight from one user", fontsize=11)
    return figure


def noise(found: dict[str, float]) -> Figure:
    """Noisy weights of items of few and of many users, with the threshold."""
    figure, (axes,) = axes_of()
    scale, threshold = found["scale"], found["threshold"]
    half = found["users_for_50"]
    for users, color in ((1, ORANGE), (half // 2, GREY), (half, GREEN), (round(half * 1.6), BLUE)):
        mean = users / math.sqrt(figures.LIMIT)
        xs = [mean + scale * step / 40 for step in range(-160, 161)]
        ys = [math.exp(-(((x - mean) / scale) ** 2) / 2) for x in xs]
        axes.plot(xs, ys, color=color, label=f"{users} user{'s' * (users > 1)}")
        axes.fill_between(xs, ys, where=[x >= threshold for x in xs], color=color, alpha=0.25)
    axes.axvline(threshold, color="black", linewidth=1)
    axes.text(threshold, 1.08, "threshold ", ha="right")
    axes.text(threshold, 1.08, " released", ha="left")
    axes.set(xlabel="noisy weight", ylim=(0, 1.2), yticks=[])
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    return figure


def epsilon(needed: dict[str, list[int]]) -> Figure:
    """What epsilon means, and what it costs."""
    figure, (belief, cost) = axes_of(2)
    before = [n / 100 for n in range(101)]
    for each, color in zip((0.5, 1, 2, 4), (GREEN, BLUE, GREY, ORANGE), strict=True):
        grown = math.exp(each)
        belief.plot(
            before, [grown * p / (1 - p + grown * p) for p in before], color=color, label=f"ε = {each:g}"
        )
    belief.plot(before, before, ":", color="black", linewidth=1)
    belief.set(xlabel="suspicion before", ylabel="suspicion after, at most")
    belief.legend(frameon=False)
    cost.plot(figures.EPSILONS, needed["epsilon"], "o-", color=BLUE)
    cost.set(xscale="log", yscale="log", xlabel="ε (δ = 1e-8, limit 10)", ylabel="users for 95 %")
    labelled(cost, figures.EPSILONS, needed["epsilon"])
    return figure


def delta(needed: dict[str, list[int]]) -> Figure:
    """A smaller delta is cheap."""
    figure, (axes,) = axes_of(1, 3.2)
    axes.plot(figures.DELTAS, needed["delta"], "o-", color=BLUE)
    axes.set(xscale="log", xlabel="δ (ε = 1, limit 10)", ylabel="users for 95 %", ylim=(0, None))
    labelled(axes, figures.DELTAS, needed["delta"])
    return figure


def limit(needed: dict[str, list[int]]) -> Figure:
    """What a larger limit costs, and whom."""
    figure, (axes,) = axes_of()
    axes.plot(figures.LIMITS, needed["limit_counts"], "o-", color=ORANGE, label="CountGaussian")
    axes.plot(
        figures.LIMITS, needed["limit_full"], "o-", color=BLUE, label="Steered, users who fill the limit"
    )
    axes.plot(figures.LIMITS, needed["limit_ten"], "o-", color=GREEN, label="Steered, users of 10 items")
    axes.set(
        xscale="log", yscale="log", xlabel="max_items_per_user", ylabel="users for 95 % (ε = 1, δ = 1e-8)"
    )
    axes.legend(frameon=False)
    return figure


def labelled(axes: Any, xs: tuple[float, ...], ys: list[int]) -> None:
    """The values beside the points."""
    axes.set_xticks(xs, [f"{x:g}" for x in xs])
    axes.minorticks_off()
    for x, y in zip(xs, ys, strict=True):
        axes.annotate(f"{y:,}", (x, y), (4, 5), textcoords="offset points", fontsize=9)


def rounds(run: dict[str, Any]) -> Figure:
    """Scores of all words after four of the rounds."""
    figure, four = axes_of(4, 2.4, sharex=True, sharey=True)
    last = len(run["path"])
    for axes, number in zip(four, (2, 9, 19, last), strict=True):
        out = [word for word, scores in run["scores"].items() if len(scores) <= number]
        alive = [word for word in run["scores"] if word not in out and word in run["lines"]]
        lines, scores = run["lines"], run["scores"]
        held = [word for word in out if word in lines]
        axes.scatter([lines[w] for w in held], [scores[w][-1] for w in held], s=8, color=GREY, alpha=0.5)
        axes.scatter([lines[w] for w in alive], [scores[w][number] for w in alive], s=14, color=BLUE)
        axes.axhline(run["threshold"], color="black", linewidth=1)
        if number < last:
            axes.axhline(run["futility"][number], color=ORANGE, linestyle="--", linewidth=1)
        axes.set_xscale("log")
        axes.set_title(f"after round {number + 1}: {len(alive)} words left", fontsize=11)
    figure.supxlabel("lines that have the word", fontsize=11)
    figure.supylabel("score", fontsize=11)
    return figure


def paths(run: dict[str, Any]) -> Figure:
    """Scores of some words over all rounds."""
    figure, (axes,) = axes_of(1, 4.6)
    for word in chosen(run):
        scores = run["scores"][word]
        axes.plot(range(1, len(scores) + 1), scores, color=BLUE if word in run["released"] else GREY)
        axes.text(len(scores) + 0.3, scores[-1], f"{word} ({run['lines'][word]})", fontsize=9, va="center")
    steps = range(1, len(run["path"]) + 1)
    axes.plot(steps, run["futility"], "--", color=ORANGE, label="futility bound")
    axes.plot(steps, run["path"], ":", color="black", label="expected path")
    axes.axhline(run["threshold"], color="black", linewidth=1, label="threshold")
    axes.set(xlabel="round", ylabel="score", xlim=(1, len(run["path"]) + 6))
    axes.legend(frameon=False, loc="upper left")
    return figure


def chosen(run: dict[str, Any]) -> list[str]:
    """A few words to follow: frequent ones, and the most frequent of those that leave in different rounds."""
    leave = {len(run["scores"][word]): word for word in sorted(run["lines"], key=run["lines"].get)}
    last = len(run["path"]) + 1
    near = [word for word in run["lines"] if len(run["scores"][word]) == last and word not in run["released"]]
    gone = [leave[number] for number in range(5, last, 5) if number in leave]
    return ["the", "of", "in", "which", *gone, *near[:1]]


def moved(run: dict[str, Any]) -> Figure:
    """Importance and weight of some words over all rounds."""
    figure, (importance, weight) = axes_of(2)
    for word, color in zip(("the", "when", "which", "love"), (BLUE, GREEN, ORANGE, GREY), strict=True):
        steps = range(1, len(run["importances"][word]) + 1)
        importance.plot(steps, run["importances"][word], color=color, label=f"{word} ({run['lines'][word]})")
        first = run["weights"][word][0]
        weight.plot(steps, [each / first for each in run["weights"][word]], color=color)
    importance.set(xlabel="round", ylabel="importance, of 256")
    weight.set(xlabel="round", ylabel="weight, of that in round 1")
    importance.legend(frameon=False)
    return figure


if __name__ == "__main__":
    main(sys.argv[1:])
