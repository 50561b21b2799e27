"""Plans of a top-k: budgets per round, and bounds of the loss."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import as_flag, as_int_if_given, at_least_one, several
from dpsel._request import top_k_request
from dpsel._request._auto_top_k import resolve
from dpsel._tables import Tabular
from dpsel.accounting import checked_privacy
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsel._request import Request
    from dpsel.accounting import Privacy
    from dpsel.mechanisms import TopKMechanism
    from dpsel.typing import NeighboursOfCounts, PublishedCounts

__all__ = ["TopKPlan", "plan_top_k"]

_PROBABILITIES: Final = (0.5, 0.95)
#: Discrete Laplace noise of a larger rate is 0 nearly always.
_NO_NOISE: Final = 700.0


def plan_top_k(
    *,
    privacy: Privacy,
    k: int | Sequence[int],
    items: int,
    mechanisms: TopKMechanism | str | Sequence[TopKMechanism | str] = "auto",
    ordered: bool = True,
    max_items_per_user: int | None = None,
    neighbours: NeighboursOfCounts = "add_remove",
    sensitivity: int = 1,
    counts: PublishedCounts = None,
) -> TopKPlan:
    """Return rounds, rates and bounds of the loss of a top-k, without data.

    Args:
        privacy: The guarantee.
        k: Number of items, or several to compare.
        items: Number of items in the domain.
        mechanisms: One or several; ``"auto"`` by default.
        ordered: For ``"auto"``: whether the order of the items is wanted.
        max_items_per_user: As for [`select_top_k`][dpsel.select_top_k].
        neighbours: As for [`top_k_from_counts`][dpsel.top_k_from_counts].
        sensitivity: As for [`top_k_from_counts`][dpsel.top_k_from_counts].
        counts: As for [`select_top_k`][dpsel.select_top_k], to see how much noise published counts have.

    Returns:
        One row for each k and mechanism.

    Raises:
        InvalidParameterError: If an argument is out of range, or a mechanism has no such guarantee.
        CalibrationError: If the budget is too small.

    Examples:
        >>> import dpsel
        >>> plan = dpsel.plan_top_k(
        ...     privacy=dpsel.PureDP(epsilon=1.0), k=[10, 100], items=10_000, mechanisms=dpsel.Joint()
        ... )
        >>> [row["rate"] for row in plan.rows]
        [0.5, 0.5]
        >>> plan.rows[0]["loss_95"] < plan.rows[1]["loss_95"]
        True
    """
    privacy = checked_privacy(privacy)
    number = at_least_one("items", items)
    bound = as_int_if_given("max_items_per_user", max_items_per_user)
    ordered = as_flag("ordered", ordered)
    rows = []
    for each in several(k):
        if at_least_one("k", each) > number:
            raise InvalidParameterError(
                f"k must be at most items, got k = {each} of {number}; items= is the number in the domain"
            )
        for mechanism in several(mechanisms):
            chosen, _ = resolve(
                mechanism, privacy, k=each, known=True, ordered=ordered, bounded=bound is not None
            )
            request = top_k_request(
                each,
                privacy,
                chosen,
                bound=bound,
                neighbours=neighbours,
                sensitivity=sensitivity,
                counts=counts,
            )
            rows.append(_row(at_least_one("k", each), request, number))
    return TopKPlan(privacy=privacy, _rows=tuple(rows))


def _row(k: int, request: Request[TopKMechanism], items: int) -> dict[str, Any]:
    calibration = request.calibrate()
    return {
        "mechanism": repr(request.mechanism),
        "k": k,
        "items": items,
        "rounds": calibration.get("rounds"),
        "rate": calibration.get("rate"),
        "threshold": calibration.get("threshold"),
        "counts_deviation": _deviation(calibration),
        **{f"loss_{p * 100:.0f}": _core_calls.top_k_loss(request.json, items, p) for p in _PROBABILITIES},
    }


def _deviation(calibration: dict[str, Any]) -> float | None:
    """Return the standard deviation of the noise on published counts, nearly."""
    if (sorted_counts := calibration.get("discovery", {}).get("counts")) is not None:
        return float(sorted_counts["noise"]["sigma"])
    if (square := calibration.get("counts_square_rate")) is not None:
        return math.sqrt(0.5 / square)
    if (rate := calibration.get("counts_rate")) is not None:
        return math.sqrt(0.5) / math.sinh(rate / 2) if rate < _NO_NOISE else 0.0
    return None


@dataclass(frozen=True, slots=True, repr=False)
class TopKPlan(Tabular):
    """What [`plan_top_k`][dpsel.plan_top_k] found: one row for each k and mechanism.

    Examples:
        >>> import dpsel
        >>> plan = dpsel.plan_top_k(privacy=dpsel.PureDP(epsilon=1.0), k=10, items=1000)
        >>> plan.rows[0]["mechanism"]
        'Joint()'
    """

    privacy: Privacy
    _rows: tuple[dict[str, Any], ...]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict per row.

        ``rounds`` draws share the budget, in each of which ``rate`` is lost in the exponent per user. With
        the probability in their name ``loss_50`` and ``loss_95`` bound by how many users the item at any
        place falls short of the true one at that place (for a set: by how many the worst item falls short
        of the best one left out); ``None`` where there is no such bound without data. ``threshold`` is how
        far above the last candidate an item must come where the domain is unknown. ``counts_deviation`` is
        about the standard deviation of the noise on published counts that have a budget of their own, or on
        those that are sorted: then nothing is drawn, and ``rounds`` and ``rate`` are ``None``.
        """
        return self._copies()

    def to_json(self) -> str:
        """Return the rows as JSON text."""
        return json.dumps({"privacy": self.privacy.to_json(), "rows": self._rows}, indent=2)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["mechanism", "k", "items", "rounds", "rate", "loss at 50%", "loss at 95%"]
        body = [
            [
                row["mechanism"],
                f"{row['k']:,}",
                f"{row['items']:,}",
                *("-" if row[name] is None else f"{row[name]:,.4g}" for name in ("rounds", "rate")),
                *("-" if row[name] is None else f"{row[name]:,.0f}" for name in ("loss_50", "loss_95")),
            ]
            for row in self._rows
        ]
        if any(row["counts_deviation"] is not None for row in self._rows):
            head.append("noise on counts")
            for line, row in zip(body, self._rows, strict=True):
                line.append(f"{row['counts_deviation']:.4g}")
        return head, body
