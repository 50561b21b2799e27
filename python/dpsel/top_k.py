"""``select_top_k`` and ``top_k_from_counts``: the k items that most users hold.

Examples:
    >>> import dpsel
    >>> release = dpsel.top_k_from_counts(
    ...     [900, 20, 700, 0], labels=["tea", "gin", "milk", "ink"], k=2, privacy=dpsel.PureDP(epsilon=1.0)
    ... )
    >>> release.items
    ['tea', 'milk']
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

from dpsel import _core
from dpsel._arguments import as_count, as_flag, as_int, type_name
from dpsel._ingest._libraries import library_of
from dpsel._payment import begin_call
from dpsel._request import checked_privacy
from dpsel.accounting import ZCDP, ApproxDP, PureDP
from dpsel.exceptions import InvalidParameterError, SchemaError
from dpsel.item_table import ItemTable
from dpsel.mechanisms import _top_k_auto
from dpsel.selection import checked_test_key, columns_of, open_columns
from dpsel.top_k_release import TopKRelease

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike
    from typing import TypeVar, Unpack

    from dpsel.accounting import Privacy
    from dpsel.mechanisms import TopKMechanism
    from dpsel.typing import (
        ArrowArrayExportable,
        ArrowStreamExportable,
        FileFormat,
        IntoContributions,
        LazyTable,
        Neighbours,
        NeighboursOfCounts,
        Pair,
        Progress,
        Relation,
        Table,
        TopKOptions,
    )

    TableT = TypeVar("TableT", bound=Table)
    OtherT = TypeVar("OtherT")

__all__ = ["select_top_k", "top_k_from_counts"]

_ENCODER: Final = json.JSONEncoder(allow_nan=False)

PublishedCounts: TypeAlias = PureDP | ApproxDP | ZCDP | Literal["free"] | None


@overload
def select_top_k(
    data: str | PathLike[str] | Sequence[str] | Sequence[PathLike[str]], **options: Unpack[TopKOptions]
) -> TopKRelease[ItemTable]: ...
@overload
def select_top_k(data: Iterable[Pair], **options: Unpack[TopKOptions]) -> TopKRelease[list[Any]]: ...
@overload
def select_top_k(data: TableT, **options: Unpack[TopKOptions]) -> TopKRelease[TableT]: ...
@overload
def select_top_k(data: LazyTable[OtherT], **options: Unpack[TopKOptions]) -> TopKRelease[OtherT]: ...
@overload
def select_top_k(data: Relation[OtherT], **options: Unpack[TopKOptions]) -> TopKRelease[OtherT]: ...
@overload
def select_top_k(
    data: ArrowStreamExportable | ArrowArrayExportable, **options: Unpack[TopKOptions]
) -> TopKRelease[ItemTable]: ...
@overload
def select_top_k(data: IntoContributions, **options: Unpack[TopKOptions]) -> TopKRelease[Any]: ...
def select_top_k(  # noqa: PLR0913 - keywords, most with defaults
    data: IntoContributions,
    *,
    user: str | None = None,
    item: str | Sequence[str] | None = None,
    k: int,
    privacy: Privacy,
    mechanism: TopKMechanism | Literal["auto"] = "auto",
    domain: Iterable[Any] | None = None,
    ordered: bool = True,
    counts: PublishedCounts = None,
    max_items_per_user: int | None = None,
    neighbours: Neighbours = "add_remove",
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: Progress | None = None,
    insecure_test_key: bytes | None = None,
    file_format: FileFormat | None = None,
) -> TopKRelease[Any]:
    """Return about the k items that most users hold.

    Rows say that a user has an item; repeated rows count once. The items are drawn with exactly the
    probabilities of the mechanism, from a fresh secret key.

    Args:
        data: As for :func:`~dpsel.select_partitions`.
        user: Column that identifies the user, the unit of privacy.
        item: Column of the item, or several columns that make up one.
        k: Number of items.
        privacy: The guarantee.
        mechanism: How to pick. ``"auto"`` decides by the other arguments alone, and the report says why.
        domain: The items that can be picked, a public list; items of it that nobody holds have count 0,
            and rows of other items do not matter, to the limit neither. They have the type of the column,
            or are text that is written like its values (``"12"``, ``"2024-01-31"``). They come back in the
            column's type, or as they were given where the source declares none. Without it the items of the
            data are secret, which needs delta: :class:`~dpsel.LimitDomain` or :class:`~dpsel.Discover`.
        ordered: Whether the order of the items is wanted. A set is far more accurate.
        counts: A budget publishes noisy counts of the items, on top of ``privacy``: Laplace noise for
            ``PureDP``, Gaussian noise (of about the root of k instead of k) for ``ZCDP``, the smaller one for
            ``ApproxDP``. ``"free"`` publishes those that the mechanism has anyway.
        max_items_per_user: If given, users with more items contribute a random choice of that many.
        neighbours: ``"add_remove"`` one user, or ``"swap"`` one for another, which needs more noise.
        threads: The most threads to use.
        memory_limit: The most bytes to use.
        progress: Called with ``(done, total)``, as for :func:`~dpsel.select_partitions`.
        insecure_test_key: 32 bytes that replace the secret key, for tests: then nothing is private.
        file_format: The format of files whose names do not say it.

    Returns:
        The items, best first (sorted by themselves if they have no order), with the report.

    Raises:
        InvalidParameterError: If a parameter is out of range or does not fit another one.
        SchemaError: If a column is missing or has a type that cannot be a user or an item, or the domain has
            items of another type than the column.
        DataError: If the rows break a rule, such as a null user, or their source fails.
        FileError: If a file cannot be read.
        CalibrationError: If the budget is too small.

    Examples:
        >>> import dpsel
        >>> rows = [(user, drink) for user in range(500) for drink in ("tea", "milk")] + [(7, "gin")]
        >>> dpsel.select_top_k(
        ...     rows, k=2, privacy=dpsel.PureDP(epsilon=1.0), domain=["gin", "milk", "tea"], ordered=False
        ... ).items
        ['milk', 'tea']
    """
    request, labels, reason = row_request(
        columns_of(user, item),
        k=k,
        privacy=privacy,
        mechanism=mechanism,
        domain=domain,
        ordered=ordered,
        counts=counts,
        max_items_per_user=max_items_per_user,
        neighbours=neighbours,
    )
    job = _core.Job(
        request,
        test_key=checked_test_key(insecure_test_key),
        threads=None if threads is None else as_int("threads", threads),
        memory_limit=None if memory_limit is None else as_int("memory_limit", memory_limit),
        progress=progress,
        chosen=reason,
        public_table=labels,
    )
    opened = open_columns(data, user, item, file_format)
    opened.check(job)
    payment = begin_call(
        privacy, counts=priced(counts), neighbours=neighbours, private=insecure_test_key is None
    )
    release: TopKRelease[Any] = TopKRelease.from_core(opened.top_k(job), opened.returns, opened.restored)
    payment.report = release.report
    return release


def top_k_from_counts(
    counts: Any,
    *,
    labels: Sequence[Any] | None = None,
    k: int,
    privacy: Privacy,
    mechanism: TopKMechanism | Literal["auto"] = "auto",
    domain: int | None = None,
    ordered: bool = True,
    publish_counts: PublishedCounts = None,
    max_items_per_user: int | None = None,
    neighbours: NeighboursOfCounts = "add_remove",
    sensitivity: int = 1,
    insecure_test_key: bytes | None = None,
) -> TopKRelease[list[Any]]:
    """Return about the k items with the largest counts.

    One user may change any number of counts, each by at most ``sensitivity`` (1 by default), and *all in one
    direction*: a user who is added lowers no count. Numbers of users, and sums of what users add, are such
    counts. If one user can raise some counts and lower others, the guarantee holds with ``neighbours="any"``
    only. Unless the mechanism finds the domain itself, the list of items is public and only the counts are
    secret.

    Args:
        counts: Whole numbers between -2^62 and 2^62: a numpy, Arrow, polars or pandas array in one
            dimension, a list, or a mapping (such as a ``Counter``) of items to counts.
        labels: The item of each count, distinct and of one sortable type: the public list. By default the
            positions, or the keys of a mapping. The index of a pandas Series is no such list by itself.
        k: Number of items.
        privacy: The guarantee.
        mechanism: How to pick; ``"auto"`` decides by the other arguments alone.
        domain: Number of items of the domain, if it has more than are listed, none of which anybody can hold.
            One of these comes back as ``None``. The listed items must be public all the same: a list of those
            found in the data would tell, by what can be named, who is missing.
        ordered: Whether the order of the items is wanted.
        publish_counts: As ``counts`` of :func:`select_top_k`.
        max_items_per_user: The most counts that one user changes, if that is known to be bounded.
        neighbours: ``"add_remove"`` one user, which changes counts in one direction; ``"swap"`` one for
            another; or ``"any"`` lists of which each count differs by at most ``sensitivity``, in either
            direction. The last two need twice the noise for most mechanisms.
        sensitivity: The most by which one user changes a count.
        insecure_test_key: 32 bytes that replace the secret key, for tests.

    Returns:
        The items, best first (sorted by themselves if they have no order), with the report.

    Raises:
        InvalidParameterError: If a parameter is out of range or does not fit another one.
        SchemaError: If the counts are not whole numbers, or labels repeat or do not fit.
        DataError: If a count is out of range.
        CalibrationError: If the budget is too small.

    Examples:
        >>> import dpsel
        >>> dpsel.top_k_from_counts([3, 900, 800], k=2, privacy=dpsel.PureDP(epsilon=1.0)).items
        [1, 2]
    """
    privacy = checked_privacy(privacy)
    bound = None if max_items_per_user is None else as_int("max_items_per_user", max_items_per_user)
    counts, labels = _labelled(counts, labels)
    ordered, finds = as_flag("ordered", ordered), getattr(mechanism, "finds_domain", False)
    chosen, reason = _top_k_auto.resolve(
        mechanism, privacy, known=not finds, ordered=ordered, bounded=bound is not None
    )
    if chosen.name == "discover":
        raise InvalidParameterError(
            "Discover selects partitions, for which rows are needed, not counts; "
            "use select_top_k or LimitDomain"
        )
    request = top_k_request(
        k,
        privacy,
        chosen,
        bound=bound,
        neighbours=neighbours,
        sensitivity=sensitivity,
        counts=publish_counts,
        domain=_domain_of_counts(domain, finds=finds),
    )
    numbers = _numbers(counts)
    order = None if labels is None else _canonical_order(_as_list("labels", labels))
    if order is not None:
        values = _as_list("counts", numbers)
        if len(values) != len(order):
            raise SchemaError(f"there are {len(values)} counts but {len(order)} labels; give one for each")
        numbers = [values[position] for position, _ in order]
    payment = begin_call(
        privacy, counts=priced(publish_counts), neighbours=neighbours, private=insecure_test_key is None
    )
    positions, noisy, report = _core.top_k_counts(
        numbers, request, test_key=checked_test_key(insecure_test_key), chosen=reason
    )
    names = {at: at if order is None else order[at][1] for at in positions if at is not None}
    items = [None if at is None else names[at] for at in positions]
    published = None if publish_counts is None else noisy
    release = TopKRelease.from_counts(items, published, report)
    payment.report = release.report
    return release


def row_request(
    columns: list[str],
    *,
    k: int,
    privacy: Privacy,
    mechanism: TopKMechanism | Literal["auto"],
    domain: Iterable[Any] | None,
    ordered: bool,
    counts: PublishedCounts,
    max_items_per_user: int | None,
    neighbours: str,
) -> tuple[str, list[tuple[int, Any]] | None, str | None]:
    """Return one call on rows as JSON, the public list as pairs, and why the mechanism was chosen."""
    privacy = checked_privacy(privacy)
    if isinstance(domain, int):
        raise InvalidParameterError(
            "domain must be a list of public items, got a number; the items found in rows are secret, and an "
            "answer that names them but not the others would tell which they are"
        )
    bound = None if max_items_per_user is None else as_int("max_items_per_user", max_items_per_user)
    ordered = as_flag("ordered", ordered)
    chosen, reason = _top_k_auto.resolve(
        mechanism, privacy, known=domain is not None, ordered=ordered, bounded=bound is not None
    )
    request = top_k_request(
        k,
        privacy,
        chosen,
        bound=bound,
        neighbours=neighbours,
        counts=counts,
        domain={"kind": "unknown" if domain is None else "listed"},
        columns={"user": columns[0], "items": columns[1:]},
    )
    labels = None if domain is None else [(0, label) for label in _as_list("domain", domain)]
    return request, labels, reason


def top_k_request(
    k: int,
    privacy: Privacy,
    mechanism: TopKMechanism,
    *,
    bound: int | None = None,
    neighbours: str = "add_remove",
    sensitivity: int = 1,
    counts: object = None,
    domain: dict[str, Any] | None = None,
    columns: dict[str, Any] | None = None,
) -> str:
    """Return one call, apart from the data and the key, as JSON."""
    if neighbours not in ("add_remove", "swap", "any"):
        raise InvalidParameterError(
            f'neighbours must be "add_remove", "swap" or (for counts) "any", got {neighbours!r}; '
            "most guarantees are stated for adding or removing a user"
        )
    number = as_int("k", k)
    if not 1 <= number <= 10_000_000:  # noqa: PLR2004 - the limit of the core, whose type is unsigned
        raise InvalidParameterError(
            f"k must be between 1 and 10,000,000, got {number}; it is the number of items that you want"
        )
    if bound is not None:
        _core.validate_bound(bound)
    request = {
        "k": number,
        "privacy": privacy.to_json(),
        "mechanism": mechanism.to_json(),
        "neighbours": neighbours,
        "sensitivity": as_count("sensitivity", sensitivity),
        "max_items_per_user": bound,
        "domain": domain or {"kind": "unknown" if mechanism.finds_domain else "listed"},
        "counts": _published(counts),
    }
    if columns is not None:
        request["columns"] = columns
    return _ENCODER.encode(request)


def _published(counts: object) -> dict[str, Any]:
    if counts is None:
        return {"kind": "none"}
    if isinstance(counts, str) and counts == "free":
        return {"kind": "free"}
    if isinstance(counts, PureDP):
        return {"kind": "laplace", "epsilon": counts.epsilon}
    if isinstance(counts, ApproxDP | ZCDP):
        return {"kind": "noise", "privacy": counts.to_json()}
    raise InvalidParameterError(
        f'counts must be None, "free" or PureDP, ApproxDP or ZCDP, got {type_name(counts)}; '
        "noisy counts have a budget of their own"
    )


def priced(counts: PublishedCounts) -> PureDP | ApproxDP | ZCDP | None:
    """Return what published counts cost on top of the items."""
    return None if counts is None or isinstance(counts, str) else counts


def _domain_of_counts(domain: object, *, finds: bool) -> dict[str, Any]:
    if domain is None:
        return {"kind": "unknown" if finds else "listed"}
    if isinstance(domain, bool) or not hasattr(domain, "__index__"):
        raise InvalidParameterError(
            f"domain must be a number of items, got {type_name(domain)}; labels= names the items"
        )
    return {"kind": "sized", "items": max(0, as_int("domain", domain))}


def _labelled(counts: Any, labels: Sequence[Any] | None) -> tuple[Any, Sequence[Any] | None]:
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
    if len(getattr(counts, "shape", (1,))) != 1:
        raise _no_vector(counts)
    if labels is None and library_of(counts) == "pandas" and not _is_numbered(getattr(counts, "index", None)):
        raise SchemaError(
            "counts is a pandas Series, whose index would be lost: the answer would name positions; "
            "pass counts.to_dict() if all of its index is public, or labels= the public list"
        )
    return counts, labels


def _is_numbered(index: Any) -> bool:
    """Whether an index only counts: then its labels are the positions."""
    return index is None or list(index) == list(range(len(index)))


def _numbers(counts: Any) -> Any:
    """Return an array that the core can read, or the values; with missing ones they are refused there."""
    if hasattr(counts, "to_numpy"):
        nulls = getattr(counts, "null_count", 0)
        if nulls() if callable(nulls) else nulls:
            return _as_list("counts", counts)
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


def _as_list(name: str, values: Any) -> list[Any]:
    """Return any array or iterable as a list of Python values."""
    # The class is asked: a pandas Series has its labels as attributes.
    is_table = any(hasattr(type(values), name) for name in ("columns", "column_names"))
    if isinstance(values, Mapping) or (is_table and not isinstance(values, ItemTable)):
        raise SchemaError(
            f"{name} must be a list or an array, got {type_name(values)}; give one column of a table, "
            "or the keys of a mapping as a list"
        )
    if getattr(getattr(values, "dtype", None), "kind", "") == "M" and hasattr(values, "ndim"):
        # As a list, numpy's times of nanoseconds become bare integers.
        return list(values)
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(values, method):
            converted: list[Any] = getattr(values, method)()
            return converted
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise SchemaError(
            f"{name} must be a list or an array, got {type_name(values)}; give one entry per item"
        )
    return list(values)


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
