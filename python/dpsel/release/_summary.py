"""A report in lines for people: what was protected, what it cost, what came out, and how to check it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel.accounting._cost import NEIGHBOURS
from dpsel.release._look import limit_within
from dpsel.release._rest import rest_lines
from dpsel.release._wording import (
    chosen_mechanism,
    describe_guarantee,
    describe_kept,
    describe_limit,
    describe_mechanism,
    found_lists,
    has_guarantee,
    limit_of,
    mechanism_as_code,
    notation,
    numbers_of,
    rounds_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpsel.accounting import Cost

__all__ = ["selection_lines", "selector", "stamp", "summary", "top_k_lines"]


def summary(report: Mapping[str, Any], cost: Cost | None) -> list[str]:
    """Return a report in lines; it costs nothing that a budget covers if it has no guarantee."""
    if report["task"] == "select":
        lines = [f"{stamp(report)}a selection by {selector(report)}", *selection_lines(report)]
    else:
        lines = [f"{stamp(report)}a top-k by {describe_mechanism(report)}", *top_k_lines(report, cost)]
    if cost is not None:
        counts = "" if cost.counts is None else f" and {notation(cost.counts.to_json())} for counts"
        # A paid call takes the float below what was written, where the float of that name is above it.
        paid = f"{notation(cost.items.to_json())}{counts}"
        lines.append(f"cost: {paid}, for {NEIGHBOURS[cost.neighbours]}")
    lines.append(f"made with dpsel {report['version']}, fingerprint {report['fingerprint']}")
    lines.append("dpsel.check(report) derives its numbers again, and to_json() has all of them")
    return lines


def stamp(report: Mapping[str, Any]) -> str:
    """Return the mark of a release that was made with a test key."""
    return "NOT PRIVATE (insecure_test_key): " if report["key"]["insecure_test_key"] else ""


def selector(report: Mapping[str, Any]) -> str:
    """Return the mechanism that selected, and what a look at the data chose."""
    mechanism, request = mechanism_as_code(chosen_mechanism(report)), report["request"]
    if (quantile := request.get("quantile")) is not None:
        found = f"a noisy {quantile['quantile']:g} quantile of users' numbers of items"
        return f"{mechanism}, limit {limit_of(report):,}: {found}"
    return mechanism if "look" not in report else f"{mechanism}: {found_lists(report)}"


def selection_lines(report: Mapping[str, Any]) -> list[str]:
    """Return the guarantee and the rule of a selection, and the noise of its numbers."""
    request = report["request"]
    guarantee = describe_guarantee(report)
    if has_guarantee(report):
        guarantee = f"guarantee: {guarantee} for one user added or removed"
    public = " that is not public" if "public_items" in request else ""
    least = f", at least {users:,} users per item{public}" if (users := request.get("min_users")) else ""
    lines = [f"{guarantee}, {describe_kept(report)}{least}", *_columns(request)]
    if "quantile" in request:
        lines.append(limit_within(report))
    lines.append(_rule(report))
    if (counts := numbers_of(report)) is not None:
        lines.append(
            f"{counts['count']}: noise of standard deviation {counts['scale']:.4g}, "
            f"within {counts['half_width']:.4g} with 95 %; {describe_limit(counts)}"
        )
    return [*lines, *rest_lines(report)]


def _rule(report: Mapping[str, Any]) -> str:
    rounds = [stage for stage in rounds_of(report) if stage["threshold"] is not None]
    if rounds and rounds[0]["noise"] == "none":
        odds = "; ".join(f"{stage['threshold']:.6g}" for stage in rounds)
        return f"released with a probability that grows with the weight, even odds at: {odds}"
    places = "; ".join(f"scale {stage['scale']:.6g}, threshold {stage['threshold']:.6g}" for stage in rounds)
    return f"released if the noisy weight reaches the threshold: {places}"


def top_k_lines(report: Mapping[str, Any], cost: Cost | None) -> list[str]:
    """Return the guarantee of a top-k, and the price of its counts."""
    kept = describe_kept(report)
    guarantee = f"guarantee: {describe_guarantee(report)} for {_relation(report['request'])}"
    lines = [f"{guarantee}, {kept}" if kept else guarantee, *_columns(report["request"])]
    if cost is not None and cost.counts is not None:
        price, total = (notation(each.to_json()) for each in (cost.counts, cost.total))
        lines.append(f"counts: {price} on top, {total} in all")
    return lines


def _columns(request: Mapping[str, Any]) -> list[str]:
    """Return who is protected and what is released, by the names of the columns, if there are any."""
    if (columns := request.get("columns")) is None:
        return []
    user = columns["user"] if isinstance(columns["user"], str) else ", ".join(columns["user"])
    return [f"protected: the user in {user}; released: {', '.join(columns['items'])}"]


def _relation(request: dict[str, Any]) -> str:
    """Return the neighbours in a few words."""
    most = request.get("sensitivity", 1)
    by = "" if most == 1 else f", who changes counts by at most {most:,} each"
    if request["neighbours"] == "any":
        return f"one user who changes counts by at most {most:,} each, up or down"
    return (
        "one user added or removed" if request["neighbours"] == "add_remove" else "one user replaced"
    ) + by
