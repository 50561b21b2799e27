"""Column types of Spark DataFrames, as Arrow has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel._ingest._spark_types import arrow_type, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["arrow_schema", "exact_schema", "item_types", "quoted"]


def arrow_schema(data: Any, columns: Sequence[str]) -> Any:
    """Return the Arrow schema of a DataFrame without a job: types of needed columns, names of the others.

    Time zones may be other ones than tasks see.
    """
    import pyarrow as pa

    needed = set(columns)
    fields = data.schema.fields
    return pa.schema(
        [
            pa.field(field.name, arrow_type(field.dataType) if field.name in needed else pa.null())
            for field in fields
        ]
    )


def exact_schema(data: Any, columns: Sequence[str]) -> Any:
    """Return the Arrow schema of the needed columns as tasks see it. It takes a job without rows."""
    return data.select([quoted(name) for name in columns]).limit(0).toArrow().schema


def item_types(data: Any, items: Sequence[str], *, is_text: bool) -> list[Any]:
    """Return Spark's fields of the released items: elements of lists, n-grams of texts."""
    from pyspark.sql import types as t

    fields = []
    for name in items:
        kind = data.select(quoted(name)).schema.fields[0].dataType
        if isinstance(kind, t.ArrayType):
            kind = kind.elementType
        fields.append(t.StructField(name, t.StringType() if is_text else kind))
    return fields
