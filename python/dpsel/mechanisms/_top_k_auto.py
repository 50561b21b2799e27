"""What ``"auto"`` chooses for a top-k, from public parameters only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dpsel._arguments import type_name
from dpsel.cost import of_json
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms._base import TopKMechanism, top_k_mechanisms
from dpsel.mechanisms._exponential import GumbelPeel, Joint, JointSet
from dpsel.mechanisms._unknown_domain import Discover, LimitDomain

if TYPE_CHECKING:
    from dpsel.accounting import Privacy


def _is_auto(mechanism: object) -> bool:
    return isinstance(mechanism, str) and mechanism == "auto"


def resolve(
    mechanism: TopKMechanism | Literal["auto"],
    privacy: Privacy,
    *,
    known: bool,
    ordered: bool,
    bounded: bool,
) -> tuple[TopKMechanism, str | None]:
    """Return the mechanism and, if it was chosen here, the reason; public facts decide, never counts."""
    known_mechanisms = tuple(top_k_mechanisms().values())
    if isinstance(mechanism, known_mechanisms):
        if not ordered and mechanism.ordered:
            raise InvalidParameterError(
                f"ordered=False asks for a set, but {type(mechanism).__name__} makes a sequence; "
                "use JointSet, or leave ordered= out"
            )
        return mechanism, None
    if not _is_auto(mechanism):
        names = ", ".join(f"{cls.__name__}()" for cls in known_mechanisms)
        raise InvalidParameterError(
            f"mechanism must be 'auto' or a top-k mechanism, got {type_name(mechanism)}; use one of {names}"
        )
    return (
        _choose_known(privacy, ordered=ordered)
        if known
        else _choose_unknown(privacy, ordered=ordered, bounded=bounded)
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
                known=request["domain"]["kind"] != "unknown",
                ordered=ordered,
                bounded=request["max_items_per_user"] is not None,
            )
        except InvalidParameterError:
            continue  # there is no answer of this kind
        if reason is not None:
            found.append((chosen.to_json(), reason))
    return found


def _choose_unknown(privacy: Privacy, *, ordered: bool, bounded: bool) -> tuple[TopKMechanism, str]:
    if privacy.kind == "pure_dp":
        raise InvalidParameterError(
            "without domain= the items are secret, which needs a delta; "
            "use privacy=ApproxDP(epsilon=..., delta=...), or give domain= a public list"
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
