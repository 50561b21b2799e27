"""Read and decode both columns of the file and do nothing with them: the floor of every job."""

from __future__ import annotations

import os

from benches.peers import _harness


def prepare(args):
    os.environ["POLARS_MAX_THREADS"] = str(args.threads)
    if args.engine == "polars":
        import polars  # noqa: F401
    else:
        import pyarrow as pa
        import pyarrow.parquet  # noqa: F401

        pa.set_cpu_count(args.threads)
    return args.engine


def job(path: str, engine: str) -> int:
    if engine == "polars":
        _decode_polars(path)
    else:
        import pyarrow.parquet as pq

        for _ in pq.ParquetFile(path).iter_batches(batch_size=1 << 16, columns=["user", "item"]):
            pass
    return 0


def _decode_polars(path: str) -> None:
    """Sums, and lengths of strings, so that no statistic of the file can answer instead of the rows."""
    import polars as pl

    rows = pl.scan_parquet(path)
    text = rows.collect_schema()["item"] == pl.String
    item = pl.col("item").str.len_bytes().sum() if text else pl.col("item").sum()
    rows.select(pl.col("user").sum(), item).collect(engine="streaming")


if __name__ == "__main__":
    _harness.run(job, prepare, engine=("polars", "pyarrow"))
