"""The audit of what ships, from arguments to a report."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import at_least_one
from dpsel._request import selection_request
from dpsel.accounting import ApproxDP, PureDP, checked_privacy
from dpsel.auditing import _cases
from dpsel.auditing._counts_run import audit_counts
from dpsel.auditing._exact import cutoff_of, worst_of_selection
from dpsel.auditing._findings import AuditReport, Finding, checked_chance
from dpsel.auditing._looks import audit_look, law_of_choice
from dpsel.auditing._neighbours import crafted, crowd, varied
from dpsel.auditing._published_scores import worst_of_scored
from dpsel.auditing._sampling import SelectSampler, looks
from dpsel.auditing._score_attacks import attacks
from dpsel.auditing._scored import is_scored
from dpsel.auditing._search import Effort, falsify
from dpsel.auditing._series import audit_series
from dpsel.auditing._top_k_run import audit_top_k
from dpsel.auditing._tree_attacks import audit_trees, cases_of_trees, checked_levels
from dpsel.auditing._verdicts import claim_of, exact, sampled
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms import MatchingOr
from dpsel.mechanisms._base import item_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpsel.auditing._cases import Case
    from dpsel.auditing._exact import Needed
    from dpsel.auditing._search import Claim
    from dpsel.mechanisms import SelectionMechanism

#: The effort: rows of a selection, of a selection with scores, draws of a top-k, calls on a whole table.
_EFFORTS: Final = {
    "quick": {
        "rows": Effort(screen=9_000, climbs=4, test=200_000, tested=2),
        "scores": Effort(screen=0, climbs=0, test=1_000_000, tested=0),
        "draws": Effort(screen=600, climbs=0, test=8_000, tested=1),
        "calls": Effort(screen=60, climbs=0, test=600, tested=1),
    },
    "thorough": {
        "rows": Effort(screen=120_000, climbs=60, test=3_000_000, tested=4),
        "scores": Effort(screen=0, climbs=60, test=10_000_000, tested=0),
        "draws": Effort(screen=4_000, climbs=0, test=150_000, tested=3),
        "calls": Effort(screen=600, climbs=30, test=15_000, tested=2),
    },
}
#: The search proposes the same tables in every run; the samples are fresh.
_SEED: Final = 1
#: The part of a claim that an exact law should need somewhere.
_SHARP: Final = 0.8


def run(
    chosen: tuple[Any, ...],
    *,
    privacy: Any,
    max_items_per_user: int | None,
    levels: Any,
    effort: str,
    false_alarm: float,
    progress: Callable[[str], None] | None,
) -> AuditReport:
    """Audit the mechanisms of dpsel."""
    kinds = _kinds(effort)
    alpha = checked_chance(false_alarm)
    bound = None if max_items_per_user is None else at_least_one("max_items_per_user", max_items_per_user)
    claimed, high = None if privacy is None else _testable(privacy), checked_levels(levels)
    cases = _cases.cases_named(chosen) if chosen else _cases.with_guarantee(claimed)
    if high is not None:
        cases = cases_of_trees(cases, named=bool(chosen))
    found: list[Finding] = []
    for case in cases:
        if progress:
            progress(case.name)
        part = alpha / len(cases)
        if high is not None:
            found += audit_trees(case, claimed, bound, high, kinds["scores"].test, part)
            continue
        if case.is_look:
            found.append(audit_look(case.mechanism, case.name, _of_look(claimed), kinds["draws"], part))
            continue
        if case.is_counts:
            selections = [
                (each.name, each.mechanism)
                for each in _cases.every_case()
                if not (each.is_top_k or each.control)
            ]
            found += audit_counts(selections, claimed, bound, kinds["rows"].test, part)
            continue
        if case.is_series:
            found.append(audit_series(case.mechanism, claimed, bound, kinds["rows"].test, part))
            continue
        audited = audit_top_k if case.is_top_k else _audit_selection
        found += audited(case, claimed, bound, kinds, part)
    return AuditReport(tuple(found), alpha)


def _audit_selection(
    case: Case, privacy: Any, bound: int | None, kinds: dict[str, Effort], alpha: float
) -> Iterator[Finding]:
    usual, loose = _cases.budgets(case, privacy)
    single = case.mechanism.name == "one_item"
    limits = [1, 1] if single else [_cases.USUAL_BOUND, _cases.LOOSE_BOUND] if bound is None else [bound] * 2
    computed = None if case.is_published else _law(case.mechanism, usual, limits[0])
    if computed:
        claim = claim_of(usual)
        yield exact(case.name, claim, computed)
        if privacy is None and not _is_sharp(claim, computed):
            yield from _at_another_claim(case)
    if isinstance(case.mechanism, MatchingOr):
        alpha /= 2
        yield audit_look(case.mechanism, case.name, privacy, kinds["draws"], alpha)
    attacked = list(attacks(case.mechanism, privacy, bound)) if is_scored(case.mechanism) else []
    alpha /= 1 + len(attacked)
    for attack in attacked:
        yield sampled(case.name, attack.claim, attack.run(kinds["scores"].test, alpha))
    if attacked and not kinds["scores"].climbs:
        # Few samples without scores would show less.
        return
    limit, effort = limits[1], kinds["calls" if looks(case.mechanism) else "rows"].scaled(case.slowness)
    kept = item_bound(case.mechanism, limit)
    tables = crafted(kept, _levels(case, loose, limit, kept))
    overflowing = crowd(cutoff_of(case.mechanism, loose, limit) or 0, effort.test // 66)
    if case.is_published and overflowing:
        # The counterexample is known. It is large, and seen by many samples.
        tables, effort = [], replace(effort, climbs=0, test=5 * effort.test // 2, tested=1)
    shown = falsify(
        SelectSampler(case.mechanism, loose, limit),
        [*tables, *overflowing],
        claim_of(loose),
        effort,
        alpha=alpha,
        vary=lambda each, random: varied(each, random, kept),
        random=Random(_SEED),  # noqa: S311 - chooses tables, not noise
    )
    yield sampled(case.name, claim_of(loose), shown, control=case.control)


def _of_look(privacy: ApproxDP | PureDP | None) -> ApproxDP | None:
    """Refuse a pure budget: a quantile is for selections, which have none."""
    if isinstance(privacy, PureDP):
        raise InvalidParameterError(
            "privacy must be ApproxDP for the look of a quantile, got PureDP; give a delta as well"
        )
    return privacy


def _law(mechanism: SelectionMechanism, privacy: ApproxDP, bound: int) -> Needed | None:
    """Return what a computed law needs."""
    if isinstance(mechanism, MatchingOr):
        return law_of_choice(mechanism, privacy, lambda each, left: _law(each, left, bound))
    law = worst_of_scored if is_scored(mechanism) else worst_of_selection
    return law(mechanism, privacy, bound)


def _is_sharp(claim: Claim, law: Needed) -> bool:
    """Whether most of a claim is needed, so that a fault of a few tenths would be seen."""
    return law.epsilon >= _SHARP * claim.epsilon or law.delta >= _SHARP * claim.delta


def _at_another_claim(case: Case) -> Iterator[Finding]:
    """Return the law at the first claim of which it needs most; mechanisms of several rounds waste some."""
    for privacy in _cases.SHARPER:
        law = worst_of_selection(case.mechanism, privacy, 1)
        if law and _is_sharp(claim_of(privacy), law):
            yield exact(case.name, claim_of(privacy), law)
            return


def _levels(case: Case, privacy: Any, bound: int, kept: int) -> list[int]:
    """Return numbers of users at which items of one-item users, and of full ones, have even odds."""
    request = selection_request(privacy, bound, case.mechanism).json
    needed = [n for size in (1, kept) for n in _core_calls.users_needed(request, size, [0.1, 0.5, 0.9])]
    return sorted({max(1, n - 1) for n in needed if n is not None})


def _testable(privacy: Any) -> ApproxDP | PureDP:
    if isinstance(checked := checked_privacy(privacy), ApproxDP | PureDP):
        return checked
    raise InvalidParameterError(
        "privacy must be ApproxDP or PureDP for an audit; a ZCDP guarantee implies one, see to_approx_dp"
    )


def _kinds(effort: str) -> dict[str, Effort]:
    if effort not in _EFFORTS:
        raise InvalidParameterError(f'effort must be "quick" or "thorough", got {effort!r}')
    return _EFFORTS[effort]
