"""The rows of a Spark DataFrame whose item was released: a lazy DataFrame.

Spark's own equality is another one: it casts texts to numbers, and collations join texts. So tasks look items
up by the digests of a selection. Only the item columns go to Python. The plan and the function hold released
items, which are public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel._filter._labels import scalar_of
from dpsel._ingest._spark_types import arrow_type, check_batches, check_case, quoted
from dpsel.exceptions import InvalidParameterError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dpsel._filter._keys import Keys

__all__ = ["checked_spark", "spark_changed", "spark_rows", "written"]


def checked_spark(keys: Keys, frame: Any, columns: list[str]) -> list[Any]:
    """Check the types of the columns now, and not when a job runs; return them as Arrow has them."""
    import pyarrow as pa

    check_batches(frame.sparkSession)
    check_case(frame, columns)
    fields = {field.name: field.dataType for field in frame.schema.fields}
    kinds = [arrow_type("item", name, fields[name]) for name in columns]
    # A row without an item: types are looked at where there are rows.
    keys.mask(pa.table([pa.nulls(1, kind) for kind in kinds], names=columns))
    return kinds


def spark_rows(keys: Keys, frame: Any, columns: list[str], labels: list[Any] | None) -> Any:
    """Return the rows with a released item; with ``labels``, given as texts or bytes, all rows."""
    from pyspark.sql import functions as f

    released = _lookup(keys)(*(f.col(quoted(name)) for name in columns))
    if labels is None:
        return frame.filter(released)
    # A row without an item stays as it is.
    stays = f.coalesce(released, f.lit(True))
    types = {field.name: field.dataType for field in frame.schema.fields}
    for name in columns:
        if getattr(types[name], "collation", "UTF8_BINARY") != "UTF8_BINARY":
            # Spark would take the label for another text, and so for a released item.
            raise InvalidParameterError(
                f"column '{name}' has a collation, under which a label may equal a released item; leave "
                "other= out, or give the column the collation UTF8_BINARY"
            )
    return frame.withColumns(
        {
            name: f.when(stays, f.col(quoted(name))).otherwise(f.lit(label).cast(types[name]))
            for name, label in zip(columns, labels, strict=True)
        }
    )


def spark_changed(frame: Any, columns: list[str], changed: Callable[[Any], Any]) -> Any:
    """Return the rows that a function of an Arrow table makes of some rows, with nulls in these columns."""
    from pyspark.sql.types import StructField, StructType

    def each(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            yield from changed(pa.Table.from_batches([batch])).to_batches()

    fields = frame.schema.fields
    may_be_null = [
        StructField(field.name, field.dataType, field.nullable or field.name in columns) for field in fields
    ]
    return frame.mapInArrow(each, StructType(may_be_null))


def written(label: Any, kind: Any) -> Any:
    """Return a label as text, which says the same in every time zone, or as bytes.

    Raises:
        ValueError: As for ``scalar_of``.
    """
    import pyarrow as pa

    value = scalar_of(label, kind)
    return label if pa.types.is_binary(kind) else value.cast(pa.string()).as_py()


def _lookup(keys: Keys) -> Any:
    """Return a function of columns that says of each row whether it is a released item; null for no item."""
    try:
        from pyspark.sql.functions import arrow_udf
    except ImportError:
        raise SchemaError(
            "a Spark DataFrame is filtered with PySpark 4.1 or newer; update PySpark, or join the DataFrame "
            "with the items of the release"
        ) from None
    # PySpark reads annotations of a named function as the kind of function.
    is_released = lambda *columns: _mask(keys, columns)  # noqa: E731
    is_released.__name__ = "is_released"
    return arrow_udf(is_released, "boolean")


def _mask(keys: Keys, columns: tuple[Any, ...]) -> Any:
    import pyarrow as pa

    names = [f"column{place}" for place in range(len(columns))]
    return pa.array(keys.mask(pa.table(list(columns), names=names)))
