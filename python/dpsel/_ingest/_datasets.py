"""Datasets of Hugging Face's ``datasets``: read in batches, in the order of their indices."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from dpsel.exceptions import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["batches_of_dataset"]

_ROWS: Final = 1 << 16


def _is_transformed(data: Any) -> bool:
    """Whether a function of the caller's changes the rows that are looked up."""
    stored = getattr(data, "format", None)
    form = stored.get("type") if isinstance(stored, dict) else None
    streamed = getattr(getattr(data, "_formatting", None), "format_type", None)
    return "custom" in (form, streamed)


def _seen(data: Any) -> list[str] | None:
    """Return the columns that the caller sees, if the data set tells them: a format may hide some."""
    stored = getattr(data, "format", None)
    if not isinstance(stored, dict) or stored.get("output_all_columns"):
        names: list[str] | None = data.column_names
        return names
    return list(stored["columns"])


def batches_of_dataset(data: Any, columns: list[str]) -> tuple[Iterator[Any], list[str] | None]:
    """Return the Arrow tables of a ``Dataset`` or ``IterableDataset``, and its columns if it tells them.

    What was selected, shuffled or filtered before is respected. A ``DatasetDict`` has several tables.
    """
    if not hasattr(data, "with_format") or not hasattr(data, "iter"):
        raise SchemaError(
            f"a datasets {type(data).__name__} is not one table; pass one of its splits, such as "
            "data['train']"
        )
    if _is_transformed(data):
        raise SchemaError(
            "this data set has a transform, which is applied where rows are looked at and not to the rows "
            "that are stored; apply it with data.map(...), or drop it with data.with_format(None)"
        )
    names = _seen(data)
    if names is not None and set(columns) <= set(names):
        data = data.select_columns(columns)
    tables = data.with_format("arrow").iter(batch_size=_ROWS)
    if data.features is not None:
        # The empty table first: a data set without rows yields none, and then the types would be unknown.
        tables = chain([data.features.arrow_schema.empty_table()], tables)
    return tables, None if names is None else list(names)
