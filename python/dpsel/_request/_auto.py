"""The mechanism of a selection that ``"auto"`` chooses, from public parameters only."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from dpsel._request._given import given
from dpsel._request._task_requests import selection_request
from dpsel.accounting import ApproxDP, counts_of_json, rest_of_json
from dpsel.accounting._privacy import of_json
from dpsel.exceptions import CalibrationError, InvalidParameterError
from dpsel.mechanisms import (
    CountGaussian,
    CountLaplace,
    MatchingOr,
    SelectionMechanism,
    Sips,
    Steered,
    selection_mechanisms,
)
from dpsel.mechanisms._matching_or import SHORT

if TYPE_CHECKING:
    from dpsel.accounting import Counts, Privacy, Rest

__all__ = ["reasons", "resolve"]


def resolve(
    mechanism: SelectionMechanism | str,
    privacy: Privacy,
    max_items_per_user: int,
    *,
    with_weights: bool = False,
    may_look: bool = True,
    min_users: int = 1,
    counts: Counts | None = None,
    rest: Rest | None = None,
) -> tuple[SelectionMechanism, str | None]:
    """Return the mechanism and, if it was chosen here, the reason as a sentence for the report.

    ``"auto"`` depends on public parameters only. Nothing may look at the data first if the limit comes from
    the data already, for nodes of a tree, and where rows may exceed the memory, which `Matching` needs.
    """
    if (own := given(mechanism, selection_mechanisms(), "a mechanism")) is not None:
        return own, None
    if privacy.kind == "pure_dp":
        # The core says so too, in the name of a mechanism that nobody wrote.
        raise InvalidParameterError(
            "a selection finds items that nobody named in advance; that needs delta > 0, PureDP has none; "
            "use ApproxDP(epsilon=..., delta=...)"
        )
    if min_users > 1:
        return _best_counts(privacy, max_items_per_user, counts, rest, _COUNTS_FOR_MIN_USERS)
    # By the numbers: a guarantee may carry the payment of a budget, which nothing should keep.
    numbers = tuple(privacy.to_json().items())
    return _chosen_once(
        numbers,
        max_items_per_user,
        may_look=may_look,
        with_weights=with_weights,
        counts=counts,
        rest=rest,
    )


@lru_cache(maxsize=64)
def _chosen_once(
    numbers: tuple[tuple[str, Any], ...],
    limit: int,
    *,
    may_look: bool,
    with_weights: bool,
    counts: Counts | None,
    rest: Rest | None,
) -> tuple[SelectionMechanism, str]:
    privacy = of_json(dict(numbers))
    usual, reason = _choose(privacy, limit, with_weights=with_weights, counts=counts, rest=rest)
    if (
        not may_look
        or with_weights
        or not isinstance(privacy, ApproxDP)
        or not _is_worth_a_look(privacy, limit)
    ):
        return usual, reason
    looking = MatchingOr(otherwise=usual, share=_share_of_a_look(privacy))
    if not _is_possible(looking, privacy, limit, with_weights=False, counts=counts, rest=rest):
        return usual, reason
    cost = f"{100 * looking.share:.2g} % of epsilon"
    short = f"a noisy look, which costs {cost}, takes {SHORT!r} where lists are short"
    return looking, f"{reason}; {short}"


def reasons(request: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return the mechanisms and reasons with which ``"auto"`` may answer the request of a report.

    A report does not say whether rows might exceed the memory.
    """
    answers = [
        resolve(
            "auto",
            of_json(request["privacy"]),
            request["max_items_per_user"],
            with_weights=request["with_weights"],
            may_look=may_look,
            min_users=request.get("min_users", 1),
            counts=counts_of_json(request),
            rest=rest_of_json(request),
        )
        for may_look in ((False,) if _never_looks(request) else (True, False))
    ]
    return [(mechanism.to_json(), reason) for mechanism, reason in answers if reason is not None]


def _never_looks(request: dict[str, Any]) -> bool:
    return "quantile" in request or "levels" in request["columns"]


#: What `Steered` keeps of a user, in multiples of the limit: as many items as three rounds of `Sips` touch.
_REACH: Final = 3
#: Beyond this limit a reach brings next to nothing, and under zCDP the threshold grows with what users keep.
_MOST_WITH_REACH: Final = 1_000
#: For one item per user and a larger epsilon, curves are chosen before `Steered`. Decision note 0008 has the
#: comparisons.
_CURVES_ABOVE: Final = 1.5
#: Looks were compared for these epsilons; with less of it they tell little.
_LOOK_FROM: Final = 0.5
_LOOK_UP_TO: Final = 10.0
#: Below this limit the mechanism for short lists is not better on short lists.
_LOOK_AT: Final = 4
#: The part of epsilon that a look costs at an epsilon of 1. More pays where fewer items are released.
_LOOK_SHARE: Final = 0.005


def _is_worth_a_look(privacy: ApproxDP, limit: int) -> bool:
    """Return whether a look for short lists pays (decision note 0008)."""
    return limit >= _LOOK_AT and _LOOK_FROM <= privacy.epsilon <= _LOOK_UP_TO


def _share_of_a_look(privacy: ApproxDP) -> float:
    """Return the part of epsilon that a look costs, in hundredths of a per cent."""
    return round(_LOOK_SHARE / math.sqrt(privacy.epsilon), 4)


def _choose(
    privacy: Privacy, max_items_per_user: int, *, with_weights: bool, counts: Counts | None, rest: Rest | None
) -> tuple[SelectionMechanism, str]:
    if max_items_per_user == 1 and with_weights:
        return _best_counts(privacy, 1, counts, rest, _COUNTS_FOR_ONE_ITEM)
    # Curves have neither weights nor a guarantee in zCDP.
    rounds = Sips() if with_weights or not isinstance(privacy, ApproxDP) else Sips(release="curve")
    if max_items_per_user == 1 and isinstance(privacy, ApproxDP) and privacy.epsilon > _CURVES_ABOVE:
        return rounds, (
            f"auto: with a limit of 1 and an epsilon above {_CURVES_ABOVE:g}, rounds in which a user's next "
            "items move up typically release the most; not where nearly all users own one item"
        )
    steered = "auto: weights that are steered to where they are needed typically release the most"
    has_reach = max_items_per_user <= _MOST_WITH_REACH
    mechanism = Steered(reach=_REACH) if has_reach else Steered()
    if not _is_possible(
        mechanism, privacy, max_items_per_user, with_weights=with_weights, counts=counts, rest=rest
    ):
        return rounds, (
            "auto: at this epsilon and delta steered rounds need noise finer than 128 bits; rounds in "
            "which a user's next items move up do not"
        )
    if not has_reach:
        return mechanism, steered
    kept = f"users keep {_REACH} times the limit, as many items as {_REACH} rounds of Sips would weigh"
    return mechanism, f"{steered}; {kept}"


def _is_possible(
    mechanism: SelectionMechanism,
    privacy: Privacy,
    max_items_per_user: int,
    *,
    with_weights: bool,
    counts: Counts | None,
    rest: Rest | None,
) -> bool:
    """Return whether there is a calibration; a very large epsilon or a very small delta may have none."""
    try:
        request = selection_request(
            privacy, max_items_per_user, mechanism, with_weights=with_weights, counts=counts, rest=rest
        )
        request.calibrate()
    except CalibrationError:
        return False
    return True


_COUNTS_FOR_ONE_ITEM: Final = (
    "auto: with one item per user every weight is 1, and this noise has the lowest threshold"
)
_COUNTS_FOR_MIN_USERS: Final = (
    "auto: min_users lowers every weight by what so many users could have given, which costs least where "
    "each gives 1; of the noises on counts this has the lowest threshold"
)


def _best_counts(
    privacy: Privacy, limit: int, counts: Counts | None, rest: Rest | None, reason: str
) -> tuple[SelectionMechanism, str]:
    """Where all weights are 1 the lowest threshold is best."""
    # Laplace noise has no zCDP guarantee here.
    both: tuple[SelectionMechanism, ...] = (CountLaplace(), CountGaussian())
    candidates = both[1:] if privacy.kind == "zcdp" else both
    calibrations = [
        selection_request(privacy, limit, each, counts=counts, rest=rest).calibrate() for each in candidates
    ]
    thresholds = [calibration["rounds"][0]["threshold"] for calibration in calibrations]
    best = candidates[thresholds.index(min(thresholds))]
    return best, reason
