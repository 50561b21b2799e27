"""Requests with a given mechanism, of which every other argument is checked here or by the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel import _core_calls
from dpsel._arguments import as_count, as_int, is_one_of, type_name
from dpsel._request._columns import NamedColumns
from dpsel._request._lists import NO_LISTS, PublicLists
from dpsel._request._request import Request, request_of
from dpsel.accounting import ZCDP, ApproxDP, PureDP
from dpsel.accounting._privacy import paid_alike
from dpsel.exceptions import InvalidParameterError
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from dpsel.accounting import Counts, Privacy, PublishedCounts, Quantile, Rest
    from dpsel.mechanisms import SelectionMechanism, TopKMechanism

__all__ = ["named_columns", "priced", "selection_request", "top_k_request"]

#: The limit of the core, whose type is unsigned.
_LARGEST_K = 10_000_000


def selection_request(
    privacy: Privacy,
    max_items_per_user: int,
    mechanism: SelectionMechanism,
    *,
    columns: NamedColumns | None = None,
    ngrams: dict[str, Any] | None = None,
    levels: dict[str, str] | str | None = None,
    with_weights: bool = False,
    min_users: int = 1,
    counts: Counts | None = None,
    rest: Rest | None = None,
    quantile: Quantile | None = None,
    lists: PublicLists = NO_LISTS,
    chosen: str | None = None,
) -> Request[SelectionMechanism]:
    """Return the request of a selection."""
    parameters = {
        "columns": named_columns(columns or NamedColumns(), ngrams, levels),
        "max_items_per_user": max_items_per_user,
        "with_weights": with_weights,
        **lists.stamps(),
    }
    if min_users != 1:
        parameters["min_users"] = min_users
    if counts is not None:
        parameters["counts"] = counts.to_json(max_items_per_user)
    if rest is not None:
        parameters["rest"] = rest.to_json()
    if quantile is not None:
        parameters["quantile"] = quantile.to_json()
    return request_of(
        "select",
        privacy,
        mechanism,
        parameters,
        chosen=chosen,
        public_table=mechanism.public_table(),
        lists=lists,
    )


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
    columns: NamedColumns | None = None,
    ngrams: dict[str, Any] | None = None,
    chosen: str | None = None,
    public_table: list[tuple[int, Any]] | None = None,
) -> Request[TopKMechanism]:
    """Return the request of a top-k: of rows if there are columns, otherwise of counts."""
    if not is_one_of(neighbours, "add_remove", "swap", "any"):
        given: object = neighbours
        shown = quoted(given) if isinstance(given, str) else type_name(given)
        raise InvalidParameterError(
            f'neighbours must be "add_remove", "swap" or (for counts) "any", got {shown}; '
            "most guarantees are stated for adding or removing a user"
        )
    number = as_int("k", k)
    if not 1 <= number <= _LARGEST_K:
        raise InvalidParameterError(
            f"k must be between 1 and 10,000,000, got {number}; it is the number of items that you want"
        )
    if bound is not None:
        _core_calls.validate(max_items_per_user=bound)
    parameters = {
        "k": number,
        "neighbours": neighbours,
        "sensitivity": as_count("sensitivity", sensitivity),
        "max_items_per_user": bound,
        "domain": domain or {"kind": "unknown" if mechanism.finds_domain else "listed"},
        "counts": _published(counts, privacy),
    }
    if columns is not None:
        parameters["columns"] = named_columns(columns, ngrams)
    return request_of("top_k", privacy, mechanism, parameters, chosen=chosen, public_table=public_table)


def named_columns(
    columns: NamedColumns,
    ngrams: dict[str, Any] | None = None,
    levels: dict[str, str] | str | None = None,
) -> dict[str, Any]:
    """Return the columns of a request."""
    named = columns.to_json()
    if ngrams is not None:
        named["ngrams"] = ngrams
    if levels is not None:
        named["levels"] = levels
    return named


def _published(counts: object, privacy: Privacy) -> dict[str, Any]:
    if counts is None:
        return {"kind": "none"}
    if isinstance(counts, str) and counts == "free":
        return {"kind": "free"}
    if isinstance(counts, PureDP | ApproxDP | ZCDP):
        stated = paid_alike(counts, privacy).to_json()
        if isinstance(counts, PureDP):
            return {"kind": "laplace", "epsilon": stated["epsilon"]}
        return {"kind": "noise", "privacy": stated}
    raise InvalidParameterError(
        f'counts must be None, "free" or PureDP, ApproxDP or ZCDP, got {type_name(counts)}; '
        "noisy counts have a budget of their own"
    )


def priced(counts: PublishedCounts) -> Privacy | None:
    """Return what published counts cost on top of the items."""
    return None if counts is None or isinstance(counts, str) else counts
