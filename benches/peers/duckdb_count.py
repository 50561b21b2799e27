"""What a DuckDB user runs today: items by number of distinct users, filtered. Not private."""

from __future__ import annotations

from benches.parameters import MIN_USERS
from benches.peers import _harness


def prepare(args):
    import duckdb
    import pyarrow  # noqa: F401  (the result is fetched as an Arrow table)

    connection = duckdb.connect()
    connection.execute(f"SET threads = {args.threads}")
    connection.execute("SET enable_progress_bar = false")
    return connection


def job(path: str, connection) -> int:
    query = 'SELECT item, count(DISTINCT "user") AS users FROM read_parquet(?) GROUP BY item HAVING users >= ?'
    return connection.sql(query, params=[path, MIN_USERS]).to_arrow_table().num_rows


if __name__ == "__main__":
    _harness.run(job, prepare)
