"""How many n-grams of words come out, beside DPNE and beside a call that knows of no lines of descent?

    python -m benches.phrases FOLDER                      # measures what is missing, prints all
    python -m benches.phrases --markdown docs/accuracy.md # puts the short table into the page
    python -m benches.phrases FOLDER --sets held_out --most 3

The texts are docstrings of Python files, changelogs and manual pages of this machine, and commit messages of
the folder (`benches.histories`). Users give their first 400 words, and no n-gram crosses the end of a
sentence. All get the same words. DPNE is `benches/dpne.py` with a limit of 300 n-grams of each length, as in
its paper; its base of the budgets is tuned at no cost, for the most n-grams in all. dpsel keeps as many items
in all: 300 for each length. *Invented* are n-grams that nobody wrote.
"""

from __future__ import annotations

import argparse
import statistics
from bisect import bisect_right
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import dpsel
from benches import dpne, tables
from benches import texts as sources
from benches.kept import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIGURES = Path(__file__).resolve().parent / "phrases.csv"
MARK = "<!-- benches.phrases -->"
DELTAS = {1.0: 1e-6, 1.765: 4.96e-5, 6.0: 1e-6}
MOST, MOST_WORDS, LIMIT, RELEASES = (3, 5, 8), 400, 300, 2
BASES = (1.0, 1.4)
#: The rows of dpsel.
OURS = ("Steered", "Steered, flat")
#: Sets whose figures may flatter `Steered`: they had a part in its design.
DESIGN = ("design",)

#: What the page shows: epsilon and words; and how it names sets.
SHOWN = ("1.765", "5")
NAMES = {"held_out": "commit messages", "design": "commit messages, development"}

Sentences = list[list[list[str]]]


def kept() -> Kept:
    """The file: a line for each set, budget, length and method, with n-grams by length of each release."""
    return Kept(FIGURES, ("texts", "users", "epsilon", "most", "method"), ("by_length", "invented"))


def sets(folder: Path | None) -> dict[str, Callable[[], Iterator[list[str]]]]:
    """The texts of each user, for each set."""
    found = sources.of_machine()
    for file in sorted(folder.glob("*_messages.parquet")) if folder else ():
        found[file.stem.removesuffix("_messages")] = partial(sources.messages, file)
    return found


def grams(texts: dpne.Texts, most: int) -> tuple[pl.DataFrame, list[int]]:
    """The n-grams of each user as numbers, and how many different ones there are of each length."""
    current, users, items, sizes = texts.words, [texts.users], [texts.words], [int(texts.words.max()) + 1]
    for _ in range(1, most):
        following = np.append(current[1:], -1)
        at = np.flatnonzero((current >= 0) & (following >= 0) & ~texts.ends)
        found, places = np.unique(current[at] * len(current) + following[at], return_inverse=True)
        users.append(texts.users[at])
        items.append(places + sum(sizes))
        sizes.append(len(found))
        current = np.full(len(current), -1)
        current[at] = places
    return pl.DataFrame({"user": np.concatenate(users), "text": np.concatenate(items)}), sizes


def words_of(ends: list[int], gram: int) -> int:
    """How many words a numbered n-gram has, from the number behind the last of each length."""
    return bisect_right(ends, gram) + 1


def lines(users: Sentences) -> pl.DataFrame:
    """A row for each sentence."""
    rows = [(user, " ".join(words)) for user, sentences in enumerate(users) for words in sentences]
    return pl.DataFrame(rows, schema=["user", "text"], orient="row")


def ours(
    table: pl.DataFrame, length: Callable[[Any], int], epsilon: float, most: int, limit: int, **options: Any
) -> tuple[str, str]:
    """N-grams by length of each release, and that none is invented: they are all in the rows."""
    found = []
    for key in range(1, RELEASES + 1):
        release = dpsel.select_partitions(
            table,
            user="user",
            item="text",
            privacy=dpsel.ApproxDP(epsilon=epsilon, delta=DELTAS[epsilon]),
            max_items_per_user=limit,
            mechanism=dpsel.Steered(),
            insecure_test_key=bytes([key]) * 32,
            **options,
        )
        lengths = [length(item) for item in release]
        found.append("/".join(str(lengths.count(words)) for words in range(1, most + 1)))
    return " ".join(found), " ".join("0" for _ in found)


def theirs(texts: dpne.Texts, epsilon: float, most: int, base: float) -> tuple[str, str]:
    """N-grams by length of each release of DPNE, and how many of them nobody wrote."""
    settings = dpne.Settings(epsilon, DELTAS[epsilon], LIMIT, base=base)
    found, invented = [], []
    for seed in range(1, RELEASES + 1):
        levels = dpne.extract(texts, most, settings, np.random.default_rng(seed))
        found.append("/".join(str(level.released) for level in levels))
        invented.append(str(sum(level.invented for level in levels)))
    return " ".join(found), " ".join(invented)


def measure(figures: Kept, name: str, users: Sentences, epsilons: list[float], mosts: list[int]) -> None:
    """Run what is missing on one set."""
    texts, rows = dpne.Texts.of(users), lines(users)
    for most in mosts:
        flat, sizes = grams(texts, most)
        ends = list(accumulate(sizes))
        for epsilon in epsilons:
            case = (name, len(users), f"{epsilon:g}", most)
            size = (epsilon, most, LIMIT * most)
            of_lines = partial(ours, rows, lambda item: item.count(" ") + 1, *size, ngrams=(1, most))
            figures.once((*case, OURS[0]), of_lines)
            of_grams = partial(ours, flat, partial(words_of, ends), *size)
            figures.once((*case, OURS[1]), of_grams)
            for base in BASES:
                figures.once((*case, f"DPNE, base {base:g}"), partial(theirs, texts, epsilon, most, base))


def lengths(figures: Kept, case: tuple[str, ...]) -> list[float]:
    """The mean number of n-grams of each length."""
    most = int(case[3])
    releases = [list(map(int, each.split("/"))) for each in figures.found[case][0].split()]
    return [statistics.fmean(each[at] if at < len(each) else 0 for each in releases) for at in range(most)]


def best_base(figures: Kept, case: tuple[str, ...]) -> tuple[str, ...]:
    """The case of DPNE with the most n-grams in all."""
    return max(((*case, f"DPNE, base {base:g}") for base in BASES), key=lambda at: sum(lengths(figures, at)))


def cases(figures: Kept) -> list[tuple[str, ...]]:
    """Each set, budget and length that was measured with every method."""
    methods = (*OURS, *(f"DPNE, base {base:g}" for base in BASES))
    found = dict.fromkeys(case[:4] for case in figures.found)
    return [case for case in found if all((*case, method) in figures.found for method in methods)]


def every_row(figures: Kept) -> str:
    """All that was measured, by length."""
    rows = []
    for case in figures.found:
        by_length = lengths(figures, case)
        releases = [sum(map(int, each.split("/"))) for each in figures.found[case][0].split()]
        total = f"{sum(by_length):,.0f} [{min(releases):,}, {max(releases):,}]"
        invented = statistics.fmean(figures.values(case, "invented"))
        rows.append((*case, total, f"{invented:.0f}", " / ".join(f"{number:.0f}" for number in by_length)))
    return tables.markdown(
        ("texts", "users", "ε", "words", "method", "n-grams", "invented", "by length"), rows
    )


def markdown(figures: Kept) -> str:
    """The table of the page: one budget and one length, a line for each set."""
    rows = []
    for case in cases(figures):
        if case[2:] != SHOWN:
            continue
        best = best_base(figures, case)
        steered, flat, equal, by_best = (
            lengths(figures, (*case, method)) for method in (*OURS, "DPNE, base 1", best[-1])
        )
        longest = [f"{sum(each[2:]):,.0f}" for each in (steered, equal)]
        invented = f"{statistics.fmean(figures.values(best, 'invented')):.0f}"
        times = f"{sum(steered) / sum(by_best):.2f}"
        totals = [f"{sum(each):,.0f}" for each in (steered, flat, by_best)]
        rows.append((f"{NAMES.get(case[0], case[0])} ({int(case[1]):,})", *totals, times, invented, *longest))
    head = ("texts (users)", "`Steered`", "flat", "DPNE", "times", "invented", "long", "DPNE's")
    return tables.markdown(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--most", type=int, nargs="+", default=MOST)
    parser.add_argument("--epsilons", type=float, nargs="+", choices=DELTAS, default=list(DELTAS))
    parser.add_argument("--markdown", type=Path, help="put the short table after the mark of this page")
    args = parser.parse_args()
    figures, found = kept(), sets(args.folder) if args.folder else {}
    for name in found if args.sets is None else args.sets:
        measure(figures, name, sources.sentences(found[name](), MOST_WORDS), args.epsilons, args.most)
    print(every_row(figures))
    print(markdown(figures))
    if args.markdown:
        tables.fill(args.markdown, MARK, markdown(figures))


if __name__ == "__main__":
    main()
