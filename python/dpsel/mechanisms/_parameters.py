"""Checks of parameters that several mechanisms have."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from dpsel import _core_calls
from dpsel._arguments import as_number, is_one_of, type_name
from dpsel.exceptions import InvalidParameterError
from dpsel.quoting import quoted

ReleaseStep: TypeAlias = Literal["noise", "curve"]
"""How an item is released: by noise and a threshold, or by a release curve."""


def check_release(release: object) -> None:
    """Refuse a release step that does not exist."""
    if not is_one_of(release, "noise", "curve"):
        given = quoted(release) if isinstance(release, str) else type_name(release)
        raise InvalidParameterError(
            f'release must be "noise" or "curve", got {given}; "curve" releases more items, '
            '"noise" can publish noisy weights'
        )


def check_alpha(mechanism: Any) -> None:
    """Store the alpha of a frozen mechanism as a float, and check the ranges of all its parameters."""
    object.__setattr__(mechanism, "alpha", as_number("alpha", mechanism.alpha))
    _core_calls.validate(mechanism=mechanism.to_json())
