"""``domains``: one selection of pairs (column, value)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel.column_domains._domains import Domains, typed
from dpsel.column_domains._pairs import EACH_ROW, items_of, pairs_of, public_pairs
from dpsel.column_domains._table import checked_names, columns_as_arrow, kind_of
from dpsel.selection import select_partitions

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from dpsel.accounting import Counts, Privacy
    from dpsel.mechanisms import SelectionMechanism
    from dpsel.typing import Progress


def domains(
    data: Any,
    *,
    columns: Sequence[str],
    privacy: Privacy,
    user: str | None = None,
    max_items_per_user: int | None = None,
    mechanism: SelectionMechanism | str = "steered",
    counts: float | Counts | None = None,
    public_values: Mapping[str, Iterable[Any]] | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    scratch: str | os.PathLike[str] | None = "auto",
    scratch_limit: int | str | None = None,
    progress: Progress | bool | None = None,
    insecure_test_key: bytes | None = None,
) -> Domains:
    """Return the values of each column that may be published, in one call for all columns.

    Items are pairs (column, value), so all columns share one budget. That finds far more values than a call
    for each column with a part of the budget.

    Args:
        data: A pyarrow, polars or pandas table, or anything else with the Arrow stream method.
        columns: The columns: integers, texts, booleans or dates, also as categories.
        privacy: The guarantee, as [`ApproxDP`][dpsel.ApproxDP] or [`ZCDP`][dpsel.ZCDP], for all columns.
        user: Column that identifies the user. Without it **each row is a user**, and the report says so.
        max_items_per_user: The most values that a user contributes, in all columns together; by default the
            number of columns. Give a larger one if users have several rows.
        mechanism: How to select, as in [`select_partitions`][dpsel.select_partitions].
        counts: Also return noisy numbers of users, or rows, for this share of the budget, as
            [`select_partitions`][dpsel.select_partitions] does; they are in ``counts``.
        public_values: Values that are known already, by column, such as ``{"sex": ["f", "m"]}``. They come
            out in any case and take nothing of the budget or the limit.
        threads: The most threads to use.
        memory_limit: The most bytes to use beside the table, such as ``"4GiB"``.
        scratch: Where rows beyond that go on, as in [`select_partitions`][dpsel.select_partitions].
        scratch_limit: The most bytes to use there.
        progress: ``True`` for a bar, or a function that is called with ``(done, total)``.
        insecure_test_key: 32 bytes that replace the secret key. **Not private**; for tests only.

    Returns:
        The values by column.

    Raises:
        InvalidParameterError: If no column is named, the column of the user is among them, or
            ``public_values`` names another one.
        SchemaError: If a column is missing, or has floating-point numbers or another type without domains, or
            public values of another type.
        ImportError: If pyarrow is not installed.

    Examples:
        >>> import dpsel
        >>> import pyarrow as pa
        >>> table = pa.table({"city": ["Oslo", "Lima"] * 500, "code": ["1", "2"] * 500})
        >>> found = dpsel.domains(
        ...     table, columns=["city", "code"], privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
        ... )
        >>> found["code"], found
        (['1', '2'], <dpsel.Domains: city: 2, code: 2; each row is a user>)
        >>> found = dpsel.domains(
        ...     table,
        ...     columns=["city", "code"],
        ...     privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        ...     counts=0.3,
        ...     public_values={"city": ["Rome"]},
        ... )
        >>> found["city"], len(found.counts["city"])
        (['Lima', 'Oslo', 'Rome'], 3)
    """
    names = checked_names(columns, user)
    table = columns_as_arrow(data, [*names, *([] if user is None else [user])])
    kinds = {name: kind_of(name, table.schema.field(name).type) for name in names}
    known = None if public_values is None else public_pairs(public_values, kinds)
    release = select_partitions(
        pairs_of(table, names, user),
        user=EACH_ROW if user is None else user,
        item=items_of(user),
        privacy=privacy,
        max_items_per_user=len(names) if max_items_per_user is None else max_items_per_user,
        mechanism=mechanism,
        counts=counts,
        public_items=known,
        threads=threads,
        memory_limit=memory_limit,
        scratch=scratch,
        scratch_limit=scratch_limit,
        progress=progress,
        insecure_test_key=insecure_test_key,
    )
    arrays, numbers = typed(release, kinds)
    return Domains(arrays, release.report, numbers, users=user is not None)
