"""Checks of a Spark DataFrame and of the names of its columns, for both entry points."""

from __future__ import annotations

from typing import Any

from dpsel._arguments import as_int, type_name
from dpsel._ingest._libraries import library_of
from dpsel._ingest._spark_types import check_batches, quoted
from dpsel._ingest._tokens import Tokens
from dpsel._request import NamedColumns, columns_of
from dpsel.exceptions import DataError, InvalidParameterError, SchemaError
from dpsel.spark._errors import own_errors
from dpsel.spark._schema import spark_schema

__all__ = [
    "checked_frame",
    "checked_list",
    "checked_partitions",
    "checked_tokens",
    "frame_of",
    "named_columns",
]


def named_columns(user: object, item: object) -> NamedColumns:
    """Return the user columns and the item columns; tables have no default names."""
    columns = columns_of(user, item)
    if user is None or item is None:
        raise InvalidParameterError(
            "user and item must name columns of the table, got none; write user='...', item='...'"
        )
    return columns


def checked_tokens(tokenizer: object, ngrams: object) -> Tokens | None:
    """Return the tokens of a function, which runs in Spark's workers; ``None`` for the core's tokenizers."""
    tokens = Tokens.of(tokenizer, ngrams)
    if tokens is None:
        return None
    from pyspark import cloudpickle

    try:
        cloudpickle.dumps(tokens)
    except Exception as error:  # noqa: BLE001 - whatever it is, its words are not ours
        raised = type(error).__name__
    else:
        return tokens
    raise InvalidParameterError(
        f"tokenizer must be a function that PySpark can send to its workers, got one whose pickle raised "
        f"{raised}; open what it needs inside of it"
    )


@own_errors
def checked_list(name: str, items: Any, columns: NamedColumns) -> Any:
    """Return a public list, which may be a Spark DataFrame with the item columns, as values on the driver."""
    if library_of(items) != "pyspark" or not hasattr(items, "mapInArrow"):
        return items
    names = items.schema.names
    if len(names) != 1 or len(columns.items) != 1:
        missing = [column for column in columns.items if names.count(column) != 1]
        if missing:
            raise SchemaError(
                f"{name} must have each item column once, got a Spark DataFrame with another number of "
                f"columns '{missing[0]}'; name its columns as in the data"
            )
        names = columns.items
    found = items.select(*map(quoted, names)).toArrow()
    values = [column.to_pylist() for column in found.columns]
    return values[0] if len(values) == 1 else list(zip(*values, strict=True))


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
