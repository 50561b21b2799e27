"""Findings of a computed law, and of lower bounds from samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel.accounting import ApproxDP, PureDP
from dpsel.auditing._exact import TOLERANCE
from dpsel.auditing._findings import Finding
from dpsel.auditing._neighbours import Neighbours
from dpsel.auditing._search import Claim

if TYPE_CHECKING:
    from dpsel.auditing._exact import Needed
    from dpsel.auditing._search import LowerBounds

__all__ = ["claim_of", "exact", "exact_top_k", "sampled"]

#: How far rounding may put a computed epsilon above the true one.
_ROUNDING = 1e-9


def claim_of(privacy: ApproxDP | PureDP) -> Claim:
    """Return a budget as two numbers."""
    return Claim(privacy.epsilon, privacy.delta if isinstance(privacy, ApproxDP) else 0.0)


def exact(subject: str, claim: Claim, law: Needed) -> Finding:
    """Return the finding of the law of a selection, which is judged by its delta."""
    wrong = law.delta > claim.delta * (1 + 1e-9) + TOLERANCE
    return Finding(subject, "exact", law.tables, claim.epsilon, claim.delta, law.epsilon, law.delta, wrong)


def exact_top_k(subject: str, claim: Claim, law: Needed, **more: Any) -> Finding:
    """Return the finding of the law of a top-k, which is judged by its epsilon."""
    wrong = law.epsilon > claim.epsilon + _ROUNDING
    needed = (law.epsilon, law.delta, wrong)
    return Finding(subject, "exact", law.tables, claim.epsilon, claim.delta, *needed, **more)


def sampled(
    subject: str, claim: Claim, shown: LowerBounds, *, control: bool = False, of: str = "counts"
) -> Finding:
    """Return the finding of lower bounds; ``of`` says what was looked at, if the tables are counts."""
    tables = shown.tables
    named = tables.name if isinstance(tables, Neighbours) else " and ".join(f"{of} {each}" for each in tables)
    return Finding(
        subject,
        "sampled",
        named,
        claim.epsilon,
        claim.delta,
        shown.epsilon,
        shown.delta,
        shown.refutes(claim),
        shown.samples,
        control,
    )
