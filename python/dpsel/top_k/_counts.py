"""``top_k_from_counts``: the k items with the largest counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel import _core_calls
from dpsel._arguments import as_flag, as_int, as_int_if_given, type_name
from dpsel._request import priced, top_k_request
from dpsel._request._auto_top_k import resolve
from dpsel.accounting import checked_privacy
from dpsel.budget._payment import begin_call
from dpsel.exceptions import InvalidParameterError
from dpsel.release import TopKRelease
from dpsel.top_k._labels import in_order_of_labels, with_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsel.accounting import Privacy
    from dpsel.mechanisms import TopKMechanism
    from dpsel.typing import NeighboursOfCounts, PublishedCounts

__all__ = ["top_k_from_counts"]


def top_k_from_counts(
    counts: Any,
    *,
    labels: Sequence[Any] | None = None,
    k: int,
    privacy: Privacy,
    mechanism: TopKMechanism | str = "auto",
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
            One of these comes back as ``None``. The listed items must be public all the same: a list of the
            items found in the data would itself tell whose items are missing.
        ordered: Whether the order of the items is wanted.
        publish_counts: As ``counts`` of [`select_top_k`][dpsel.select_top_k].
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
    bound = as_int_if_given("max_items_per_user", max_items_per_user)
    counts, labels = with_labels(counts, labels)
    ordered, finds = as_flag("ordered", ordered), getattr(mechanism, "finds_domain", False)
    chosen, reason = resolve(
        mechanism, privacy, k=as_int("k", k), known=not finds, ordered=ordered, bounded=bound is not None
    )
    if chosen.needs_rows:
        raise InvalidParameterError(
            f"{type(chosen).__name__} selects partitions, for which rows are needed, not counts; "
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
        domain=_domain(domain, finds=finds),
        chosen=reason,
    )
    numbers, names = in_order_of_labels(counts, labels)
    job = request.job(test_key=insecure_test_key)
    with begin_call(
        privacy, counts=priced(publish_counts), neighbours=neighbours, private=insecure_test_key is None
    ) as payment:
        positions, noisy, report = _core_calls.top_k_counts(numbers, job)
        items = [at if at is None or names is None else names[at] for at in positions]
        published = None if publish_counts is None else noisy
        release = TopKRelease.from_counts(items, published, report)
        payment.settle(release.report)
    return release


def _domain(domain: object, *, finds: bool) -> dict[str, Any]:
    if domain is None:
        return {"kind": "unknown" if finds else "listed"}
    if isinstance(domain, bool) or not hasattr(domain, "__index__"):
        raise InvalidParameterError(
            f"domain must be a number of items, got {type_name(domain)}; labels= names the items"
        )
    return {"kind": "sized", "items": max(0, as_int("domain", domain))}
