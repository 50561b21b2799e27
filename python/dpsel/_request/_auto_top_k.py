"""The mechanism of a top-k that ``"auto"`` chooses, from public parameters only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dpsel._request._given import given
from dpsel.accounting._privacy import of_json
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms import (
    Discover,
    GumbelPeel,
    Joint,
    JointSet,
    LimitDomain,
    SelectAndCount,
    TopKMechanism,
    top_k_mechanisms,
)

if TYPE_CHECKING:
    from dpsel.accounting import Privacy

#: Up to so many items picks are as good as sorted counts, which `benches/top_k_unknown.py` shows.
_FEW: Final = 10


def resolve(
    mechanism: TopKMechanism | str,
    privacy: Privacy,
    *,
    k: int,
    known: bool,
    ordered: bool,
    bounded: bool,
    counts: object = None,
) -> tuple[TopKMechanism, str | None]:
    """Return the mechanism and, if it was chosen here, the reason; public facts decide, never counts."""
    if (own := given(mechanism, top_k_mechanisms(), "a top-k mechanism")) is not None:
        if not ordered and own.ordered:
            raise InvalidParameterError(
                f"ordered=False asks for a set, but {type(own).__name__} makes a sequence; "
                "use JointSet, or leave ordered= out"
            )
        return own, None
    return (
        _choose_known(privacy, ordered=ordered)
        if known
        else _choose_unknown(privacy, ordered=ordered, bounded=bounded, sorts=_sorts(k, counts))
    )


def reasons(request: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return the mechanisms and reasons with which ``"auto"`` may answer the request of a report.

    A report says by its mechanism whether an order was asked for, so there may be one for each answer.
    """
    found = []
    for ordered in (True, False):
        try:
            chosen, reason = resolve(
                "auto",
                of_json(request["privacy"]),
                k=request["k"],
                known=request["domain"]["kind"] != "unknown",
                ordered=ordered,
                bounded=request["max_items_per_user"] is not None,
                counts=None if (kind := request["counts"]["kind"]) == "none" else kind,
            )
        except InvalidParameterError:
            continue  # there is no answer of this kind
        if reason is not None:
            found.append((chosen.to_json(), reason))
    return found


def _sorts(k: int, counts: object) -> bool:
    """Whether noisy counts are sorted, if an order is wanted: of many items, or to publish them."""
    return k > _FEW if counts is None else isinstance(counts, str) and counts == "free"


def _choose_unknown(
    privacy: Privacy, *, ordered: bool, bounded: bool, sorts: bool
) -> tuple[TopKMechanism, str]:
    if privacy.kind == "pure_dp":
        raise InvalidParameterError(
            "without domain= the items are secret, which needs a delta; "
            "use privacy=ApproxDP(epsilon=..., delta=...), or give domain= a public list"
        )
    if bounded and ordered and sorts:
        return (
            SelectAndCount(),
            "auto: nobody named the items and users are bounded; counts order many items best",
        )
    if bounded:
        return Discover(ordered=ordered), "auto: nobody named the items and users are bounded"
    if not ordered:
        raise InvalidParameterError(
            "ordered=False without domain= needs Discover, which needs bounded users; set max_items_per_user"
        )
    return LimitDomain(), "auto: nobody named the items and users may have any number of them"


def _choose_known(privacy: Privacy, *, ordered: bool) -> tuple[TopKMechanism, str]:
    if not ordered:
        return JointSet(), "auto: a set of public items; the joint mechanism over sets is the most accurate"
    if privacy.kind == "pure_dp":
        return Joint(), "auto: a sequence of public items under pure differential privacy"
    return (
        GumbelPeel(),
        "auto: a sequence of public items; peeling composes best outside of pure privacy",
    )
