"""Replays of whole releases: what does not depend on the released items must not differ at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel.testing._replay import TEST_KEY

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel.release import Release, TopKRelease

__all__ = ["ShapeError", "check_shape", "replay_release", "shape"]


class ShapeError(AssertionError):
    """Two releases of the same items can be told apart.

    Examples:
        >>> from dpsel import testing
        >>> issubclass(testing.ShapeError, AssertionError)
        True
    """


def shape(release: Release | TopKRelease) -> dict[str, Any]:
    """Return all that can be seen of a release but its items and weights.

    Args:
        release: Of ``select_partitions`` or ``select_top_k``.

    Returns:
        Names, types, nullability and metadata of the columns; their chunks and the sizes of their buffers;
        the kind of table in ``release.items`` with its own types and index; what is printed; the report.

    Raises:
        ImportError: If pyarrow is not installed.

    Examples:
        >>> import dpsel
        >>> from dpsel import testing
        >>> release = dpsel.select_partitions(
        ...     [], privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6), max_items_per_user=1
        ... )
        >>> testing.shape(release)["columns"]
        [('item', 'large_string', True, None)]
    """
    import pyarrow as pa

    table, items = pa.table(release.to_table()), release.items
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    # A list has an index too, which is a method.
    own = [str(getattr(items, name, None)) for name in ("schema", "dtypes")]
    own += [str(items.index)] if hasattr(items, "iloc") else []
    return {
        "columns": [(field.name, str(field.type), field.nullable, field.metadata) for field in table.schema],
        "metadata": table.schema.metadata,
        "chunks": [[len(chunk) for chunk in column.chunks] for column in table.columns],
        "buffers": [
            (chunk.offset, [None if part is None else part.size for part in chunk.buffers()])
            for chunk in chunks
        ],
        "items": (type(items).__name__, own),
        "texts": (repr(release), str(release), repr(release.to_table())),
        "report": release.report.to_json(),
    }


def check_shape(before: Release | TopKRelease, after: Release | TopKRelease) -> bool:
    """Raise if two releases have the same items, and something else tells them apart.

    The noisy number of a look (`MatchingOr`) is released as the items are: it has to be the same as well.

    Args:
        before: A release of some table.
        after: That of a neighbouring table, or of the same one in another order, under the same key.

    Returns:
        Whether they have the same items, and looks. If not, nothing is compared.

    Raises:
        ShapeError: Names what differs.
        ImportError: If pyarrow is not installed.

    Examples:
        >>> import dpsel
        >>> from dpsel import testing
        >>> def select(rows):
        ...     return dpsel.select_partitions(
        ...         rows,
        ...         privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...         max_items_per_user=1,
        ...         insecure_test_key=testing.TEST_KEY,
        ...     )
        >>> testing.check_shape(select([]), select([(1, 5)]))
        True
    """
    if _items(before) != _items(after) or before.report.get("look") != after.report.get("look"):
        return False
    left, right = shape(before), shape(after)
    different = [name for name in left if left[name] != right[name]]
    if different:
        raise ShapeError(f"releases of the same items differ in: {', '.join(different)}")
    return True


def replay_release(
    select: Callable[[Any, bytes], Release | TopKRelease], tables: tuple[Any, Any], *, key: bytes = TEST_KEY
) -> bool:
    """Run the same release on two neighbouring tables under the same key, and check its shape.

    Args:
        select: Takes rows and the key, and makes the release.
        tables: Without and with the user, as from [`neighbours`][dpsel.testing.neighbours].
        key: All choices have to follow from it.

    Returns:
        Whether both released the same items.

    Raises:
        ShapeError: If they did, and something else differs.
        ImportError: If pyarrow is not installed.

    Examples:
        >>> import dpsel
        >>> from dpsel import testing
        >>> def select(rows, key):
        ...     return dpsel.select_partitions(
        ...         rows,
        ...         privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...         max_items_per_user=1,
        ...         insecure_test_key=key,
        ...     )
        >>> rows = [(user, "tea") for user in range(100)]
        >>> testing.replay_release(select, (rows, [*rows, (100, "gin")]))
        True
    """
    before, after = (select(rows, key) for rows in tables)
    return check_shape(before, after)


def _items(release: Release | TopKRelease) -> list[Any]:
    import pyarrow as pa

    table = pa.table(release.to_table())
    return [table.column(name).to_pylist() for name in table.column_names if name not in {"weight", "count"}]
