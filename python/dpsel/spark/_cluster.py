"""A Spark DataFrame with the settings that the jobs of a release need."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpsel import _core
from dpsel._arguments import as_path_if_given
from dpsel.spark._dataflow import Dataflow
from dpsel.spark._encryption import Unencrypted, check_encryption
from dpsel.spark._errors import own_errors
from dpsel.spark._frames import checked_partitions
from dpsel.spark._log_filter import filtered_logs
from dpsel.spark._sharing import shared

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

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
    @own_errors
    def checked(
        cls,
        frame: Any,
        columns: NamedColumns,
        *,
        num_partitions: int | None,
        unencrypted: Unencrypted,
        secret_file: str | os.PathLike[str] | None,
        job: _core.ExchangeJob,
        tokens: Tokens | None,
    ) -> Cluster:
        """Check the number of partitions, what Spark leaves unencrypted, and the file here on the driver."""
        secret_file = as_path_if_given("secret_file", secret_file)
        _core.ExchangeShare().seal(job, secret_file)
        number = checked_partitions(frame, num_partitions)
        check_encryption(frame.sparkSession, unencrypted, with_secret_file=secret_file is not None)
        return cls(frame, columns, number, secret_file, tokens)

    @contextmanager
    def dataflow(self, job: _core.ExchangeJob, steps: Steps) -> Iterator[Dataflow]:
        """Share the job with the executors while the jobs of a release run."""
        with filtered_logs(), shared(self.frame.sparkSession, self.secret_file) as seal:
            yield Dataflow(self.frame, self.columns, job, seal, self.num_partitions, steps, self.tokens)
