"""What a release of nothing can mean: public facts only, of the parameters and of no data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dpsel import _core_calls
from dpsel.release._wording import as_it_ran

if TYPE_CHECKING:
    from dpsel.release._report import Report

__all__ = ["no_items", "no_picks"]


def no_items(report: Report) -> list[str]:
    """Return the lines for a selection that released nothing: what an item needs, and what to ask."""
    needed = _core_calls.users_needed(json.dumps({"task": "select"} | as_it_ran(report)), 1, [0.5])[0]
    users = "more than 2^32" if needed is None else f"about {needed:,}"
    least = f"nothing came out: an item of {users} users who hold nothing else does half of the time"
    return [
        f"{least}, and one of users with more items needs more of them",
        _swapped(report["request"]),
        "dpsel.explain(release) shows what an item would have needed, and what would change that",
    ]


def no_picks(report: Report) -> list[str]:
    """Return the lines for a top-k that picked nothing."""
    request = report["request"]
    lines = ["nothing was picked: without domain= an item needs enough users to be found"]
    return [*lines, _swapped(request)] if request.get("columns") else lines


def _swapped(request: dict[str, Any]) -> str:
    """Return the question whether users and items are in each other's place, which happens most."""
    columns = request["columns"]
    user, items = columns["user"], columns["items"]
    names = ", ".join([user] if isinstance(user, str) else user), ", ".join(items)
    return (
        f"are users and items swapped? user={names[0]} is who is protected, and item={names[1]} is what "
        "comes out; in pairs the user comes first"
    )
