"""The request of a top-k of rows from the arguments of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpsel._arguments import as_flag, as_int, as_int_if_given, elements, type_name, without_missing
from dpsel._request._auto_top_k import resolve
from dpsel._request._columns import ngrams_of
from dpsel._request._task_requests import top_k_request
from dpsel.accounting import checked_privacy
from dpsel.exceptions import InvalidParameterError, SchemaError
from dpsel.item_table import ItemTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpsel._request._columns import NamedColumns
    from dpsel._request._request import Request
    from dpsel.accounting import Privacy, PublishedCounts
    from dpsel.mechanisms import TopKMechanism

__all__ = ["as_list", "request_of_rows"]


def request_of_rows(
    columns: NamedColumns,
    *,
    k: int,
    privacy: Privacy,
    mechanism: TopKMechanism | str,
    domain: Iterable[Any] | None,
    ordered: bool,
    counts: PublishedCounts,
    max_items_per_user: int | None,
    neighbours: str,
    ngrams: object = None,
    tokenizer: object = None,
) -> Request[TopKMechanism]:
    """Check every argument, and replace ``"auto"`` by a mechanism."""
    privacy = checked_privacy(privacy)
    if isinstance(domain, int):
        raise InvalidParameterError(
            "domain must be a list of public items, got a number; the items found in rows are secret, and an "
            "answer that names them but not the others would tell which they are"
        )
    bound = as_int_if_given("max_items_per_user", max_items_per_user)
    ordered = as_flag("ordered", ordered)
    chosen, reason = resolve(
        mechanism,
        privacy,
        k=as_int("k", k),
        known=domain is not None,
        ordered=ordered,
        bounded=bound is not None,
        counts=counts,
    )
    given = None if domain is None else without_missing("domain", as_list("domain", domain))
    listed = None if given is None else [(0, item) for item in given]
    request = top_k_request(
        k,
        privacy,
        chosen,
        bound=bound,
        neighbours=neighbours,
        counts=counts,
        domain={"kind": "unknown" if domain is None else "listed"},
        columns=columns,
        ngrams=ngrams_of(ngrams, tokenizer),
        chosen=reason,
        public_table=listed,
    )
    if listed is not None and not chosen.finds_domain:
        _refuse_too_few(as_int("k", k), listed)
    return request


def _refuse_too_few(k: int, listed: list[tuple[int, Any]]) -> None:
    """Refuse more items than a list can have; in the types of the data even fewer may be distinct."""
    try:
        found = len({(type(item), item) for _, item in listed})
    except TypeError:  # of items that have no hash, such as lists
        found = len(listed)
    if k > found:
        noun = "item" if found == 1 else "items"
        raise InvalidParameterError(f"k = {k}, but the list has {found} distinct {noun}; ask for fewer items")


def as_list(name: str, values: Any) -> list[Any]:
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
            converted = getattr(values, method)()
            # An array without dimensions gives its one number.
            if isinstance(converted, list):
                return converted
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise SchemaError(
            f"{name} must be a list or an array, got {type_name(values)}; give one entry per item"
        )
    return elements(name, values)
