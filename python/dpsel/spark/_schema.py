"""Column types of Spark DataFrames, as Arrow has them. Settings of the session decide none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel._ingest._spark_types import arrow_type, check_case, same_form
from dpsel._ingest._tokens import list_type
from dpsel.exceptions import SchemaError
from dpsel.spark._errors import own_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsel._ingest import Tokens
    from dpsel._request import NamedColumns

__all__ = ["arrow_schema", "as_declared", "named_schema", "spark_schema", "with_tokens"]


@own_errors
def arrow_schema(data: Any, columns: NamedColumns) -> Any:
    """Return the Arrow schema of a DataFrame without a job: types of needed columns, names of the others."""
    import pyarrow as pa

    check_case(data, columns)

    def kind(field: Any) -> Any:
        if field.name not in columns:
            return pa.null()
        role = "user" if field.name in columns.users else "item"
        return arrow_type(role, field.name, field.dataType)

    return pa.schema([pa.field(field.name, kind(field)) for field in data.schema.fields])


def with_tokens(schema: Any, items: Sequence[str], tokens: Tokens) -> Any:
    """Return the schema with lists of tokens in place of the texts of the item column.

    Raises:
        SchemaError: If there are several item columns, or the one is no text.
    """
    import pyarrow as pa

    if len(items) != 1:
        raise SchemaError("tokenizer= needs exactly one item column; name the text column alone as item=")
    at = schema.get_field_index(items[0])
    if at < 0:
        # The core has the message.
        return schema
    tokens.check(schema.empty_table(), items[0])
    return schema.set(at, pa.field(items[0], list_type(pa)))


def named_schema(declared: Any, items: Sequence[str], *, is_text: bool) -> Any:
    """Return the Arrow schema of named items: a digest, and elements of lists or n-grams of texts."""
    import pyarrow as pa

    def kind(name: str) -> Any:
        whole = declared.field(name).type
        item = whole.value_type if pa.types.is_list(whole) else whole
        return pa.string() if is_text else item

    return pa.schema([("digest", pa.binary()), *((name, kind(name)) for name in items)])


def spark_schema(schema: Any) -> Any:
    """Return the Spark schema of an Arrow schema, in which times without a zone have none."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def as_declared(batch: Any, schema: Any) -> Any:
    """Give the columns of a batch their names, and see that they are of their declared types.

    Raises:
        SchemaError: If Spark hands over another type: then a user here could not be told from one elsewhere.
    """
    for field, kind in zip(schema, batch.schema.types, strict=True):
        if not same_form(kind, field.type):
            raise SchemaError(
                f"Spark declares column '{field.name}' as {field.type}, but a task got {kind}; what makes "
                "the DataFrame has to give each column its declared type"
            )
    return batch.rename_columns(schema.names)
