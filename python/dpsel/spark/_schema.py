"""Column types of Spark DataFrames, as Arrow has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["arrow_schema", "item_types", "quoted"]


def arrow_schema(data: Any, columns: Sequence[str]) -> Any:
    """Return the Arrow schema of a DataFrame: true types of the needed columns, only names of the others.

    Nothing is read: an empty selection is a local one.
    """
    import pyarrow as pa

    names = list(data.columns)
    known = [name for name in columns if names.count(name) == 1]
    types = {}
    if known:
        empty = data.select([quoted(name) for name in known]).limit(0).toArrow().schema
        types = {field.name: field.type for field in empty}
    return pa.schema([pa.field(name, types.get(name, pa.null())) for name in names])


def item_types(data: Any, items: Sequence[str], *, is_text: bool) -> list[Any]:
    """Return Spark's fields of the released items: elements of lists, n-grams of texts."""
    from pyspark.sql import types as t

    fields = []
    for name in items:
        field = data.select(quoted(name)).schema.fields[0]
        kind = field.dataType
        if isinstance(kind, t.ArrayType):
            kind = kind.elementType
        fields.append(t.StructField(name, t.StringType() if is_text else kind))
    return fields


def quoted(name: str) -> str:
    """Return the name as Spark's expressions write it: dots and quotes mean nothing."""
    return "`" + name.replace("`", "``") + "`"
