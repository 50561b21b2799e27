"""A Spark DataFrame with the settings that the jobs of a release need."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpsel.spark._dataflow import Dataflow
from dpsel.spark._encryption import Unencrypted, check_encryption
from dpsel.spark._frames import checked_partitions
from dpsel.spark._quiet import quiet
from dpsel.spark._sharing import shared

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from dpsel import _core
    from dpsel._ingest import Tokens
    from dpsel._request import NamedColumns
    from dpsel.spark._steps import Steps

__all__ = ["Cluster"]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A DataFrame, how its needed columns are read and divided, and the file that wraps the key."""

    frame: Any
    columns: NamedColumns
    num_partitions: int
    secret_file: str | os.PathLike[str] | None
    tokens: Tokens | None

    @classmethod
    def checked(
        cls,
        frame: Any,
        columns: NamedColumns,
        *,
        num_partitions: int | None,
        unencrypted: Unencrypted,
        secret_file: str | os.PathLike[str] | None,
        tokens: Tokens | None,
    ) -> Cluster:
        """Check the number of partitions, and what Spark leaves unencrypted."""
        number = checked_partitions(frame, num_partitions)
        check_encryption(frame.sparkSession, unencrypted, with_secret_file=secret_file is not None)
        return cls(frame, columns, number, secret_file, tokens)

    @contextmanager
    def dataflow(self, job: _core.ExchangeJob, steps: Steps) -> Iterator[Dataflow]:
        """Share the job with the executors while the jobs of a release run."""
        with quiet(), shared(self.frame.sparkSession, self.secret_file) as seal:
            yield Dataflow(self.frame, self.columns, job, seal, self.num_partitions, steps, self.tokens)
