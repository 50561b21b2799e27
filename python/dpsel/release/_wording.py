"""The contents of a report in words and in units of weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dpsel.exceptions import ReportError
from dpsel.mechanisms._base import class_name, is_usual
from dpsel.mechanisms._matching_or import SHORT

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "as_it_ran",
    "chosen_mechanism",
    "counted_column",
    "describe",
    "describe_guarantee",
    "describe_kept",
    "describe_limit",
    "describe_mechanism",
    "found_lists",
    "has_guarantee",
    "limit_of",
    "mechanism_as_code",
    "notation",
    "numbers_of",
    "quantity",
    "readable",
    "rounds_of",
]

#: Weights and thresholds are integers in the core: multiples of the grid step 2^-30 of a unit of weight.
_STEPS_PER_UNIT: Final = 1 << 30


def readable(stage: dict[str, Any]) -> dict[str, Any]:
    """Return a round of a calibration in units of weight.

    A round of ``Steered`` before the last one has no threshold. The last one has the scale of the noise in
    the cumulative score.
    """
    if "curve" in stage:
        # A curve has no noise and no scale. Its threshold is the weight of even odds.
        return {
            "weighting": stage["weighting"],
            "noise": "none",
            "scale": None,
            "threshold": stage["half"] / _STEPS_PER_UNIT,
        }
    if "rate_above" in stage:
        # The noise of a ranking round has two rates in place of a scale, and nothing is released by it.
        return {"weighting": stage["weighting"], "noise": "geometric", "scale": None, "threshold": None}
    publish = stage.get("publish") or {}
    noise = publish.get("score_noise", stage["noise"])
    threshold = publish.get("threshold", stage.get("threshold"))
    return {
        "weighting": stage["weighting"],
        "noise": noise["kind"],
        "scale": noise["sigma"] if noise["kind"] == "gaussian" else noise["scale"],
        "threshold": None if threshold is None else threshold / _STEPS_PER_UNIT,
    }


def rounds_of(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rounds of a report in units of weight; a top-k has none."""
    if report["task"] == "top_k":
        return []
    return [readable(each) for each in report["calibration"]["rounds"]]


def numbers_of(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a report says of noisy numbers, or ``None`` without them.

    Raises:
        ReportError: If its request and its calibration do not agree.
    """
    if report["task"] == "top_k":
        return _numbers_of_top_k(report)
    counts, asked = report["calibration"].get("counts"), report["request"].get("counts")
    if counts is None and asked is None:
        return None
    if not counts or not asked or "sigma" not in counts["noise"]:
        raise ReportError("its request and its calibration do not agree about its numbers")
    return _numbers(counts, counted_column(report["request"]), nonnegative=asked["nonnegative"])


def _numbers_of_top_k(report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the same of a top-k that publishes the noisy numbers that it sorts."""
    counts = report["calibration"].get("discovery", {}).get("counts")
    is_published = report["request"].get("counts", {}).get("kind") == "free"
    return _numbers(counts, "count", nonnegative=False) if counts and is_published else None


def _numbers(counts: Mapping[str, Any], column: str | None, *, nonnegative: bool) -> dict[str, Any]:
    return {
        "count": column,
        "scale": counts["noise"]["sigma"],
        "half_width": counts["half_width"],
        "max_counted_items": counts["max_counted_items"],
        "max_rows_per_item": counts.get("max_rows_per_item"),
        "nonnegative": nonnegative,
        "paid": counts["paid"],
    }


def as_it_ran(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request with the mechanism or limit that a look at the data chose, or the request itself."""
    request: dict[str, Any] = dict(report["request"])
    if "look" not in report:
        return request
    request.pop("quantile", None)
    found = {"mechanism": chosen_mechanism(report), "max_items_per_user": limit_of(report)}
    return request | found | {"privacy": report["look"]["rest"]}


def counted_column(request: Mapping[str, Any]) -> str | None:
    """Return the name of the column of noisy numbers that a request of a selection asks for, if any."""
    if not (asked := request.get("counts")):
        return None
    return "rows" if asked.get("max_rows_per_item") else "users"


def describe_limit(counts: Mapping[str, Any]) -> str:
    """Return which users count less than what they have, of the counts of a report."""
    items = f"{counts['max_counted_items']:,}"
    if counts["max_rows_per_item"] is None:
        return f"users with more than {items} of these items count less than 1 in each"
    rows = quantity(counts["max_rows_per_item"], "row")
    return f"of one user {rows} per item at most, and fewer where they exceed the norm of {items} such items"


def describe(report: Mapping[str, Any]) -> str:
    """Return mechanism and guarantee in one line."""
    return f"{describe_mechanism(report)}, {describe_guarantee(report)}"


def chosen_mechanism(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mechanism of a report, or the one that its look at the data chose."""
    mechanism: dict[str, Any] = report["request"]["mechanism"]
    lists = report["look"].get("lists") if "look" in report else None
    if lists is None:
        return mechanism
    return SHORT.to_json() if lists == "short" else dict(mechanism["otherwise"])


def found_lists(report: Mapping[str, Any]) -> str:
    """Return what a look found that chose the mechanism, and what it cost."""
    lists = "short" if report["look"]["lists"] == "short" else "not short"
    cost = 100 * report["request"]["mechanism"]["share"]
    return f"lists are {lists}, by a noisy look that cost {cost:.3g} % of epsilon"


def limit_of(report: Mapping[str, Any]) -> int | None:
    """Return the limit: as it was given, or as a look at the data found it; ``None`` without one."""
    given: int | None = report["request"].get("max_items_per_user")
    return report["look"].get("limit", given) if "look" in report else given


def items_kept(report: Mapping[str, Any]) -> int | None:
    """Return the most items of a user that count, with the mechanism that ran; ``None`` without a limit."""
    limit = limit_of(report)
    return None if limit is None else limit * int(chosen_mechanism(report).get("reach", 1))


def describe_kept(report: Mapping[str, Any]) -> str | None:
    """Return how many items of a user count at most, in words; ``None`` without a limit."""
    if (limit := limit_of(report)) is None:
        return None
    kept = items_kept(report) or limit
    product = "" if kept == limit else f" ({kept // limit} x {limit:,})"
    return f"{quantity(kept, 'item')}{product} per user at most"


def describe_mechanism(report: Mapping[str, Any]) -> str:
    """Return the mechanism as code."""
    return mechanism_as_code(report["request"]["mechanism"])


def mechanism_as_code(mechanism: Mapping[str, Any]) -> str:
    """Return a mechanism, as it stands in reports, as code."""
    fields = dict(mechanism)
    name = class_name(fields.pop("name"))
    if (order := fields.pop("order", None)) == "prior":
        fields["prior"] = order
    shown = [f"{key}={_short(key, value)}" for key, value in fields.items() if not is_usual(key, value)]
    return f"{name}({', '.join(shown)})"


def _short(key: str, value: object) -> str:
    if key == "prior":
        return "..."
    if isinstance(value, dict):
        return mechanism_as_code(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return repr(value)
    return f"{value:.6g}"


def has_guarantee(report: Mapping[str, Any]) -> bool:
    """Whether the mechanism has the guarantee; the published calibration of greedy has none."""
    return bool(report["request"]["mechanism"].get("calibration", "curve") == "curve")


def describe_guarantee(report: Mapping[str, Any]) -> str:
    """Return the guarantee in the usual notation, or that there is none."""
    asked = notation(report["request"]["privacy"])
    return asked if has_guarantee(report) else f"NOT PRIVATE: no guarantee (asked for {asked})"


def notation(privacy: Mapping[str, Any]) -> str:
    """Return a guarantee, as it stands in reports, in the usual notation."""
    fields = dict(privacy)
    kind = {"pure_dp": "DP", "approx_dp": "DP", "zcdp": "zCDP"}[fields.pop("kind")]
    return f"({', '.join(f'{key} = {value:.6g}' for key, value in fields.items())})-{kind}"


def quantity(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
