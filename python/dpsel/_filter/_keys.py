"""The items of a release as a set, with the equality that a selection has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import type_name
from dpsel._ingest._c_schema import checked
from dpsel.exceptions import DpselError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from dpsel._core_calls import Release, RowMask, Source

__all__ = ["NO_ITEM", "RELEASED", "Keys"]

#: What a row is, in the bytes of a mask: 0 is an item that was not released.
RELEASED: Final = 1
NO_ITEM: Final = 2

_INT64: Final = 1 << 63
_UINT64: Final = 1 << 64


def _is_large(part: object) -> bool:
    return type(part) is int and _INT64 <= part < _UINT64


class Keys:
    """The released items. Rows are digested as in a selection, so equal items are the same in both.

    Args:
        core: The release.
        columns: The names of its item columns.
        levels: What makes a tree of the items, as the request has it.
    """

    def __init__(self, core: Release, columns: list[str], levels: Any = None) -> None:
        """Digest the items."""
        self.columns = columns
        self._core = core
        self._levels = levels
        self._members = _core_calls.Members(core, columns, None if levels is None else json.dumps(levels))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the items and no digests, whose key is drawn anew."""
        return Keys, (self._core, self.columns, self._levels)

    def mask(self, table: Any) -> RowMask:
        """Return which rows of an Arrow table, whose columns are the item columns, are released items."""
        return self._members.rows(checked(table))

    def levels(self, table: Any) -> bytes:
        """Return for each row of an Arrow table the level of its lowest released node, or 0."""
        return self._members.levels(checked(table))

    def levels_of_values(self, columns: list[list[Any]]) -> bytes:
        """Return the same for columns of Python values."""
        if not any(columns):
            return b""
        return self._members.levels(_core_calls.table_of(self.columns, columns))

    def node_at(self, node: tuple[Any, ...], level: int) -> tuple[Any, ...]:
        """Return the node of this level that stands above one, or is it: as the columns of an item."""
        if isinstance(self._levels, dict):
            separator = self._levels["separator"]
            return (separator.join(node[0].split(separator)[:level]),)
        return tuple(part if at < level else None for at, part in enumerate(node))

    def copy_rows(
        self, source: Source, columns: list[str], labels: list[str] | None, made: Path, shown: Path
    ) -> None:
        """Write the rows of text files whose item is one of these; errors name the output ``shown``."""
        self._members.copy_rows(source, columns, labels, made, shown)

    def mask_of_values(self, values: Iterable[Any]) -> bytes:
        """Return a byte for each Python value: an item, or a tuple if there are several columns."""
        rows = list(values)
        if not rows:
            return b""
        single = len(self.columns) == 1
        columns: list[Any] = [rows] if single else list(zip(*map(self._parts, rows), strict=True))
        return self._members.rows(_core_calls.table_of(self.columns, columns)).to_bytes()

    def __contains__(self, item: object) -> bool:
        """Whether an item was released. A value that can be no item was not."""
        try:
            return self.mark_of(item) == RELEASED
        except DpselError:
            return False

    def mark_of(self, item: object) -> int:
        """Return the byte of a mask for one value.

        Raises:
            DpselError: If it is of another kind than the items.
        """
        parts = item if isinstance(item, tuple) else (item,)
        if any(_is_large(part) for part in parts):
            # Python's integers are read as 64 bits with sign.
            small = tuple(0 if _is_large(part) else part for part in parts)
            self.mask_of_values([small if isinstance(item, tuple) else small[0]])
            return RELEASED if parts in set(zip(*self._values(), strict=True)) else 0
        return self.mask_of_values([item])[0]

    def _values(self) -> list[list[Any]]:
        columns = dict(zip(self._core.column_names, self._core.to_columns(), strict=True))
        return [columns[name] for name in self.columns]

    def _parts(self, item: Any) -> tuple[Any, ...]:
        if isinstance(item, tuple) and len(item) == len(self.columns):
            return item
        raise InvalidParameterError(
            f"an item of this release is a tuple of {len(self.columns)} values, got {type_name(item)}; "
            f"give one for {', '.join(self.columns)}"
        )
