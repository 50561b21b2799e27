"""The mechanism of a series of numbers, as the core has it: its plan, one release, and its noise."""

from __future__ import annotations

import json
import math
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import as_int, type_name
from dpsel._request._lists import listed
from dpsel._request._request import as_pairs
from dpsel.exceptions import InvalidParameterError
from dpsel.quoting import quoted
from dpsel.series import _mechanism

if TYPE_CHECKING:
    from dpsel.series._folder import Attempt
    from dpsel.series._records import Header

__all__ = ["UNITS", "attempt", "differences", "half_width", "header_of"]

#: Who is protected: a user with all releases, or one release of a user.
UNITS: Final = ("user", "user-release")
#: The upper 2.5 % point of a standard normal.
_TWO_SIDED: Final = 1.959963984540055


def header_of(*fixed: Any, window: Any, max_releases_per_item: Any, unit: Any) -> Header:
    """Check the arguments of a series of numbers, and plan all of its releases."""
    counts = {
        "window": as_int("window", window),
        "max_releases_per_item": _releases_per_item(unit, max_releases_per_item),
        "unit": unit,
    }
    plan = partial(
        _core_calls.count_series_plan,
        window=counts["window"],
        max_releases_per_item=counts["max_releases_per_item"],
        is_of_one_release=unit == UNITS[1],
    )
    return _mechanism.header_of(plan, *fixed, counts=counts)


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


def attempt(header: Header, data: Any, items: Any, **settings: Any) -> Attempt:
    """Check what needs no row, and return what reads the rows and makes a release."""
    named = as_pairs(listed("items", items))
    return _mechanism.attempt(header, data, _core_calls.count_series_release, named, **settings)


def half_width(header: Header, number: int) -> float:
    """Return what is around a number of a release with 95 %, of an item that was named first."""
    plan = json.loads(header.plan)
    unit = plan["decode"][0]
    spread = plan["sigma"] * math.hypot(*(part / unit for part in plan["decode"][:number]))
    return float(_TWO_SIDED * spread + 0.5)


def differences(header: Header) -> list[str]:
    """Return whatever is not as the series promises."""
    counts = header.counts or {}
    more = counts | {"unit": counts["unit"].replace("-", "_")}
    return _mechanism.differences_of(header, _core_calls.count_series_check, **more)
