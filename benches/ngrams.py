"""How many more n-grams come out by lines of descent than from lists of n-grams, which have no lines?

    python -m benches.ngrams                                       # measures what is missing
    python -m benches.ngrams --markdown docs/algorithms/descent.md # puts the table into the page

Texts are those of `benches/texts.py`: up to 4,000 users, evenly spread, with their first 2,000 words.
"""

from __future__ import annotations

import argparse
import statistics
from functools import partial
from itertools import accumulate, product
from pathlib import Path
from typing import Any

from benches import dpne, phrases, tables, texts
from benches.kept import Kept

FIGURES = Path(__file__).resolve().parent / "ngrams.csv"
MARK = "<!-- benches.ngrams -->"
MOST, MOST_USERS, MOST_WORDS = (3, 5), 4_000, 2_000
#: Epsilon and limit of each column, and the texts of each line.
COLUMNS = ((1.765, 100), (1.765, 300), (1.765, 1_000), (1.0, 300), (6.0, 300))
TEXTS = texts.of_machine() | {"comments of Rust files": texts.comments}
METHODS = ("lines", "flat")


def kept() -> Kept:
    """The file: n-grams by length of each release."""
    return Kept(FIGURES, ("texts", "users", "epsilon", "most", "limit", "method"), ("by_length",))


def release(**options: Any) -> tuple[str]:
    """The n-grams by length of a few releases."""
    return phrases.ours(**options)[:1]


def measure(figures: Kept, name: str) -> None:
    """Run what is missing on one set."""
    users = texts.thinned(texts.sentences(TEXTS[name](), MOST_WORDS), MOST_USERS)
    for most in MOST:
        flat, sizes = phrases.grams(dpne.Texts.of(users), most)
        of_number = partial(phrases.words_of, list(accumulate(sizes)))
        lines: dict[str, Any] = {"table": phrases.lines(users), "length": lambda item: item.count(" ") + 1}
        options = (lines | {"ngrams": (1, most)}, {"table": flat, "length": of_number})
        for (epsilon, limit), (method, given) in product(COLUMNS, zip(METHODS, options, strict=True)):
            case = (name, len(users), f"{epsilon:g}", most, limit, method)
            figures.once(case, partial(release, epsilon=epsilon, most=most, limit=limit, **given))


def gains(figures: Kept, most: int) -> dict[tuple[str, float, int], float]:
    """For texts, epsilon and limit, the n-grams with lines of descent over those without."""
    found = {}
    for *case, method in figures.found:
        if case[3] == str(most) and method == METHODS[1]:
            lines, flat = (sum(phrases.lengths(figures, (*case, at))) for at in METHODS)
            found[case[0], float(case[2]), int(case[4])] = lines / flat
    return found


def markdown(figures: Kept) -> str:
    """A line for texts and words, and lines of geometric means."""
    users, rows = {case[0]: f"{case[0]} ({int(case[1]):,})" for case in figures.found}, []
    for most in MOST:
        found = gains(figures, most)
        lines = {users[name]: [found[name, *column] for column in COLUMNS] for name in users}
        lines["geometric mean"] = [*map(statistics.geometric_mean, zip(*lines.values(), strict=True))]
        for name, line in lines.items():
            rows.append((name, f"1 to {most}", *(f"{100 * times - 100:+.0f} %" for times in line)))
    head = (f"$L={limit}$, $\\varepsilon={epsilon:g}$" for epsilon, limit in COLUMNS)
    return tables.markdown(("texts (users)", "words", *head), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--markdown", type=Path, help="put the table after the mark of this page")
    args, figures = parser.parse_args(), kept()
    if args.markdown:
        tables.fill(args.markdown, MARK, markdown(figures))
        return
    for name in TEXTS:
        measure(figures, name)
    print(markdown(figures))


if __name__ == "__main__":
    main()
