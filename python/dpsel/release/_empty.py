"""What a release of nothing can mean: public facts only, of the parameters and of no data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from dpsel import _core_calls
from dpsel.release._wording import as_it_ran

if TYPE_CHECKING:
    from dpsel.release._report import Report

__all__ = ["no_items", "no_picks"]

_LOOK: Final = "Do user= and item= name the right columns, in this order?"


def no_items(report: Report) -> str:
    """Return the lines for a selection that released nothing: the users that an item needs."""
    needed = _core_calls.users_needed(json.dumps({"task": "select"} | as_it_ran(report)), 1, [0.5])[0]
    users = "more than 2^32" if needed is None else f"about {needed:,}"
    return (
        f"nothing came out: an item of {users} users who hold nothing else does half of the time, and one of "
        "users with more items needs more of them\n"
        f"{_LOOK} A larger epsilon or a smaller max_items_per_user needs fewer users: see dpsel.plan"
    )


def no_picks() -> str:
    """Return the lines for a top-k that picked nothing."""
    return f"nothing was picked: without domain= an item needs enough users to be found\n{_LOOK}"
