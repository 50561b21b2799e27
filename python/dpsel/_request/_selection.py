"""The request of a selection from the arguments of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel import _core_calls
from dpsel._arguments import as_count, as_flag, as_int, at_least_one
from dpsel._request._auto import resolve
from dpsel._request._columns import NamedColumns, levels_of, ngrams_of
from dpsel._request._lists import NO_LISTS, PublicLists
from dpsel._request._request import Request, as_json
from dpsel._request._task_requests import named_columns, selection_request
from dpsel.accounting import Quantile, checked_counts, checked_privacy, checked_rest

if TYPE_CHECKING:
    from dpsel.accounting import Privacy
    from dpsel.mechanisms import SelectionMechanism

__all__ = ["checked_limit", "count_request", "request_of_selection"]


def checked_limit(max_items_per_user: Any) -> int:
    """Return the limit as an int; refuse what is out of range."""
    limit = as_int("max_items_per_user", max_items_per_user)
    _core_calls.validate(max_items_per_user=limit)
    return limit


def request_of_selection(
    privacy: Privacy,
    max_items_per_user: int | Quantile,
    mechanism: SelectionMechanism | str,
    *,
    columns: NamedColumns | None = None,
    ngrams: object = None,
    tokenizer: object = None,
    levels: object = None,
    with_weights: object = False,
    beyond_memory: bool = False,
    min_users: Any = 1,
    counts: Any = None,
    rest: Any = None,
    lists: PublicLists = NO_LISTS,
) -> Request[SelectionMechanism]:
    """Check every argument, and replace ``"auto"`` by a mechanism."""
    privacy = checked_privacy(privacy)
    quantile = max_items_per_user if isinstance(max_items_per_user, Quantile) else None
    limit = checked_limit(max_items_per_user if quantile is None else quantile.most)
    weights = as_flag("with_weights", with_weights)
    least = as_count("min_users", at_least_one("min_users", min_users))
    asked, of_rest = checked_counts(counts), checked_rest(rest)
    words, tree = ngrams_of(ngrams, tokenizer), levels_of(levels, tokenizer)
    chosen, reason = resolve(
        mechanism,
        privacy,
        limit,
        with_weights=weights,
        may_look=quantile is None and tree is None and not beyond_memory,
        min_users=least,
        counts=asked,
        rest=of_rest,
    )
    return selection_request(
        privacy,
        limit,
        chosen,
        columns=columns,
        ngrams=words,
        levels=tree,
        with_weights=weights,
        min_users=least,
        counts=asked,
        rest=of_rest,
        quantile=quantile,
        lists=lists,
        chosen=reason,
    )


def count_request(columns: NamedColumns, ngrams: object, tokenizer: object = None) -> Request[None]:
    """Return a request to count users per item, exactly; for public data only."""
    fields = {"columns": named_columns(columns, ngrams_of(ngrams, tokenizer))}
    return Request("count", as_json("count", fields), None)
