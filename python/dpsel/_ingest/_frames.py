"""Adapters: only the needed columns of each library's tables, so that other columns never matter.

A column that is missing is left for the core to report, so that the message has one home: then nothing is
projected. Nor is it if there are no other columns, because in most libraries it takes longer than a tiny job.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from dpsel._ingest._declared import check_duckdb, check_pandas, check_polars
from dpsel._ingest._objects import Exported
from dpsel._restored import ENUM, Restored
from dpsel.exceptions import SchemaError
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpsel._request import NamedColumns

__all__ = [
    "ADAPTERS",
    "Adapted",
    "duckdb_stream",
    "index_names",
    "polars_column",
    "with_levels",
    "without_rows",
]


@dataclass(frozen=True)
class Adapted:
    """The source that the core reads, and the kind of table to return."""

    source: Any
    returns: str
    in_batches: bool = False
    found: list[str] = field(default_factory=list)
    """Columns without a declared type."""
    restored: Restored | None = None
    names: list[str] | None = None
    """The columns, where the library tells them without reading rows."""
    declared: Any = None
    """A table without rows that has their types, where the library declares them."""


def _narrows(columns: NamedColumns, names: Iterable[object]) -> bool:
    """Whether a table with these names has all of ``columns`` once, and others to leave behind."""
    there = list(names)
    return 0 < len(columns) < len(there) and all(there.count(name) == 1 for name in columns)


def _no_table(library: str, data: object, fix: str) -> SchemaError:
    return SchemaError(f"a {library} {type(data).__name__} is not a table of rows; {fix}")


def _polars(data: Any, columns: NamedColumns) -> Adapted | None:
    kind = type(data).__name__
    if kind == "LazyFrame":
        return _polars_batches(data, columns)
    if kind == "Series" and not hasattr(data, "columns"):
        raise SchemaError("a polars Series has no user column; pass a DataFrame with both columns")
    if not hasattr(data, "__arrow_c_stream__") or not hasattr(data, "columns"):
        raise _no_table("polars", data, "pass a DataFrame or a LazyFrame")
    check_polars(data.schema, columns, columns.users)
    _refuse_wide(data.schema, columns)
    # Not `select`, which runs a query: on a tiny table that takes longer than the job.
    narrow = data[columns] if _narrows(columns, data.columns) else data
    readable = _polars_readable(narrow, narrow.schema)
    return Adapted(
        readable,
        "polars",
        restored=_polars_types(data.schema, columns),
        names=list(narrow.columns),
        declared=readable.clear(),
    )


def polars_column(name: str, column: Any) -> Any:
    """Return a Series as a table that Arrow reads, or refuse its type."""
    frame = column.to_frame(name)
    _refuse_wide(frame.schema, [name])
    return _polars_readable(frame, frame.schema)


def _polars_readable(frame: Any, schema: Any) -> Any:
    """Return columns of nulls as texts without values: polars exports the former as no reader expects."""
    import polars as pl

    readable = {pl.Null: pl.String, pl.List(pl.Null): pl.List(pl.String)}
    types = {name: readable[dtype] for name, dtype in schema.items() if dtype in readable}
    return frame.cast(types) if types else frame


def _refuse_wide(schema: Any, columns: Iterable[str]) -> None:
    """Refuse integers of 128 bits, which polars exports in a form of its own."""
    for name in columns:
        dtype = schema.get(name)
        inner = getattr(dtype, "inner", None) or dtype
        if str(inner) in ("Int128", "UInt128"):
            raise SchemaError(
                f"column '{name}' has the type {dtype} of polars, and no other library reads it; cast the "
                "column to Int64, or to String if it has larger numbers"
            )


def _polars_types(schema: Any, columns: NamedColumns) -> Restored:
    """Return the types to restore in fresh columns. The names after the first one are item columns."""
    import polars as pl

    # Before version 2 a Categorical lists all categories that the process has ever seen.
    has_closed_pools = int(pl.__version__.partition(".")[0]) >= 2  # noqa: PLR2004 - the version
    lost: list[tuple[str, Any]] = []
    for name in dict.fromkeys(columns.items):
        dtype = schema.get(name)
        dtype = dtype.inner if isinstance(dtype, pl.List | pl.Array) else dtype
        if isinstance(dtype, pl.Enum):
            lost.append((name, ENUM))
        elif isinstance(dtype, pl.Null) or (isinstance(dtype, pl.Categorical) and has_closed_pools):
            lost.append((name, dtype))
    return Restored("polars", tuple(lost))


def _polars_batches(lazy: Any, columns: NamedColumns) -> Adapted:
    schema = lazy.collect_schema()
    check_polars(schema, columns, columns.users)
    restored = _polars_types(schema, columns)
    _refuse_wide(schema, columns)
    if _narrows(columns, schema.names()):
        lazy = lazy.select(columns)
        schema = lazy.collect_schema()
    lazy = _polars_readable(lazy, schema)
    schema = lazy.collect_schema()
    if not hasattr(lazy, "sink_batches"):
        raise SchemaError(
            "this version of polars cannot stream a LazyFrame; pass data.collect(), or update polars"
        )
    # Most programs have no query, and the file needs threads and queues.
    from dpsel._ingest._queries import batches_of

    # The empty frame first: a query without rows yields no batch, and then the types would be unknown.
    empty = schema.to_frame()
    return Adapted(
        chain([empty], batches_of(lazy)),
        "polars",
        in_batches=True,
        restored=restored,
        names=list(schema.names()),
        declared=empty,
    )


def _pandas(data: Any, columns: NamedColumns) -> Adapted | None:
    if not hasattr(data, "columns") and hasattr(data, "to_frame"):
        data = _pandas_frame(data, columns)
    if not hasattr(data, "columns") or not hasattr(data, "dtypes"):
        raise _no_table("pandas", data, "pass the DataFrame itself")
    data = with_levels(data, columns)
    _refuse_duplicates("pandas DataFrame", columns, data.columns)
    if _narrows(columns, data.columns):
        data = data[columns]
    elif not set(columns) <= set(data.columns):
        # A column is missing, which the core reports; pandas would complain of values in the other columns.
        data = data.loc[:, ~data.columns.duplicated()].head(0).astype(object)
    if set(columns) <= set(data.columns):
        # An index that is no range would be exported as one more column, and may be of mixed types.
        data = data.reset_index(drop=True)
    check_pandas(data.dtypes, columns)
    restored, made = _pandas_types(data, columns), Exported(data, columns)
    return Adapted(
        made,
        "pandas",
        found=made.found,
        restored=restored,
        names=_pandas_names(data),
        declared=made.declared(),
    )


def _pandas_names(data: Any) -> list[str]:
    """Return the names of the columns in Arrow, where an index that is no plain range is one, too."""
    return [*map(str, data.columns), *index_names(data)]


def index_names(data: Any) -> list[str]:
    """Return the names of the levels of an index in Arrow; none for a plain range without a name."""
    import pandas as pd

    is_plain = isinstance(data.index, pd.RangeIndex) and data.index.name is None
    levels = () if is_plain else enumerate(data.index.names)
    return [f"__index_level_{at}__" if name is None else str(name) for at, name in levels]


def _pandas_frame(data: Any, columns: NamedColumns) -> Any:
    """Return a Series or an Index with all of the columns, of which most are levels of its index."""
    is_index = not hasattr(data, "index")
    frame = data.to_frame(index=False) if is_index else data.to_frame()
    if set(columns) <= {*frame.columns, *index_names(frame)}:
        return frame
    raise SchemaError(
        "a pandas Series or Index has no user column; pass a DataFrame with both columns, or name the levels "
        "of its index with user= and item="
    )


def with_levels(data: Any, columns: Iterable[str]) -> Any:
    """Return the data with the levels of its index that are named as columns, as ``reset_index`` has them."""
    levels, there = [name for name in dict.fromkeys(columns) if name not in data.columns], index_names(data)
    # A name that is missing is left for the core to report, with all that are there.
    if not levels or not set(levels) <= set(there):
        return data
    _refuse_duplicates("index of the pandas DataFrame", levels, there)
    # The columns that are needed alone: the others may have names that no column can be put beside.
    narrow = data.loc[:, data.columns.isin(list(columns))]
    return narrow.set_axis(data.index.set_names(there), axis=0).reset_index(level=levels)


def _refuse_duplicates(table: str, columns: Iterable[object], names: Iterable[object]) -> None:
    there = Counter(names)
    if twice := next((name for name in columns if there[name] > 1), None):
        raise SchemaError(
            f"the {table} has several columns named '{twice}', and user= and item= must each name one; "
            "rename them, for example with data.columns = [...]"
        )


def _pandas_types(data: Any, columns: NamedColumns) -> Restored:
    """Return the item columns to restore as categories, without periods, which would become bare numbers."""
    import pandas as pd

    lost = []
    for name in dict.fromkeys(columns):
        dtype = data.dtypes.get(name)
        if not isinstance(dtype, pd.CategoricalDtype):
            continue
        if isinstance(dtype.categories.dtype, pd.PeriodDtype):
            raise SchemaError(
                f"column '{name}' has categories that are pandas periods, which Arrow holds as bare numbers; "
                "convert them with astype(str)"
            )
        if name in columns.items:
            lost.append((name, "category"))
    return Restored("pandas", tuple(lost))


def _pyarrow(data: Any, columns: NamedColumns) -> Adapted | None:
    if hasattr(data, "scanner") and hasattr(data, "physical_schema"):
        # A part of a Dataset, with the rows and columns of its own file.
        schema = data.physical_schema
        return _of_schema(data.scanner().to_reader(), schema, _pyarrow_types(schema, columns))
    if hasattr(data, "scanner"):
        # A scan fails on other columns of one name, too.
        _refuse_duplicates("pyarrow Dataset", data.schema.names, data.schema.names)
        names = list(columns) if _narrows(columns, data.schema.names) else None
        reader = data.scanner(columns=names).to_reader()
        restored = _pyarrow_types(data.schema, columns)
        return _of_schema(reader, data.schema, restored)
    if hasattr(data, "to_reader") and hasattr(data, "projected_schema"):
        restored = _pyarrow_types(data.projected_schema, columns)
        return _of_schema(data.to_reader(), data.projected_schema, restored)
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        raise _no_table("pyarrow", data, "pass what its read() gives, or the path of the file")
    if not hasattr(data, "schema"):
        raise SchemaError(
            "a pyarrow Array or ChunkedArray has no user column; pass a Table with both columns"
        )
    if hasattr(data, "select") and _narrows(columns, data.schema.names):
        data = data.select(columns)
    restored = _pyarrow_types(data.schema, columns)
    return _of_schema(data, data.schema, restored)


def without_rows(schema: Any) -> Any:
    """Return a table of a pyarrow schema without rows; pyarrow cannot make empty columns of every type."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, [])


def _of_schema(source: Any, schema: Any, restored: Restored) -> Adapted:
    names = list(schema.names)
    return Adapted(source, "pyarrow", restored=restored, names=names, declared=without_rows(schema))


def _pyarrow_types(schema: Any, columns: NamedColumns) -> Restored:
    """Return which items are to become dictionaries again, and the types of their indices."""
    import pyarrow.types as pt

    lost = []
    for name in dict.fromkeys(columns.items):
        at = schema.get_field_index(name)
        kind = schema.field(at).type if at >= 0 else None
        if kind is not None and _is_list(kind):
            kind = kind.value_type
        if kind is not None and pt.is_dictionary(kind):
            lost.append((name, kind.index_type))
    return Restored("pyarrow", tuple(lost))


def _is_list(kind: Any) -> bool:
    import pyarrow.types as pt

    views = (getattr(pt, name, None) for name in ("is_list_view", "is_large_list_view"))
    known = (pt.is_list, pt.is_large_list, pt.is_fixed_size_list, *views)
    return any(check is not None and check(kind) for check in known)


def _duckdb(data: Any, columns: NamedColumns) -> Adapted | None:
    if not hasattr(data, "columns"):
        raise SchemaError("a DuckDB connection or statement is not a table; pass con.sql('select ...')")
    check_duckdb(data, columns)
    if missing := next((name for name in columns.named if name not in data.columns), None):
        # Not the names that are there: those of a CSV without a header, or of JSON, are data.
        raise SchemaError(
            f"the relation has no column named {quoted(missing)}; name its columns in the query, such as "
            "SELECT person AS user, and set user= and item= to them"
        )
    if _narrows(columns, data.columns):
        data = data.project(", ".join(_quoted(name) for name in columns))
    kind = "pyarrow" if find_spec("pyarrow") else "table"
    # A limit of 0 reads no row.
    declared = duckdb_stream(data.limit(0))
    return Adapted(duckdb_stream(data), kind, names=list(data.columns), declared=declared)


def duckdb_stream(relation: Any) -> Any:
    """Return a relation as an object with an Arrow stream, whose query runs when it is read."""
    if hasattr(relation, "__arrow_c_stream__"):
        return relation
    for name in ("to_arrow_reader", "fetch_record_batch"):
        if hasattr(relation, name):
            return _Later(getattr(relation, name))
    raise SchemaError("this version of DuckDB exports no Arrow stream; update DuckDB, or pass data.arrow()")


class _Later:
    """A table that is made when it is read."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the capsule of the table."""
        return self._make().__arrow_c_stream__(requested_schema)


def _datasets(data: Any, columns: NamedColumns) -> Adapted:
    from dpsel._ingest._datasets import batches_of_dataset

    batches, names = batches_of_dataset(data, columns)
    declared = None if data.features is None else without_rows(data.features.arrow_schema)
    return Adapted(batches, "pyarrow", in_batches=True, names=names, declared=declared)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


ADAPTERS: Final[dict[str, Callable[[Any, NamedColumns], Adapted | None]]] = {
    "polars": _polars,
    "pandas": _pandas,
    "pyarrow": _pyarrow,
    "duckdb": _duckdb,
    "datasets": _datasets,
}
