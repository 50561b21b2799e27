"""What a polars user runs today: items by number of distinct users, filtered. Not private."""

from __future__ import annotations

import os

from benches.parameters import MIN_USERS
from benches.peers import _harness


def prepare(args):
    os.environ["POLARS_MAX_THREADS"] = str(args.threads)
    import polars  # noqa: F401  (the import is not part of the job)

    return args.engine


def job(path: str, engine: str) -> int:
    import polars as pl

    users = pl.col("user").n_unique().alias("users")
    popular = pl.scan_parquet(path).group_by("item").agg(users).filter(pl.col("users") >= MIN_USERS)
    return popular.collect(engine=engine).height


if __name__ == "__main__":
    _harness.run(job, prepare, engine=("streaming", "in-memory"))
