"""What n-grams of words, of characters and of one word cost: processor time of a release, by piece.

    python -m benches.tokenizers

The texts are the shipped lines, three at a time. One thread, fastest of interleaved repeats.
"""

from __future__ import annotations

import csv
import random
import time
from typing import Any, Final

import polars as pl

import dpsel
from dpsel import demo_data

ROWS, REPEATS = 40_000, 4
KINDS: Final[dict[str, dict[str, Any]]] = {
    "words": {"ngrams": (1, 1)},
    "words and pairs": {"ngrams": (1, 2)},
    "characters, 3": {"ngrams": (3, 3), "tokenizer": "chars"},
    "sub-words, 3": {"ngrams": (3, 3), "tokenizer": "subwords"},
    "sub-words, 3 to 5": {"ngrams": (3, 5), "tokenizer": "subwords"},
}


def texts() -> list[str]:
    """Made of the shipped lines."""
    with demo_data.quotations().open(newline="", encoding="utf-8") as lines:
        shipped = [row["text"] for row in csv.DictReader(lines)]
    chosen = random.Random(1)  # noqa: S311 - texts, not noise
    return [" ".join(chosen.choices(shipped, k=3)) for _ in range(ROWS)]


def pieces(text: str, *, ngrams: tuple[int, int], tokenizer: str = "words") -> int:
    """About how many pieces a text has."""
    words, lengths = text.lower().split(), range(ngrams[0], ngrams[1] + 1)
    if tokenizer == "words":
        return sum(max(len(words) - n + 1, 0) for n in lengths)
    if tokenizer == "chars":
        return sum(max(len(text) - n + 1, 0) for n in lengths)
    sizes = [len(word) + 2 for word in words]
    return sum(max(size - n + 1, int(n == lengths[0]), 0) for size in sizes for n in lengths)


def main() -> None:
    """Print a table."""
    given = texts()
    table = pl.DataFrame({"user": range(ROWS), "text": given})
    arguments: dict[str, Any] = {
        "user": "user",
        "item": "text",
        "privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        "max_items_per_user": 50,
        "mechanism": dpsel.WeightedGaussian(),
        "threads": 1,
    }
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(REPEATS):
        for kind, options in KINDS.items():
            start = time.process_time()
            dpsel.select_partitions(table, **arguments, **options)
            seconds[kind].append(time.process_time() - start)
    print("| pieces | of a text | seconds | nanoseconds for a piece |\n|---|---:|---:|---:|")
    for kind, options in KINDS.items():
        total, least = sum(pieces(text, **options) for text in given), min(seconds[kind])
        print(f"| {kind} | {total / ROWS:.0f} | {least:.2f} | {least / total * 1e9:.0f} |")


if __name__ == "__main__":
    main()
