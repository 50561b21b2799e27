"""The mechanism of a series of numbers, as the core has it: its plan, one release, and its noise."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import as_int, type_name
from dpsel._request._lists import listed
from dpsel._request._request import as_pairs
from dpsel._request._selection import checked_limit
from dpsel.exceptions import InvalidParameterError
from dpsel.quoting import quoted
from dpsel.series import _mechanism
from dpsel.series._records import Header

if TYPE_CHECKING:
    from dpsel.series._folder import Attempt
    from dpsel.typing import FileFormat

__all__ = ["UNITS", "attempt", "differences", "half_width", "header_of"]

#: Who is protected: a user with all releases, or one release of a user.
UNITS: Final = ("user", "user-release")
#: The upper 2.5 % point of a standard normal.
_TWO_SIDED: Final = 1.959963984540055


def header_of(
    privacy: Any,
    releases: Any,
    window: Any,
    max_items_per_user: Any,
    max_releases_per_item: Any,
    unit: Any,
    user: Any,
    item: Any,
    *,
    identity: str,
    in_ledger: bool,
) -> Header:
    """Check the arguments of a series of numbers, and plan all of its releases."""
    stated, columns = _mechanism.budget_of(privacy).to_json(), _mechanism.fixed_columns(user, item)
    most, limit = as_int("releases", releases), checked_limit(max_items_per_user)
    counts = {
        "window": as_int("window", window),
        "max_releases_per_item": _releases_per_item(unit, max_releases_per_item),
        "unit": unit,
    }
    plan = _core_calls.count_series_plan(
        epsilon=stated.get("epsilon"),
        delta=stated["delta"],
        rho=stated.get("rho"),
        releases=most,
        window=counts["window"],
        max_items_per_user=limit,
        max_releases_per_item=counts["max_releases_per_item"],
        is_of_one_release=unit == UNITS[1],
    )
    return Header(
        identity=identity,
        privacy=stated,
        releases=most,
        max_items_per_user=limit,
        user=columns.users,
        item=columns.items,
        prompt=False,
        in_ledger=in_ledger,
        plan=plan,
        counts=counts,
    )


def _releases_per_item(unit: Any, given: Any) -> int:
    """Return the limit of releases, which only the unit ``"user"`` has."""
    if not isinstance(unit, str) or unit not in UNITS:
        shown = quoted(unit) if isinstance(unit, str) else type_name(unit)
        raise InvalidParameterError(f"unit must be 'user' or 'user-release', got {shown}; give one of these")
    if unit == UNITS[1]:
        if given is not None:
            raise InvalidParameterError(
                "max_releases_per_item must be left out with unit='user-release', which protects each "
                "release of a user by itself; leave it out, or give unit='user'"
            )
        return 1
    if given is None:
        raise InvalidParameterError(
            "max_releases_per_item must be given: the noise grows with it, and whoever comes more often "
            "counts no more; give the number of releases in which a user usually comes"
        )
    return as_int("max_releases_per_item", given)


def attempt(
    header: Header,
    data: Any,
    items: Any,
    *,
    threads: Any,
    memory_limit: Any,
    file_format: FileFormat | None,
) -> Attempt:
    """Check what needs no row, and return what reads the rows and makes a release."""
    named = as_pairs(listed("items", items))
    return _mechanism.attempt(
        header,
        data,
        _core_calls.count_series_release,
        named,
        threads=threads,
        memory_limit=memory_limit,
        file_format=file_format,
    )


def half_width(header: Header, number: int) -> float:
    """Return what is around a number of a release with 95 %, of an item that was named first."""
    plan = json.loads(header.plan)
    unit = plan["decode"][0]
    spread = plan["sigma"] * math.hypot(*(part / unit for part in plan["decode"][:number]))
    return float(_TWO_SIDED * spread + 0.5)


def differences(header: Header) -> list[str]:
    """Return whatever is not as the series promises."""
    counts = header.counts or {}
    asked = {
        "privacy": header.privacy,
        "releases": header.releases,
        "window": counts["window"],
        "max_items_per_user": header.max_items_per_user,
        "max_releases_per_item": counts["max_releases_per_item"],
        "unit": counts["unit"].replace("-", "_"),
    }
    if json.loads(header.plan)["asked"] != asked:
        return ["the plan is for other parameters"]
    return _mechanism.refusals(_core_calls.count_series_check, header.plan)
