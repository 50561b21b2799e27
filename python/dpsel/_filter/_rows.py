"""The rows of a table whose item was released, as the kind of table that came in.

**The result is private data**: whole rows of the input, with every column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from dpsel._arguments import type_name
from dpsel._filter._keys import NO_ITEM, RELEASED
from dpsel._filter._labels import labels_of, no_label, not_released, scalar_of
from dpsel._filter._pieces import labelled, plain_type, rows_where
from dpsel._filter._plain import of_columns, of_pairs, of_records
from dpsel._ingest._declared import check_duckdb, check_pandas, check_polars
from dpsel._ingest._foreign import opened
from dpsel._ingest._frames import duckdb_stream, index_names
from dpsel._ingest._libraries import library_of
from dpsel._ingest._objects import Exported
from dpsel._request import NamedColumns
from dpsel.exceptions import InvalidParameterError, SchemaError
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpsel._filter._keys import Keys

__all__ = ["filtered", "mask_of_pandas", "named_in"]


def filtered(keys: Keys, data: Any, columns: list[str], other: Any, *, named: bool) -> Any:
    """Return the rows of ``data`` whose item is one of ``keys``.

    Args:
        keys: The released items.
        data: A table of any library, a list of dicts, a dict of columns, or an iterable of pairs.
        columns: The item columns of the table.
        other: ``None`` to leave the other rows out, or the label to put in place of their items: one value
            for each column.
        named: Whether the caller named the columns.
    """
    labels = labels_of(keys, other, columns)
    # What rows, columns and generators raise may quote a row.
    return opened(lambda: _filtered(keys, data, columns, labels, named=named))


def _filtered(keys: Keys, data: Any, columns: list[str], labels: list[Any] | None, *, named: bool) -> Any:
    library = library_of(data)
    if library in _BY_LIBRARY:
        return _BY_LIBRARY[library](keys, data, columns, labels)
    if _is_of_numbers(data):
        raise SchemaError(
            f"{type_name(data)} cannot be filtered; pass its columns by name, as "
            "{'user': users, 'item': items}, or an iterable of (user, item) pairs"
        )
    if hasattr(data, "__arrow_c_stream__"):
        return _reader(keys, _as_reader(data), columns, labels)
    if isinstance(data, str | bytes) or not hasattr(data, "__iter__"):
        raise SchemaError(
            f"{type_name(data)} cannot be filtered; pass a table or an iterable of (user, item) pairs, or "
            "the paths of files to release.filter_file(source, output)"
        )
    if isinstance(data, Mapping):
        return of_columns(keys, data, columns, labels)
    if isinstance(data, Sequence) and data and isinstance(data[0], Mapping):
        return of_records(keys, data, columns, labels)
    if named:
        raise InvalidParameterError(
            "item= names columns of a table, but the rows are pairs, which have none; leave item= out"
        )
    return of_pairs(keys, data, labels)


def _is_of_numbers(data: Any) -> bool:
    """Whether it is a matrix or an array: of NumPy, but not one of pairs, or of SciPy."""
    library = library_of(data)
    if library == "numpy":
        return hasattr(data, "dtype") and (data.dtype.kind != "O" or data.ndim != 1)
    return library == "scipy" and hasattr(data, "tocoo")


def named_in(columns: list[str], names: Iterable[object]) -> None:
    """Refuse columns that are not there once each."""
    there = [str(name) for name in names]
    for column in columns:
        if there.count(column) != 1:
            problem = "no column" if column not in there else "several columns"
            raise SchemaError(
                f"the table has {problem} named {quoted(column)}; name the columns that hold the released "
                "items with item="
            )


def _polars(keys: Keys, data: Any, columns: list[str], labels: list[Any] | None) -> Any:
    import polars as pl

    if isinstance(data, pl.LazyFrame):
        schema = data.collect_schema()
        named_in(columns, schema.names())
        # The types are checked now, and not when the query runs.
        _polars(keys, schema.to_frame(), columns, labels)
        return data.map_batches(
            _Unseen(lambda frame: _polars(keys, frame, columns, labels)), schema=schema, streamable=True
        )
    if not isinstance(data, pl.DataFrame):
        raise SchemaError(f"{type_name(data)} is not a table of rows; pass a DataFrame or a LazyFrame")
    named_in(columns, data.columns)
    check_polars(data.schema, columns, ())
    mask = pl.Series("", keys.mask(data.select(columns)), dtype=pl.Boolean)
    if labels is None:
        return data.filter(mask.fill_null(value=False))
    types = [data.schema[name] for name in columns]
    changed = [
        pl.when(mask.fill_null(value=True)).then(pl.col(name)).otherwise(pl.lit(label)).alias(name)
        for name, label in zip(columns, labels, strict=True)
    ]
    made = data.with_columns(changed)
    if made.schema != data.schema:
        raise no_label(columns)
    pairs = zip(columns, labels, types, strict=True)
    as_held = pl.select([pl.lit(label).cast(kind).alias(name) for name, label, kind in pairs])
    not_released(keys.mask(as_held).to_bytes()[0])
    return made


def _pandas(keys: Keys, data: Any, columns: list[str], labels: list[Any] | None) -> Any:
    import pandas as pd

    if not isinstance(data, pd.DataFrame):
        raise SchemaError(f"{type_name(data)} is not a table of rows; pass a DataFrame")
    levels = [name for name in index_names(data) if name in columns]
    named_in(columns, [*data.columns, *levels])
    mask = _pandas_mask(keys, data, columns)
    if labels is None:
        return data[[mark == RELEASED for mark in mask]]
    made = data.copy()
    replaced = pd.Series([mark not in (RELEASED, NO_ITEM) for mark in mask], index=made.index, dtype=bool)
    for name, label in zip(columns, labels, strict=True):
        column = _pandas_column(made, name)
        if isinstance(column.dtype, pd.CategoricalDtype) and label not in column.cat.categories:
            column = column.cat.add_categories([label])
        try:
            changed = column.mask(replaced.array, label)
        except (TypeError, ValueError):
            raise no_label(columns) from None
        if changed.dtype != column.dtype:
            raise no_label(columns)
        if name in levels:
            made.index = _with_level(made.index, index_names(made).index(name), changed)
        else:
            made[name] = changed.array
    # As the column holds it: a coarser unit of time cuts a label off.
    for mark in _pandas_mask(keys, made[replaced.to_numpy()].head(1), columns):
        not_released(mark)
    return made


def _pandas_column(data: Any, name: str) -> Any:
    """Return a column, or a level of the index."""
    if name in data.columns:
        return data[name]
    return data.index.get_level_values(index_names(data).index(name)).to_series(index=data.index)


def _with_level(index: Any, at: int, values: Any) -> Any:
    """Return an index with other values in one of its levels."""
    import pandas as pd

    if index.nlevels == 1:
        return pd.Index(values.array, name=index.name)
    levels = [index.get_level_values(level) for level in range(index.nlevels)]
    levels[at] = pd.Index(values.array)
    return pd.MultiIndex.from_arrays(levels, names=index.names)


def _pandas_mask(keys: Keys, data: Any, columns: list[str]) -> bytes:
    return mask_of_pandas(lambda table: keys.mask(table).to_bytes(), data, columns)


def mask_of_pandas(of_table: Callable[[Any], bytes], data: Any, columns: list[str]) -> bytes:
    """Return what a function of an Arrow table makes of some columns of a DataFrame."""
    import pandas as pd

    narrow = pd.DataFrame({name: _pandas_column(data, name).array for name in columns})
    check_pandas(narrow.dtypes, columns)
    return of_table(Exported(narrow, NamedColumns(columns, [])))


def _pyarrow(keys: Keys, data: Any, columns: list[str], labels: list[Any] | None) -> Any:
    import pyarrow as pa

    if isinstance(data, pa.Table):
        named_in(columns, data.column_names)
        return _arrow_rows(keys, data, columns, labels)
    if isinstance(data, pa.RecordBatch):
        named_in(columns, data.schema.names)
        made = _arrow_rows(keys, pa.table(data), columns, labels).combine_chunks().to_batches()
        return made[0] if made else data.slice(0, 0)
    return _reader(keys, _as_reader(data), columns, labels)


def _as_reader(data: Any) -> Any:
    import pyarrow as pa

    if isinstance(data, pa.RecordBatchReader):
        return data
    if hasattr(data, "scanner"):
        return data.scanner().to_reader()
    if hasattr(data, "to_reader"):
        return data.to_reader()
    return pa.RecordBatchReader.from_stream(data)


def _reader(keys: Keys, reader: Any, columns: list[str], labels: list[Any] | None) -> Any:
    """Return a reader that filters batch by batch, so that a table need not fit into memory."""
    import pyarrow as pa

    named_in(columns, reader.schema.names)
    empty = reader.schema.empty_table()
    schema = _arrow_rows(keys, empty, columns, labels).schema

    rest = iter(reader)

    def step() -> list[Any] | None:
        batch = next(rest, None)
        return None if batch is None else _arrow_rows(keys, pa.table(batch), columns, labels).to_batches()

    # No variable outside of `step` holds rows.
    batches = chain.from_iterable(iter(lambda: opened(step), None))
    return pa.RecordBatchReader.from_batches(schema, batches)


class _Unseen:
    """A function of one table. A traceback of a failure shows no variable that holds the table."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __call__(self, table: Any) -> Any:
        held = [table]
        del table
        return opened(lambda: self._function(held.pop()))


def _arrow_rows(keys: Keys, table: Any, columns: list[str], labels: list[Any] | None) -> Any:
    import pyarrow as pa

    mask = pa.array(keys.mask(table.select(columns)))
    if labels is None:
        return rows_where(table, mask)
    _check_held(keys, table.schema, columns, labels)
    for name, label in zip(columns, labels, strict=True):
        at = table.schema.get_field_index(name)
        field = table.schema.field(at)
        try:
            column = labelled(table.column(at), mask, scalar_of(label, plain_type(field.type)))
        except (ValueError, TypeError):
            raise no_label(columns) from None
        table = table.set_column(at, field, column)
    return table


def _check_held(keys: Keys, schema: Any, columns: list[str], labels: list[Any]) -> None:
    """Refuse a label that is a released item as the columns hold it: a coarser unit of time cuts it off."""
    import pyarrow as pa

    kinds = [plain_type(schema.field(name).type) for name in columns]
    try:
        held = [
            pa.array([scalar_of(label, kind).as_py()], kind)
            for label, kind in zip(labels, kinds, strict=True)
        ]
    except (ValueError, TypeError, OverflowError):
        raise no_label(columns) from None
    not_released(keys.mask(pa.table(held, names=columns)).to_bytes()[0])


def _duckdb(keys: Keys, data: Any, columns: list[str], labels: list[Any] | None) -> Any:
    if hasattr(data, "columns"):
        check_duckdb(data, columns)
    return _reader(keys, _as_reader(duckdb_stream(data)), columns, labels)


def _datasets(keys: Keys, data: Any, columns: list[str], labels: list[Any] | None) -> Any:
    import pyarrow as pa

    from dpsel._ingest._datasets import batches_of_dataset

    tables, names = batches_of_dataset(data, [] if data.column_names is None else data.column_names)
    named_in(columns, columns if names is None else names)
    first = next(tables, None)
    if first is None:
        raise SchemaError(
            "the data set has no rows and does not tell its columns; there is nothing to filter"
        )
    batches = chain.from_iterable(map(pa.Table.to_batches, chain([first], tables)))
    return _reader(keys, pa.RecordBatchReader.from_batches(first.schema, batches), columns, labels)


def _pyspark(keys: Keys, data: Any, columns: list[str], labels: list[Any] | None) -> Any:
    from dpsel._filter._spark import checked_spark, spark_rows, written

    if not hasattr(data, "mapInArrow"):
        raise SchemaError(f"{type_name(data)} is not a table of rows; pass a DataFrame of Spark SQL")
    named_in(columns, data.columns)
    kinds = checked_spark(keys, data, columns)
    if labels is not None:
        try:
            labels = [written(label, kind) for label, kind in zip(labels, kinds, strict=True)]
        except (ValueError, TypeError, NotImplementedError):
            raise no_label(columns) from None
    return spark_rows(keys, data, columns, labels)


_BY_LIBRARY: Final[dict[str, Callable[[Keys, Any, list[str], list[Any] | None], Any]]] = {
    "polars": _polars,
    "pandas": _pandas,
    "pyarrow": _pyarrow,
    "duckdb": _duckdb,
    "datasets": _datasets,
    "pyspark": _pyspark,
}
