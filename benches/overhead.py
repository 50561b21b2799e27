"""What a call costs when there is next to no data, and what the import costs.

    python -m benches.overhead

Medians after a warm-up. A call on three rows includes validation, calibration of the mechanism, a fresh key
and the building of the result.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from benches import tables
from benches.parameters import DELTA, MAX_ITEMS_PER_USER, RHO

if TYPE_CHECKING:
    from collections.abc import Callable

PAIRS = [(1, "ant"), (2, "ant"), (3, "bee")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=300)
    args = parser.parse_args()
    lines = [[name, *_figures(call, args.calls)] for name, call in _calls().items()]
    print(tables.markdown(("call on three rows", "median ms", "fastest ms", "slowest ms"), lines))
    empty = _process("pass")
    for code in ("import dpsel", "from dpsel import select_partitions"):
        above = f"{(_process(code) - empty) * 1e3:.0f} ms above an empty process of {empty * 1e3:.0f} ms"
        print(f"{code}: {above} (medians of 9)")


def _calls() -> dict[str, Callable[[], object]]:
    """Each kind of source under each mechanism."""
    import dpsel

    sources: dict[str, tuple[object, str, str]] = {"pairs": (PAIRS, "user", "item")}
    try:
        import polars as pl

        sources["polars"] = (pl.DataFrame(PAIRS, schema=["user", "item"], orient="row"), "user", "item")
    except ImportError:
        print("polars is not installed: its row is left out", file=sys.stderr)
    mechanisms = {
        "WeightedGaussian": dpsel.WeightedGaussian(),
        "Sips(rounds=3)": dpsel.Sips(rounds=3, ratio=1 / 3),
        "Steered": dpsel.Steered(),
        "auto": "auto",
    }
    budgets = {
        "ZCDP": dpsel.ZCDP(rho=RHO, delta=DELTA),
        "ApproxDP": dpsel.ApproxDP(epsilon=1.765, delta=4.96e-5),
    }

    def call(source: tuple[object, str, str], mechanism: object, budget: object) -> Callable[[], object]:
        rows, user, item = source
        # Pairs have no column names, so user= and item= are not given for them.
        columns = {} if rows is PAIRS else {"user": user, "item": item}
        bound = {"max_items_per_user": MAX_ITEMS_PER_USER, "mechanism": mechanism, "privacy": budget}
        return lambda: dpsel.select_partitions(rows, **columns, **bound)

    return {
        f"{source}, {mechanism}, {budget}": call(sources[source], mechanisms[mechanism], budgets[budget])
        for source in sources
        for mechanism in mechanisms
        for budget in budgets
    }


def _figures(call: Callable[[], object], calls: int) -> list[str]:
    for _ in range(20):
        call()
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return [f"{figure:.3f}" for figure in (statistics.median(times), min(times), max(times))]


def _process(code: str) -> float:
    """Median seconds of a Python process that runs this."""
    times = []
    for _ in range(9):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    main()
