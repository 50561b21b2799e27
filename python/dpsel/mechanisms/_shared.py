"""What several mechanisms share: how they decide, and how they are written."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal, TypeAlias

from dpsel._arguments import as_number, type_name
from dpsel.exceptions import InvalidParameterError

ReleaseStep: TypeAlias = Literal["noise", "curve"]
"""How items are decided: noise and a threshold, or a release curve."""


def check_release(release: object) -> None:
    if release not in {"noise", "curve"}:
        given = repr(release) if isinstance(release, str) else type_name(release)
        raise InvalidParameterError(
            f'release must be "noise" or "curve", got {given}; "curve" releases more items, '
            '"noise" can publish noisy weights'
        )


def check_alpha(mechanism: Any, passes: int = 1) -> None:
    """Check the alpha of a frozen mechanism, and keep it as a float."""
    from dpsel import _core

    object.__setattr__(mechanism, "alpha", as_number("alpha", mechanism.alpha))
    _core.validate_policy(mechanism.alpha, passes)


def written(mechanism: Any) -> str:
    """Return the mechanism as code; how it releases is left out where that is as usual."""
    parameters = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    shown = [f"{key}={_shown(key, value)}" for key, value in parameters.items() if not is_usual(key, value)]
    return f"{type(mechanism).__name__}({', '.join(shown)})"


def _shown(key: str, value: object) -> str:
    return "..." if key == "prior" else repr(value)


def is_usual(key: str, value: object) -> bool:
    """Whether a parameter need not be written down."""
    return value is None or (key, value) in [("release", "noise"), ("calibration", "curve")]
