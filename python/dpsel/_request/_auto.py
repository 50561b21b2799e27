"""The mechanism of a selection that ``"auto"`` chooses, from public parameters only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from dpsel._arguments import type_name
from dpsel._request._fixed import selection_request
from dpsel.accounting import ApproxDP
from dpsel.accounting._privacy import of_json
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms import (
    CountGaussian,
    CountLaplace,
    Mechanism,
    OneItem,
    SelectionMechanism,
    Sips,
    Steered,
    selection_mechanisms,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpsel.accounting import Privacy

__all__ = ["given", "reasons", "resolve"]

MechanismT = TypeVar("MechanismT", bound=Mechanism)


def resolve(
    mechanism: SelectionMechanism | Literal["auto"],
    privacy: Privacy,
    max_items_per_user: int,
    *,
    with_weights: bool = False,
) -> tuple[SelectionMechanism, str | None]:
    """Return the mechanism and, if it was chosen here, the reason as a sentence for the report.

    ``"auto"`` depends on public parameters only.
    """
    if (own := given(mechanism, selection_mechanisms(), "a mechanism")) is not None:
        return own, None
    return _choose(privacy, max_items_per_user, with_weights=with_weights)


def reasons(request: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return the mechanism and the reason for which ``"auto"`` answers the request of a report."""
    mechanism, reason = _choose(
        of_json(request["privacy"]), request["max_items_per_user"], with_weights=request["with_weights"]
    )
    return [(mechanism.to_json(), reason)]


def given(mechanism: object, known: Mapping[str, type[MechanismT]], noun: str) -> MechanismT | None:
    """Return a mechanism that was given, or ``None`` for ``"auto"``; refuse everything else."""
    for cls in known.values():
        if isinstance(mechanism, cls):
            return mechanism
    if isinstance(mechanism, str) and mechanism == "auto":
        return None
    names = ", ".join(f"{cls.__name__}()" for cls in known.values())
    raise InvalidParameterError(
        f"mechanism must be 'auto' or {noun}, got {type_name(mechanism)}; use one of {names}"
    )


#: The least limits at which `Steered` is chosen before `Sips`: before curves with a large and with a small
#: epsilon, and before noise. A curve is computed quickly from the last epsilon on. Decision note 0008 has the
#: comparisons.
_STEERED_BEFORE_CURVES: Final = 20
_STEERED_BEFORE_CURVES_IF_SMALL: Final = 10
_STEERED_BEFORE_NOISE: Final = 10
_SMALL_EPSILON: Final = 1.0
_LEAST_CURVE_EPSILON: Final = 0.1


def _choose(
    privacy: Privacy, max_items_per_user: int, *, with_weights: bool
) -> tuple[SelectionMechanism, str]:
    if max_items_per_user == 1 and with_weights:
        return _best_for_one_item(privacy)
    least = _steered_from(privacy, with_weights=with_weights)
    if max_items_per_user >= least:
        return Steered(), (
            f"auto: with a limit of {least} or more, weights that are steered to where they are needed "
            "typically release the most"
        )
    curve = _has_curve(privacy, with_weights=with_weights)
    if max_items_per_user == 1 and isinstance(privacy, ApproxDP) and not curve:
        return OneItem(), "auto: with one item per user and this epsilon, the optimal rule for one item"
    return Sips(release="curve" if curve else "noise"), (
        f"auto: with a limit below {least}, rounds in which a user's next items move up typically release "
        "the most; not where nearly all users own one item"
    )


def _steered_from(privacy: Privacy, *, with_weights: bool) -> int:
    """The least limit at which `Steered` is chosen."""
    if not (isinstance(privacy, ApproxDP) and _has_curve(privacy, with_weights=with_weights)):
        return _STEERED_BEFORE_NOISE
    small = privacy.epsilon <= _SMALL_EPSILON
    return _STEERED_BEFORE_CURVES_IF_SMALL if small else _STEERED_BEFORE_CURVES


def _has_curve(privacy: Privacy, *, with_weights: bool) -> bool:
    """Whether a release curve is possible, and quick to compute."""
    return isinstance(privacy, ApproxDP) and not with_weights and privacy.epsilon >= _LEAST_CURVE_EPSILON


def _best_for_one_item(privacy: Privacy) -> tuple[SelectionMechanism, str]:
    """With one item per user all weights are 1, so the lowest threshold is best."""
    # Laplace noise has no zCDP guarantee here.
    both: tuple[SelectionMechanism, ...] = (CountLaplace(), CountGaussian())
    candidates = both[1:] if privacy.kind == "zcdp" else both
    calibrations = [selection_request(privacy, 1, each).calibrate() for each in candidates]
    thresholds = [calibration["rounds"][0]["threshold"] for calibration in calibrations]
    best = candidates[thresholds.index(min(thresholds))]
    return best, "auto: with one item per user every weight is 1, and this noise has the lowest threshold"
