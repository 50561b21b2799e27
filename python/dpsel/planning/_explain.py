"""Why few items came out: what an item needs, from public numbers alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel._arguments import type_name
from dpsel._request import request_of_selection
from dpsel._tables import Display, Tabular
from dpsel.accounting._counts import counts_of_json
from dpsel.accounting._privacy import of_json
from dpsel.exceptions import CalibrationError, InvalidParameterError
from dpsel.mechanisms import MatchingOr
from dpsel.mechanisms._base import item_bound
from dpsel.mechanisms._matching_or import SHORT
from dpsel.planning._selection import users_for
from dpsel.release import Report
from dpsel.release._wording import as_it_ran

if TYPE_CHECKING:
    from dpsel.accounting import Privacy
    from dpsel.release import Release

__all__ = ["Explanation", "explain"]

_LIMITS: Final = (1, 3, 10, 30, 100, 300)
_SMALLER: Final = (
    "a smaller limit asks for fewer users of an item, and yet often releases fewer items, since users keep "
    "fewer"
)


def explain(release: Release[Any] | Report) -> Explanation:
    """Return what an item would have needed to come out, without looking at the data.

    It reads the report alone: the budget, the limit and the mechanism. So it costs nothing, and may be read,
    and published, as often as one likes. It cannot know how many users the items have.

    Args:
        release: A release of a selection, or its report.

    Returns:
        The users that an item needs, as it was asked for and with one thing changed at a time.

    Raises:
        InvalidParameterError: If it is no selection.

    Examples:
        >>> import dpsel
        >>> release = dpsel.select_partitions(
        ...     [(user, "tea") for user in range(20)],
        ...     privacy=dpsel.ApproxDP(epsilon=0.5, delta=1e-8),
        ...     max_items_per_user=100,
        ... )
        >>> len(release)
        0
        >>> found = dpsel.explain(release)
        >>> found.rows[0]["change"], found.rows[0]["users_for_95"] > 20
        ('as it was', True)
        >>> min(row["users_for_95"] for row in found.rows) < found.rows[0]["users_for_95"]
        True
    """
    report = release if isinstance(release, Report) else getattr(release, "report", None)
    if not isinstance(report, Report) or report.task != "select":
        raise InvalidParameterError(
            f"release must be one of select_partitions, or its report, got {type_name(release)}; "
            "plan_top_k has bounds of the loss of a top-k"
        )
    short = report.get("look", {}).get("lists") == "short"
    rows = _rows(as_it_ran(report), report["request"], chosen="chosen" in report, short=short)
    return Explanation(tuple(rows))


def _rows(ran: dict[str, Any], request: dict[str, Any], *, chosen: bool, short: bool) -> list[dict[str, Any]]:
    privacy, limit = of_json(request["privacy"]), int(ran["max_items_per_user"])
    least, weights = request.get("min_users", 1), request["with_weights"]
    counts = counts_of_json(request)
    reach = ran["mechanism"].get("reach", 1)
    rows = [_row("as it was", json.dumps({"task": "select"} | ran), limit * reach)]

    def other(change: str, privacy: Privacy, limit: int, min_users: int = least) -> None:
        try:
            numbers: dict[str, Any] = {"with_weights": weights, "min_users": min_users, "counts": counts}
            made = request_of_selection(privacy, limit, "auto", **numbers)
            if short and isinstance(made.mechanism, MatchingOr):
                # The rows stay the same, and so does what the look found.
                made = request_of_selection(privacy, limit, SHORT, **numbers)
            rows.append(_row(change, made.json, item_bound(made.mechanism, limit)))
        except (CalibrationError, InvalidParameterError):
            return

    if not chosen:
        other("mechanism='auto'", privacy, limit)
    numbers = {name: value for name, value in privacy.to_json().items() if name != "kind"}
    loss = "rho" if "rho" in numbers else "epsilon"
    other(f"{loss} x 2", type(privacy)(**numbers | {loss: 2 * numbers[loss]}), limit)
    if "delta" in numbers and numbers["delta"] < 1e-3:  # noqa: PLR2004 - beyond it a guarantee is weak
        other("delta x 10", type(privacy)(**numbers | {"delta": 10 * numbers["delta"]}), limit)
    for smaller in [each for each in _LIMITS if each < limit][-3:]:
        other(f"max_items_per_user={smaller}", privacy, smaller)
    if counts is not None:
        rows.append(_without_counts(ran, limit * reach))
    if least > 1:
        other("without min_users", privacy, limit, 1)
    return rows


def _without_counts(ran: dict[str, Any], held: int) -> dict[str, Any]:
    fields = {name: value for name, value in ran.items() if name != "counts"}
    return _row("without counts", json.dumps({"task": "select"} | fields), held)


def _row(change: str, request: str, held: int) -> dict[str, Any]:
    one, most = users_for(request, 1), users_for(request, held)
    return {"change": change, "items_per_user": held, "users_for_95": most, "users_for_95_of_one_item": one}


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Tabular):
    """What [`explain`][dpsel.explain] found: one row as it was, and one for each change."""

    _rows: tuple[dict[str, Any], ...]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict per row.

        ``change``, ``items_per_user`` (the most that users keep), ``users_for_95`` (the users of so many
        items that an item needs to come out with 95 %), and ``users_for_95_of_one_item`` (the same if its
        users hold nothing else).
        """
        return self._copies()

    def _table(self) -> tuple[list[str], list[list[str]]]:
        head = ["change", "users of as many items as are kept", "users of this item alone"]
        body = [
            [row["change"], _shown(row["users_for_95"]), _shown(row["users_for_95_of_one_item"])]
            for row in self._rows
        ]
        return head, body

    def _display(self) -> Display:
        about = (
            "an item comes out with 95 % if so many users hold it (from public numbers alone; the data was "
            "not looked at):"
        )
        head, body = self._table()
        return Display([about], head, body, [_SMALLER])


def _shown(users: int | None) -> str:
    return "more than 2^32" if users is None else f"{users:,}"
