"""The peers: each does the whole job in its own process, from a Parquet file, and prints one line of JSON.

A peer is one module here and one line in `PEERS`. What they are measured against each other for: seconds
("own": after imports and engine start; "total": the whole process) and peak resident memory.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """How a peer is run: `python -m benches.peers.<module> <file> <options>`."""

    module: str
    what: str
    options: tuple[str, ...] = ()
    #: The most users for which it is run unless asked for by name: slow peers only see small data.
    most_users: int = 2_000_000
    #: Whether it releases items under DP-SIPS with the parameters of `benches.parameters`.
    sips: bool = False


PEERS: dict[str, Peer] = {
    "dpsel": Peer("dpsel_job", "dpsel, DP-SIPS of 3 rounds", sips=True),
    "dpsel-steered": Peer("dpsel_job", "dpsel, Steered of 30 rounds", ("--mechanism", "steered")),
    "dpsel-auto": Peer("dpsel_job", "dpsel, the default", ("--mechanism", "auto")),
    "dpsel-weighted": Peer("dpsel_job", "dpsel, WeightedGaussian", ("--mechanism", "weighted")),
    "dpsel-greedy": Peer("dpsel_job", "dpsel, UnitGreedy", ("--mechanism", "greedy")),
    "dpsel-matching": Peer("dpsel_job", "dpsel, Matching", ("--mechanism", "matching")),
    "dpsel-screening": Peer("dpsel_job", "dpsel, Matching with screening", ("--mechanism", "screening")),
    "polars-streaming": Peer("polars_count", "polars streaming, distinct users per item (not private)"),
    "polars-memory": Peer(
        "polars_count", "polars in memory, distinct users per item (not private)", ("--engine", "in-memory")
    ),
    "duckdb": Peer("duckdb_count", "duckdb, distinct users per item (not private)"),
    "decode-polars": Peer("decode", "decode the file only, polars streaming"),
    "decode-pyarrow": Peer("decode", "decode the file only, pyarrow batches", ("--engine", "pyarrow")),
    "polars-sips": Peer("polars_sips", "DP-SIPS of 3 rounds in vectorised polars", sips=True),
    "numpy-sips": Peer("numpy_sips", "DP-SIPS of 3 rounds in numpy", sips=True),
    "spark-array": Peer(
        "spark_sips", "DP-SIPS of 3 rounds in PySpark, one array per user", sips=True, most_users=500_000
    ),
    "spark-window": Peer(
        "spark_sips",
        "DP-SIPS of 3 rounds in PySpark, windows",
        ("--form", "window"),
        most_users=500_000,
        sips=True,
    ),
    "python-sips": Peer("python_sips", "DP-SIPS of 3 rounds in plain Python", most_users=50_000, sips=True),
}

#: Compared by default; the first line of every table is the peer that ratios refer to.
REFERENCE = "polars-streaming"
