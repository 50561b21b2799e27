"""Everything that ships, with the budgets at which it is audited."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, Final

from dpsel.accounting import ApproxDP, Counts, PureDP, Quantile
from dpsel.auditing._series import AuditedSeries, is_series
from dpsel.exceptions import DpselWarning, InvalidParameterError
from dpsel.mechanisms import (
    GreedyFrequency,
    LimitDomain,
    Mechanism,
    TopKMechanism,
    selection_mechanisms,
    top_k_mechanisms,
)
from dpsel.mechanisms._base import planned

__all__ = ["Case", "cases_named", "every_case"]

#: A budget as people use it, for laws that can be computed.
USUAL: Final = ApproxDP(epsilon=1.0, delta=1e-6)
USUAL_BOUND: Final = 10
#: Claims of which some mechanisms need more than of the usual one.
SHARPER: Final = (
    ApproxDP(epsilon=1.0, delta=0.01),
    ApproxDP(epsilon=8.0, delta=0.01),
    ApproxDP(epsilon=16.0, delta=1e-6),
)
#: A delta that a few thousand samples can see.
LOOSE: Final = ApproxDP(epsilon=1.0, delta=0.02)
LOOSE_BOUND: Final = 4
#: The published cutoff of greedy by frequency is 1 - ln(2 delta) + 3 = 7.95 here: just below a whole number
#: of users, who then leave little for many items of nobody else.
OVERFLOWING: Final = ApproxDP(epsilon=1.0, delta=math.exp(-3.95) / 2)
#: Draws of a top-k tell an epsilon of this size from a larger one.
TOP_K_EPSILON: Final = 2.0
#: With one pick and a small delta, draws of ``LimitDomain`` need most of what it claims.
FEW_PICKS: Final = ApproxDP(epsilon=TOP_K_EPSILON, delta=0.001)


@dataclass(frozen=True, slots=True)
class Case:
    """A mechanism under a name; a control is known to be wrong."""

    name: str
    mechanism: Any
    control: bool = False

    @property
    def is_top_k(self) -> bool:
        """Whether it is a top-k."""
        return isinstance(self.mechanism, TopKMechanism)

    @property
    def is_look(self) -> bool:
        """Whether it is a limit from the data."""
        return isinstance(self.mechanism, Quantile)

    @property
    def is_counts(self) -> bool:
        """Whether it is numbers beside every selection."""
        return isinstance(self.mechanism, Counts)

    @property
    def is_series(self) -> bool:
        """Whether it is a series of releases."""
        return isinstance(self.mechanism, AuditedSeries)

    @property
    def is_published(self) -> bool:
        """Whether it is the published calibration of greedy by frequency."""
        return getattr(self.mechanism, "calibration", "") == "published"

    @property
    def slowness(self) -> int:
        """How many times slower it is than most."""
        return 4 if planned(self.mechanism).name == "steered" else 1


def _name(mechanism: Any) -> str:
    label: str = mechanism.name.replace("_", "-")
    if getattr(mechanism, "release", "noise") == "curve":
        label += "-curve"
    if getattr(mechanism, "screening", False):
        label += "-screening"
    # A choice has the reach of what it chooses, and no parameter of that name.
    if planned(mechanism) is mechanism and (reach := getattr(mechanism, "reach", 1)) > 1:
        label += f"-reach-{reach}"
    return label + ("-published" if getattr(mechanism, "calibration", "") == "published" else "")


def published() -> Case:
    """Return the published calibration of greedy by frequency, which guarantees nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DpselWarning)
        mechanism = GreedyFrequency(calibration="published")
    return Case(_name(mechanism), mechanism, control=True)


def every_case() -> list[Case]:
    """Return every mechanism with every way to release, and the control."""
    chosen: list[Any] = []
    for mechanism in (cls() for cls in selection_mechanisms().values()):
        chosen.append(mechanism)
        if hasattr(mechanism, "release"):
            chosen.append(_with_curve(mechanism))
        if hasattr(mechanism, "screening"):
            chosen.append(_with_screening(mechanism))
    chosen += [_few_candidates(cls()) for cls in top_k_mechanisms().values()]
    return [*(Case(_name(mechanism), mechanism) for mechanism in chosen), published()]


def _few_candidates(mechanism: TopKMechanism) -> TopKMechanism:
    # The tables of an audit have few items, so that their laws can be enumerated.
    return LimitDomain(candidates=2) if isinstance(mechanism, LimitDomain) else mechanism


def _with_curve(mechanism: Any) -> Any:
    # The usual ratio of rounds is another one then.
    return replace(mechanism, release="curve", **({"ratio": None} if hasattr(mechanism, "ratio") else {}))


def _with_screening(mechanism: Any) -> Any:
    return replace(mechanism, screening=True)


def with_guarantee(privacy: ApproxDP | PureDP | None) -> list[Case]:
    """Return every case that has a guarantee of this kind; items that nobody named need a delta."""
    if not isinstance(privacy, PureDP):
        return [*every_case(), look(), with_numbers(), *series()]
    return [case for case in every_case() if case.is_top_k and not case.mechanism.finds_domain]


def look() -> Case:
    """Return the look of a limit from the data, which is no mechanism."""
    return Case("quantile", Quantile(0.5))


def with_numbers() -> Case:
    """Return numbers of users or rows beside every selection."""
    return Case("counts", Counts())


def series() -> list[Case]:
    """Return a series of lists and one of numbers, which are no mechanisms either."""
    return [Case(plan.name, plan) for plan in (AuditedSeries.of_lists(), AuditedSeries.of_numbers())]


def cases_named(chosen: tuple[Any, ...]) -> list[Case]:
    """Return the cases for mechanisms, series and names; a mechanism's name stands for all ways to release.

    Raises:
        InvalidParameterError: If something is neither.
    """
    found: list[Case] = []
    for each in chosen:
        if isinstance(each, Mechanism):
            found.append(Case(_name(each), each))
            continue
        if is_series(each):
            plan = AuditedSeries.of(each)
            found.append(Case(plan.name, plan))
            continue
        known = [*every_case(), look(), with_numbers(), *series()]
        named = [replace(case, control=False) for case in known if case.name == each]
        family = [case for case in known if not case.control and _family(case) == each]
        if not named and not family:
            names = ", ".join(case.name for case in known)
            raise InvalidParameterError(f"there is nothing of that name to audit; use one of {names}")
        found += family or named
    return found


def _family(case: Case) -> str:
    if case.is_look or case.is_counts or case.is_series:
        return case.name
    family: str = case.mechanism.name.replace("_", "-")
    return family


def budgets(case: Case, privacy: Any) -> tuple[Any, Any]:
    """Return the budget for a computed law, and the one for samples."""
    if privacy is not None:
        return privacy, privacy
    if not case.is_top_k:
        return USUAL, OVERFLOWING if case.is_published else LOOSE
    if case.mechanism.name == "limit_domain":
        return USUAL, FEW_PICKS
    if case.mechanism.finds_domain:
        return USUAL, ApproxDP(epsilon=TOP_K_EPSILON, delta=0.02)
    return PureDP(epsilon=1.0), PureDP(epsilon=TOP_K_EPSILON)


def picked(case: Case, usual: int) -> int:
    """Return how many items are picked in samples."""
    return 1 if case.mechanism.name == "limit_domain" else usual
