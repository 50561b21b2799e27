"""DP-SIPS in polars expressions: distinct rows, hashes as priorities, group-by for the weights, anti-join between rounds."""

from __future__ import annotations

import os

from benches.parameters import MAX_ITEMS_PER_USER
from benches.peers import _harness
from benches.peers._rounds import sips_rounds


def prepare(args):
    os.environ["POLARS_MAX_THREADS"] = str(args.threads)
    import numpy  # noqa: F401
    import polars  # noqa: F401


def job(path: str, _prepared: None) -> int:
    import numpy as np
    import polars as pl

    rows = pl.scan_parquet(path).select("user", "item").unique().collect(engine="streaming")
    generator = np.random.default_rng()
    released = []
    for sigma, threshold in sips_rounds():
        weights = weigh(rows)
        noise = pl.Series(generator.normal(0, sigma, weights.height))
        found = weights.filter(pl.col("weight") + noise >= threshold).select("item")
        released.append(found)
        rows = rows.join(found, on="item", how="anti")
    return pl.concat(released).height


def weigh(rows):
    """The weight of each item after bounding every user."""
    import polars as pl

    rows = rows.lazy().with_columns(degree=pl.len().over("user"))
    heavy = rows.filter(pl.col("degree") > MAX_ITEMS_PER_USER)
    light = rows.filter(pl.col("degree") <= MAX_ITEMS_PER_USER)
    priority = pl.struct("user", "item").hash(seed=1)
    kept = (
        heavy.with_columns(rank=priority.rank("ordinal").over("user"))
        .filter(pl.col("rank") <= MAX_ITEMS_PER_USER)
        .select("user", "item", degree=pl.lit(MAX_ITEMS_PER_USER, pl.UInt32))
    )
    bounded = pl.concat([light, kept]).with_columns(weight=pl.col("degree").sqrt().pow(-1))
    return bounded.group_by("item").agg(pl.col("weight").sum()).collect()


if __name__ == "__main__":
    _harness.run(job, prepare)
