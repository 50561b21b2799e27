"""Requests as the core reads them, and calibrations without data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core
from dpsel._arguments import type_name
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsel.accounting import Privacy
    from dpsel.mechanisms import SelectionMechanism

__all__ = ["calibrate", "checked_privacy", "request_json"]

# Kept, because making one takes as long as encoding a request.
_ENCODER: Final = json.JSONEncoder(allow_nan=False)


def request_json(
    privacy: Privacy,
    max_items_per_user: int,
    mechanism: SelectionMechanism,
    *,
    user: str = "user",
    items: Sequence[str] = ("item",),
    ngrams: tuple[int, int] | None = None,
    with_weights: bool = False,
) -> str:
    """Return one call, apart from the data and the key, as JSON."""
    columns: dict[str, Any] = {"user": user, "items": list(items)}
    if ngrams is not None:
        columns["ngrams"] = {"min": ngrams[0], "max": ngrams[1]}
    request = {
        "columns": columns,
        "privacy": privacy.to_json(),
        "max_items_per_user": max_items_per_user,
        "mechanism": mechanism.to_json(),
        "with_weights": with_weights,
    }
    return _ENCODER.encode(request)


def calibrate(privacy: Privacy, max_items_per_user: int, mechanism: SelectionMechanism) -> dict[str, Any]:
    """Return the rounds of a calibrated mechanism."""
    request = request_json(privacy, max_items_per_user, mechanism)
    calibration: dict[str, Any] = json.loads(_core.calibrate(request))
    return calibration


def checked_privacy(privacy: object) -> Privacy:
    """Refuse what is no privacy parameter, such as a bare epsilon."""
    from dpsel.accounting import ZCDP, ApproxDP, PureDP

    if isinstance(privacy, PureDP | ApproxDP | ZCDP):
        return privacy
    raise InvalidParameterError(
        f"privacy must be ApproxDP, ZCDP or PureDP, got {type_name(privacy)}; "
        "write privacy=dpsel.ApproxDP(epsilon=..., delta=...)"
    )
