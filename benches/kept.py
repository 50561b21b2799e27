"""Figures that are kept in a CSV file: a program measures what is missing there, and prints the rest."""

from __future__ import annotations

import csv
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class Kept:
    """Lines of a file: a case, which is what was measured, and its figures.

    Args:
        path: The CSV file, which need not exist.
        case: The columns that name a case.
        figures: The other columns. Several figures, such as one for each release, have spaces between.
    """

    def __init__(self, path: Path, case: Sequence[str], figures: Sequence[str]) -> None:
        self.path, self.case, self.figures = path, tuple(case), tuple(figures)
        self.found: dict[tuple[str, ...], tuple[str, ...]] = {}
        if path.exists():
            with path.open(newline="", encoding="utf-8") as lines:
                for row in csv.DictReader(lines):
                    self.found[tuple(row[name] for name in case)] = tuple(row[name] for name in figures)

    def once(self, case: Sequence[object], measure: Callable[[], Sequence[object]]) -> tuple[str, ...]:
        """Return the figures of a case, measured and written if the file lacks them."""
        key = tuple(map(str, case))
        if key not in self.found:
            begun = time.perf_counter()
            self.found[key] = tuple(map(str, measure()))
            seconds = time.perf_counter() - begun
            print(f"{', '.join(key)}: {self.found[key]} in {seconds:.1f} s", file=sys.stderr, flush=True)
            self.write()
        return self.found[key]

    def values(self, case: Sequence[object], figure: str) -> list[float]:
        """Return one column of a case as numbers; none if it was not measured."""
        found = self.found.get(tuple(map(str, case)))
        return [float(value) for value in found[self.figures.index(figure)].split()] if found else []

    def names(self, column: str) -> list[str]:
        """Return what stands in a column of the cases, each once and in the order of the file."""
        place = self.case.index(column)
        return list(dict.fromkeys(case[place] for case in self.found))

    def write(self) -> None:
        """Write the file."""
        with self.path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow((*self.case, *self.figures))
            writer.writerows((*case, *figures) for case, figures in self.found.items())
