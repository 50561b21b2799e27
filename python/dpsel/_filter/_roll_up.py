"""Rows with the lowest released node at or above theirs, in place of their own.

**The result is private data**: whole rows of the input.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dpsel._arguments import type_name
from dpsel._filter._rows import mask_of_pandas, named_in
from dpsel._filter._spark import checked_spark, spark_changed
from dpsel._ingest._foreign import opened
from dpsel._ingest._libraries import library_of
from dpsel.exceptions import SchemaError

if TYPE_CHECKING:
    from dpsel._filter._keys import Keys

__all__ = ["rolled_up"]


def rolled_up(keys: Keys, data: Any, columns: list[str]) -> Any:
    """Return the rows that have a released node at or above theirs, with the lowest of these.

    Args:
        keys: The released nodes.
        data: A polars, pandas or Spark DataFrame, a pyarrow Table, or a list of pairs.
        columns: The item columns of the table.
    """
    return opened(lambda: _rolled_up(keys, data, columns))


def _rolled_up(keys: Keys, data: Any, columns: list[str]) -> Any:
    library = library_of(data)
    if library == "polars" and hasattr(data, "filter") and hasattr(data, "height"):
        return _polars(keys, data, columns)
    if library == "pandas" and hasattr(data, "columns"):
        return _pandas(keys, data, columns)
    if library == "pyarrow" and hasattr(data, "column_names") and hasattr(data, "set_column"):
        return _pyarrow(keys, data, columns)
    if library == "pyspark" and hasattr(data, "mapInArrow"):
        checked_spark(keys, data, columns)
        return spark_changed(data, columns, partial(_pyarrow, keys, columns=columns))
    if isinstance(data, list) and all(isinstance(row, tuple) for row in data):
        return _pairs(keys, data)
    raise SchemaError(
        f"{type_name(data)} cannot be rolled up; pass a polars, pandas or Spark DataFrame, a pyarrow Table "
        "or a list of pairs (user, node)"
    )


def _nodes(keys: Keys, levels: bytes, values: list[list[Any]]) -> list[list[Any]]:
    """Return the columns of the nodes of the rows that have one."""
    rows = [row for row, level in zip(zip(*values, strict=True), levels, strict=True) if level]
    found = [keys.node_at(row, level) for row, level in zip(rows, filter(None, levels), strict=True)]
    return [[node[at] for node in found] for at in range(len(values))]


def _polars(keys: Keys, data: Any, columns: list[str]) -> Any:
    import polars as pl

    named_in(columns, data.columns)
    levels = keys.levels(data.select(columns))
    kept = data.filter(pl.Series([level > 0 for level in levels], dtype=pl.Boolean))
    nodes = _nodes(keys, levels, [data[name].to_list() for name in columns])
    pairs = zip(columns, nodes, strict=True)
    return kept.with_columns([pl.Series(name, values, dtype=data.schema[name]) for name, values in pairs])


def _pandas(keys: Keys, data: Any, columns: list[str]) -> Any:
    import pandas as pd

    named_in(columns, data.columns)
    levels = mask_of_pandas(keys.levels, data, columns)
    made = data[[level > 0 for level in levels]].copy()
    nodes = _nodes(keys, levels, [data[name].tolist() for name in columns])
    for name, values in zip(columns, nodes, strict=True):
        kind = made[name].dtype
        if kind.kind in "iu" and None in values and not pd.api.types.is_extension_array_dtype(kind):
            kind = pd.Int64Dtype() if kind.kind == "i" else pd.UInt64Dtype()
        made[name] = pd.array(values, dtype=kind)
    return made


def _pyarrow(keys: Keys, data: Any, columns: list[str]) -> Any:
    import pyarrow as pa

    named_in(columns, data.column_names)
    levels = keys.levels(data.select(columns))
    made = data.filter(pa.array([level > 0 for level in levels], pa.bool_()))
    nodes = _nodes(keys, levels, [data.column(name).to_pylist() for name in columns])
    for name, values in zip(columns, nodes, strict=True):
        at = made.schema.get_field_index(name)
        made = made.set_column(at, made.schema.field(at), pa.array(values, made.schema.field(at).type))
    return made


def _pairs(keys: Keys, rows: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    single = len(keys.columns) == 1
    values = [[item] for _, item in rows] if single else [list(item) for _, item in rows]
    columns = [list(column) for column in zip(*values, strict=True)] if rows else [[] for _ in keys.columns]
    levels = keys.levels_of_values(columns)
    users = [user for (user, _), level in zip(rows, levels, strict=True) if level]
    nodes = zip(*_nodes(keys, levels, columns), strict=True)
    return [(user, node[0] if single else node) for user, node in zip(users, nodes, strict=True)]
