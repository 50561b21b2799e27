"""What both entry points check of a Spark DataFrame and of the names of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel._arguments import as_int, type_name
from dpsel._ingest._libraries import library_of
from dpsel._request import columns_of
from dpsel.exceptions import InvalidParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["checked_frame", "named_columns", "number_of_routes"]


def named_columns(user: str | None, item: str | Sequence[str] | None) -> list[str]:
    """Return the user column and then the item columns; tables have no default names."""
    columns = columns_of(user, item)
    if user is None or item is None:
        raise InvalidParameterError(
            "user and item must name columns of the table, got none; write user='...', item='...'"
        )
    return columns


def checked_frame(data: Any, function: str) -> Any:
    """Refuse what is no Spark DataFrame, naming the function that takes it."""
    if library_of(data) != "pyspark" or not hasattr(data, "mapInArrow"):
        raise SchemaError(f"{type_name(data)} is no Spark DataFrame; pass it to dpsel.{function} instead")
    return data


def number_of_routes(frame: Any, routes: int | None) -> int:
    """Four for each shuffle partition: hashing routes to partitions then leaves few of them empty."""
    if routes is None:
        setting = frame.sparkSession.conf.get("spark.sql.shuffle.partitions")
        # Some platforms know "auto" as well; 200 is Spark's own default.
        routes = 4 * (int(setting) if setting.isdecimal() else 200)
    else:
        routes = as_int("routes", routes)
    largest = 2**31 - 1
    if not 1 <= routes <= largest:
        raise InvalidParameterError(
            f"routes must be between 1 and {largest}, got {routes}; leave it out for four times "
            "spark.sql.shuffle.partitions"
        )
    return routes
