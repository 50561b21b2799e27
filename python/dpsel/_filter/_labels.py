"""Labels in place of items that were not released."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel._filter._keys import NO_ITEM, RELEASED
from dpsel._ingest._foreign import opened
from dpsel.exceptions import DpselError, InvalidParameterError

if TYPE_CHECKING:
    from dpsel._filter._keys import Keys

__all__ = ["labels_of", "no_label", "not_released", "scalar_of"]


def labels_of(keys: Keys, other: Any, columns: list[str]) -> list[Any] | None:
    """Return a label for each column, or ``None`` for rows to be left out.

    Raises:
        InvalidParameterError: If the label is a released item, is missing, or is of another kind than the
            items, by the identity of items of a selection.
    """
    if other is None:
        return None
    labels = list(other) if isinstance(other, tuple) else [other] * len(columns)
    if len(labels) != len(columns):
        raise InvalidParameterError(
            f"other must be one label, or one for each of {len(columns)} item columns, got {len(labels)}; "
            "give a tuple of that length"
        )
    label = labels[0] if len(labels) == 1 else tuple(labels)
    try:
        mark = opened(lambda: keys.mark_of(label))
    except DpselError:
        raise no_label(columns) from None
    if mark == NO_ITEM:
        raise no_label(columns)
    not_released(mark)
    return labels


def not_released(mark: int) -> None:
    """Refuse a label that is a released item, by its mark."""
    if mark == RELEASED:
        raise InvalidParameterError(
            "other must be a label that was not released, got a released item; choose another text"
        )


def no_label(columns: list[str]) -> InvalidParameterError:
    """Return the error for a label that a column cannot hold."""
    return InvalidParameterError(
        f"other must be a value of the type of column {', '.join(columns)}, so that the table keeps its "
        "types; give such a value, one for each column as a tuple, or cast the column"
    )


def scalar_of(label: object, kind: Any) -> Any:
    """Return a label as a value of an Arrow type.

    Raises:
        ValueError: If it is none, as all of Arrow's errors of this kind are, or a ``TypeError``.
    """
    import pyarrow as pa

    if isinstance(label, float):
        # Arrow would cut it off to an integer, and no item is a float.
        raise TypeError
    return pa.scalar(label, kind)
