"""Checks of a Spark DataFrame and of the names of its columns, for both entry points."""

from __future__ import annotations

from typing import Any

from dpsel._arguments import as_int, type_name
from dpsel._ingest._libraries import library_of
from dpsel._ingest._spark_types import check_batches
from dpsel._request import NamedColumns, columns_of
from dpsel.exceptions import DataError, InvalidParameterError, SchemaError
from dpsel.spark._errors import own_errors
from dpsel.spark._schema import spark_schema

__all__ = ["checked_frame", "checked_partitions", "checked_tokenizer", "frame_of", "named_columns"]


def named_columns(user: object, item: object) -> NamedColumns:
    """Return the user columns and the item columns; tables have no default names."""
    columns = columns_of(user, item)
    if user is None or item is None:
        raise InvalidParameterError(
            "user and item must name columns of the table, got none; write user='...', item='...'"
        )
    return columns


def checked_tokenizer(tokenizer: object) -> object:
    """Refuse a function: it would run wherever Spark runs."""
    if callable(tokenizer):
        raise InvalidParameterError(
            'tokenizer must be "words", "chars" or "subwords" for a Spark DataFrame, got a function; make a '
            "column of lists of tokens with a UDF, and name it as item="
        )
    return tokenizer


@own_errors
def checked_frame(data: Any, function: str) -> Any:
    """Refuse data that is no Spark DataFrame, and name the function that takes it."""
    if library_of(data) != "pyspark" or not hasattr(data, "mapInArrow"):
        raise SchemaError(f"{type_name(data)} is no Spark DataFrame; pass it to dpsel.{function} instead")
    _refuse_stopped(getattr(data.sparkSession, "_sc", None))
    if data.isStreaming:
        raise SchemaError(
            "a streaming DataFrame never ends, and a release is final; write the stream out, and select from "
            "what was written"
        )
    check_batches(data.sparkSession)
    return data


def _refuse_stopped(context: Any) -> None:
    # A session of Spark Connect has none; its first question to the server fails.
    if context is not None and (context._jsc is None or context._jsc.sc().isStopped()):  # noqa: SLF001
        raise DataError("the Spark session of the table was stopped; make the table again in a running one")


def checked_partitions(frame: Any, num_partitions: int | None) -> int:
    """Return the number of partitions of users and items: four for each shuffle partition, if not given.

    Spark hashes ours to its own. With four for each, few of Spark's are left empty.
    """
    if num_partitions is None:
        setting = frame.sparkSession.conf.get("spark.sql.shuffle.partitions")
        # Some platforms know "auto" as well; 200 is Spark's own default.
        num_partitions = 4 * (int(setting) if setting.isdecimal() else 200)
    else:
        num_partitions = as_int("num_partitions", num_partitions)
    largest = 2**31 - 1
    if not 1 <= num_partitions <= largest:
        raise InvalidParameterError(
            f"num_partitions must be between 1 and {largest}, got {num_partitions}; leave it out for four "
            "times spark.sql.shuffle.partitions"
        )
    return num_partitions


def frame_of(session: Any, table: Any) -> Any:
    """Return an Arrow table as a Spark DataFrame, in which times without a zone have none.

    Without a schema they would be wall times of the session's zone, where some hours do not exist.
    """
    return session.createDataFrame(table, schema=spark_schema(table.schema))
