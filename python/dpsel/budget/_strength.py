"""Warnings of guarantees that protect hardly anybody."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Final

from dpsel.exceptions import WeakGuaranteeWarning

if TYPE_CHECKING:
    from dpsel.accounting import Privacy

__all__ = ["warn_caller", "warn_if_weak"]

#: Above these a call warns. docs/guide/choosing-parameters.md has the reasons.
LARGEST_EPSILON: Final = 20.0
LARGEST_DELTA: Final = 1e-3
LARGEST_RHO: Final = 5.0

_PACKAGE: Final = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - pathlib takes longer to import


def warn_if_weak(total: Privacy) -> None:
    """Warn once, with every reason, if a guarantee means little."""
    if not (reasons := _reasons(total)):
        return
    message = f"this guarantee protects hardly anybody: {'; '.join(reasons)}"
    warn_caller(WeakGuaranteeWarning(message))


def warn_caller(warning: Warning) -> None:
    """Warn in the line of the caller; a closed standard error, where nobody reads it, is no failure."""
    try:
        warnings.warn(warning, stacklevel=_callers_level())
    except ValueError:
        if not getattr(sys.stderr, "closed", False):
            raise


def _reasons(total: Privacy) -> list[str]:
    values = total.to_json()
    reasons = []
    if (epsilon := values.get("epsilon", 0.0)) > LARGEST_EPSILON:
        reasons.append(
            f"epsilon = {epsilon:g} lets one user change probabilities by a factor of e^{epsilon:g}, and "
            f"above {LARGEST_EPSILON:g} a suspicion becomes near certainty; 1 is strong, 4 is usual"
        )
    if (rho := values.get("rho", 0.0)) > LARGEST_RHO:
        reasons.append(
            f"rho = {rho:g} is above {LARGEST_RHO:g}, about epsilon = {LARGEST_EPSILON:g} at delta = 1e-5; "
            "0.1 is strong, 0.5 is usual"
        )
    if (delta := values.get("delta", 0.0)) > LARGEST_DELTA:
        reasons.append(
            f"delta = {delta:g} is the chance that all of a user's rows get out, above one in "
            f"{1 / LARGEST_DELTA:,.0f}; choose it far below 1 / number of users"
        )
    return reasons


def _callers_level() -> int:
    """Return the level of the first frame outside of this package, where the parameters were chosen."""
    level, frame = 1, sys._getframe(1)  # noqa: SLF001 - what `warnings` itself does
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
