"""The columns of a table, and which types have domains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel._arguments import type_name, with_article
from dpsel._ingest._libraries import library_of
from dpsel._optional import optional
from dpsel._request import columns_of
from dpsel.exceptions import InvalidParameterError, SchemaError
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence


def checked_names(columns: Sequence[str], user: str | None) -> list[str]:
    names = columns_of(user, columns).items
    if not names:
        raise InvalidParameterError("columns must name at least one column, got none; name the columns")
    if user is not None and not isinstance(user, str):
        raise InvalidParameterError(f"user must name one column, got {type_name(user)}; give a text")
    if twice := [name for name in names if names.count(name) > 1 or name == user]:
        raise InvalidParameterError(
            f"columns names {quoted(twice[0])} twice, or as the user too; a list of users is nothing to "
            "publish, so leave it out of columns="
        )
    return names


def columns_as_arrow(data: Any, names: list[str]) -> Any:
    """Return the columns as a table of pyarrow; types must be declared, and not found in values."""
    pa = optional("pyarrow", "domains()")
    library = library_of(data)
    if library == "pyspark":
        raise SchemaError(
            "domains does not read Spark DataFrames; unpivot the columns to rows (user, column, value) and "
            "pass them to dpsel.spark.select_partitions with item=['column', 'value']"
        )
    if not hasattr(data, "__arrow_c_stream__"):
        raise SchemaError(
            f"domains reads tables with declared types, got {with_article(data)}; pass a pyarrow, polars or "
            "pandas table (of a LazyFrame its collect())"
        )
    there = list(
        data.columns if library in ("polars", "pandas", "duckdb") else pa.schema(_schema(data)).names
    )
    for name in names:
        if there.count(name) != 1:
            raise SchemaError(
                f"the table has no single column named {quoted(name)}; columns= and user= name its columns"
            )
    if library == "pandas":
        _refuse_objects(data, names)
    if library in ("polars", "pandas"):
        data = data[names]
    return pa.table(data).select(names)


def _schema(data: Any) -> Any:
    return data.schema if hasattr(data, "schema") else data


def _refuse_objects(data: Any, names: list[str]) -> None:
    for name in names:
        dtype = data.dtypes[name]
        categories = getattr(dtype, "categories", None)
        if str(getattr(categories, "dtype", dtype)) == "object":
            raise SchemaError(
                f"column {quoted(name)} has the type object of pandas, which does not say what its values "
                "are; convert it, for example with astype('string') or astype('Int64')"
            )


def kind_of(name: str, kind: Any) -> Any:
    """Return the type of the values of a column, or refuse it."""
    import pyarrow.types as pt

    plain = kind.value_type if pt.is_dictionary(kind) else kind
    texts = (pt.is_string, pt.is_large_string, pt.is_string_view)
    if any(check(plain) for check in (pt.is_integer, pt.is_boolean, pt.is_date32, *texts)):
        return plain
    raise SchemaError(
        f"column {quoted(name)} has the type {plain}, whose values make no domain; "
        + (
            "round floating-point numbers to integers, or make bins of them"
            if pt.is_floating(plain) or pt.is_decimal(plain)
            else "cast it to integers, texts, booleans or dates (days, date32)"
        )
    )
