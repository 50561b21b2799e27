"""Counts in one dimension and their labels."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dpsel._arguments import type_name
from dpsel._ingest._columns import declares_type
from dpsel._ingest._libraries import library_of
from dpsel._request import as_list
from dpsel.exceptions import SchemaError
from dpsel.release._wording import quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The formats of integers in buffers.
_INTEGERS = tuple("bBhHiIlLqQnN")

__all__ = ["in_order_of_labels", "with_labels"]


def with_labels(counts: Any, labels: Sequence[Any] | None) -> tuple[Any, Sequence[Any] | None]:
    """Return counts in one dimension and their labels, which the keys of a mapping are."""
    if isinstance(counts, Mapping):
        if labels is not None:
            raise SchemaError("counts is a mapping, whose keys are the labels; leave labels out")
        return list(counts.values()), list(counts)
    is_bytes = isinstance(counts, bytes | bytearray) or (
        isinstance(counts, memoryview) and counts.itemsize == 1
    )
    if is_bytes or isinstance(counts, AbstractSet) or hasattr(counts, "filled"):
        raise _no_vector(counts)
    if len(getattr(counts, "shape", (1,))) != 1 or not _are_integers(counts):
        raise _no_vector(counts)
    if labels is None and library_of(counts) == "pandas" and not _is_numbered(getattr(counts, "index", None)):
        raise SchemaError(
            "counts is a pandas Series, whose index would be lost: the answer would name positions; "
            "pass counts.to_dict() if all of its index is public, or labels= the public list"
        )
    return counts, labels


def in_order_of_labels(counts: Any, labels: Sequence[Any] | None) -> tuple[Any, list[Any] | None]:
    """Return the counts and their labels in the order of the labels, so that no other order matters."""
    numbers = _numbers(counts)
    if labels is None:
        return numbers, None
    order = _canonical_order(as_list("labels", labels))
    values = as_list("counts", numbers)
    if len(values) != len(order):
        raise SchemaError(
            f"got {quantity(len(values), 'count')} but {quantity(len(order), 'label')}; give one for each"
        )
    return [values[position] for position, _ in order], [label for _, label in order]


def _are_integers(counts: Any) -> bool:
    """Whether counts may be integers, by what needs no value: a length, and the type that is declared."""
    if isinstance(counts, str) or not hasattr(counts, "__len__") or not hasattr(counts, "__iter__"):
        return False
    library = library_of(counts)
    if library == "pyarrow":
        import pyarrow.types as pt

        return bool(pt.is_integer(counts.type))
    if library == "polars":
        return bool(counts.dtype.is_integer())
    if declares_type(counts):
        return str(counts.dtype.kind) in "iu"
    code = getattr(counts, "typecode", None) or getattr(counts, "format", "q")
    is_nested = isinstance(counts, list | tuple) and isinstance(
        next(iter(counts), None), list | tuple | Mapping
    )
    return code in _INTEGERS and not is_nested


def _is_numbered(index: Any) -> bool:
    """Whether an index only counts: then its labels are the positions."""
    return index is None or list(index) == list(range(len(index)))


def _numbers(counts: Any) -> Any:
    """Return an array that the core can read, or the values; with missing ones they are refused there."""
    if hasattr(counts, "to_numpy"):
        nulls = getattr(counts, "null_count", 0)
        if nulls() if callable(nulls) else nulls:
            return as_list("counts", counts)
        counts = counts.to_numpy()
    # The core reads the byte order of this machine.
    if getattr(getattr(counts, "dtype", None), "isnative", True):
        return counts
    return counts.astype(counts.dtype.newbyteorder("="))


def _no_vector(counts: object) -> SchemaError:
    return SchemaError(
        "counts must be whole numbers in one dimension and in order, without missing ones, got "
        f"{type_name(counts)}; give a list, an array of one dimension, or a mapping of items to counts"
    )


def _canonical_order(labels: list[Any]) -> list[tuple[int, Any]]:
    """Return positions and labels in order of the labels, so that the order they came in does not matter."""
    try:
        order = sorted(enumerate(labels), key=lambda pair: pair[1])
    except TypeError:
        raise SchemaError(
            "labels must be of one sortable type; give all of them as texts, or as ints"
        ) from None
    if any(one[1] == next_one[1] for one, next_one in pairwise(order)):
        raise SchemaError("labels must be distinct, but some repeat; add up the counts of equal labels first")
    return order
