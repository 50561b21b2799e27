"""Rows (user, number of the column, value as text), of a table and of values that are known already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dpsel._arguments import elements, type_name
from dpsel.exceptions import InvalidParameterError, SchemaError
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

#: The column of the users where each row is one.
EACH_ROW: Final = "each row"
_ROWS: Final = 1 << 16


def items_of(user: str | None) -> list[str]:
    """Return names of the columns of an item, which are others than that of the user."""
    return [f"{name} of {user}" if name == user else name for name in ("column", "value")]


def pairs_of(table: Any, names: list[str], user: str | None) -> Any:
    """Return rows (user, number of the column, value as text), which are made when they are read."""
    import pyarrow as pa

    kind = pa.int64() if user is None else table.schema.field(user).type
    column, value = items_of(user)
    schema = pa.schema(
        [(EACH_ROW if user is None else user, kind), (column, pa.int64()), (value, pa.large_string())]
    )

    def batches() -> Iterator[Any]:
        done = 0
        for batch in table.to_batches(max_chunksize=_ROWS):
            rows = len(batch)
            users = pa.array(range(done, done + rows), kind) if user is None else batch.column(user)
            for number, name in enumerate(names):
                yield pa.RecordBatch.from_arrays(
                    [users, pa.array([number] * rows, pa.int64()), _as_text(batch.column(name))],
                    schema=schema,
                )
            done += rows

    return pa.RecordBatchReader.from_batches(schema, batches())


def _as_text(array: Any) -> Any:
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_dictionary(array.type):
        # Of views of texts, as polars has them, there is no decoding.
        return _as_text(array.dictionary).take(array.indices)
    return array.cast(read_as(array.type)).cast(pa.large_string())


def read_as(kind: Any) -> Any:
    """Return the type whose texts are the items of a column of a type; both ways each value has one.

    Of days it is their number, since pyarrow reads no text of a year beyond 9999.
    """
    import pyarrow as pa
    import pyarrow.types as pt

    return pa.int32() if pt.is_date32(kind) else kind


def public_pairs(values: Mapping[str, Iterable[Any]], kinds: dict[str, Any]) -> list[tuple[int, str]]:
    """Return public values as items, which are pairs of a number of a column and a text."""
    if not hasattr(values, "items"):
        raise InvalidParameterError(
            f"public_values must have values by column, got {type_name(values)}; give a dict of lists"
        )
    places = {name: place for place, name in enumerate(kinds)}
    if others := [name for name in values if name not in places]:
        raise InvalidParameterError(
            f"public_values names {quoted(str(others[0]))}, which is none of columns=; leave it out"
        )
    return [
        (places[name], text)
        for name, listed in values.items()
        for text in _public_texts(name, listed, kinds[name])
    ]


def _public_texts(name: str, listed: Any, kind: Any) -> list[str]:
    """Return values as the texts of items; nothing is made of another type, such as 1 of True or of 1.0."""
    import pyarrow as pa

    if isinstance(listed, str | bytes):
        raise InvalidParameterError(
            "public_values must have a list for each column, got one text; use a list"
        )
    values = [
        value.item() if hasattr(value, "item") else value for value in elements("public_values", listed)
    ]
    try:
        array = pa.array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        array = None
    if array is None or list(map(_with_type, array.to_pylist())) != list(map(_with_type, values)):
        raise SchemaError(
            f"public_values of column {quoted(name)} must be of its type {kind}; convert the others"
        )
    if array.null_count:
        raise InvalidParameterError("public_values must have no missing value, got one; leave it out")
    texts: list[str] = _as_text(array).to_pylist()
    return texts


def _with_type(value: Any) -> tuple[type, Any]:
    return type(value), value
