"""The audit of a top-k that ships: computed laws, and draws of the core."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, Final

from dpsel.accounting import ApproxDP, PureDP
from dpsel.auditing import _cases
from dpsel.auditing._counts_run import CLEAR
from dpsel.auditing._discovery_law import worst_of_both, worst_of_discovery, worst_of_picks
from dpsel.auditing._neighbours import crafted
from dpsel.auditing._sampling import CountSampler, DiscoverSampler, TopKSampler
from dpsel.auditing._search import falsify
from dpsel.auditing._sorted_counts import on_sorted_counts, worst_of_sorted_counts
from dpsel.auditing._top_k import K, worst_of_swaps, worst_of_top_k
from dpsel.auditing._verdicts import claim_of, exact, exact_top_k, sampled
from dpsel.mechanisms import SelectAndCount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpsel.auditing._cases import Case
    from dpsel.auditing._findings import Finding
    from dpsel.auditing._sampling import Sampler
    from dpsel.auditing._search import Claim, Effort, LowerBounds

__all__ = ["audit_top_k"]

#: The search proposes the same tables in every run; the samples are fresh.
_SEED: Final = 1
#: Mechanisms that may publish the noisy counts that they go by.
_PUBLISH: Final = {"gamma", "laplace_top_k"}
#: Shares of ``Discover`` with which one of its parts needs nearly the whole claim.
_PICKS: Final = 0.1
_FINDS: Final = 0.99
#: A claim of which the selection needs most, and all if it got a budget that is too large by 1.3.
_FOUND: Final = ApproxDP(epsilon=8.0, delta=1e-4)
#: At a small delta, the ends of both laws show most of what they need; and a limit far above one item.
_ENDS: Final = ApproxDP(epsilon=1.0, delta=1e-8)
_ENDS_BOUND: Final = 100
#: A count that no noise of an audit reaches.
_BEYOND: Final = 200


def audit_top_k(
    case: Case, privacy: Any, bound: int | None, kinds: dict[str, Effort], alpha: float
) -> Iterator[Finding]:
    """Return the findings of one top-k."""
    if case.mechanism.name == "discover":
        yield from _of_discovery(case, privacy, bound, kinds["calls"], alpha)
        return
    if isinstance(case.mechanism, SelectAndCount):
        yield from _of_sorted_counts(case, privacy, bound, kinds["rows"].test, alpha)
        return
    usual, loose = _cases.budgets(case, privacy)
    yield from _computed(case, usual, bound)
    claim = claim_of(loose)
    if case.mechanism.name in _PUBLISH and (bound or K) <= K:
        counts = CountSampler(case.mechanism, loose, K, bound or K)
        # The user raises all counts that are published, as far as it may.
        pair = ([5, 5], [6, 6]) if bound != 1 else ([5, _BEYOND], [6, _BEYOND])
        shown = _draws(counts, [pair], claim, kinds["draws"], alpha)
        yield sampled(case.name, claim, shown, of="published counts")
        return
    k = _cases.picked(case, K)
    _, pairs = worst_of_top_k(case.mechanism, loose, claim.epsilon, claim.delta, bound, k=k)
    sampler = TopKSampler(case.mechanism, loose, k, bound)
    yield sampled(case.name, claim, _draws(sampler, pairs, claim, kinds["draws"], alpha))


def _computed(case: Case, privacy: Any, bound: int | None) -> Iterator[Finding]:
    claim = claim_of(privacy)
    law, _ = worst_of_top_k(case.mechanism, privacy, claim.epsilon, claim.delta, bound)
    if case.mechanism.name != "gamma":
        yield exact_top_k(case.name, claim, law)
        return
    # Published counts and replaced users need all of the claim; items alone do not.
    most = math.log((1 + math.exp(claim.epsilon)) / 2)
    note = f"for one user more or less the items alone need an epsilon of {most:.4g} at most"
    yield exact_top_k(case.name, claim, law, note=note)
    if isinstance(privacy, PureDP):
        law = worst_of_swaps(case.mechanism, privacy, claim.delta)
        yield exact_top_k(case.name, claim, law, neighbours="swap")


def _of_discovery(
    case: Case, privacy: Any, bound: int | None, effort: Effort, alpha: float
) -> Iterator[Finding]:
    """Return findings at the share itself, of both parts together, and at shares that leave most to one."""
    usual, loose = _cases.budgets(case, privacy)
    limit, claim = bound or _cases.LOOSE_BOUND, claim_of(loose)
    yield exact(case.name, claim, worst_of_discovery(case.mechanism, loose, K, limit))
    small = privacy or _ENDS
    yield exact(case.name, claim_of(small), worst_of_both(case.mechanism, small, bound or _ENDS_BOUND))
    for share, budget, worst in (
        (_PICKS, usual, worst_of_picks),
        (_FINDS, privacy or _FOUND, worst_of_discovery),
    ):
        law = worst(replace(case.mechanism, share=share), budget, K, bound or 1)
        law = replace(law, tables=f"{law.tables}, share {share:g}")
        yield exact(case.name, claim_of(budget), law)
    sampler = DiscoverSampler(case.mechanism, loose, K, limit)
    yield sampled(case.name, claim, _draws(sampler, crafted(limit, [12, 30]), claim, effort, alpha))


def _of_sorted_counts(
    case: Case, privacy: Any, bound: int | None, rows: int, alpha: float
) -> Iterator[Finding]:
    """Return findings of items and counts together, which are published for nothing."""
    usual, _ = _cases.budgets(case, privacy)
    law = worst_of_sorted_counts(case.mechanism, usual, bound or _cases.USUAL_BOUND)
    yield exact(case.name, claim_of(usual), law)
    attack = on_sorted_counts(case.mechanism, privacy or CLEAR)
    yield sampled(case.name, attack.claim, attack.run(rows, alpha))


def _draws(sampler: Sampler, tables: list[Any], claim: Claim, effort: Effort, alpha: float) -> LowerBounds:
    return falsify(sampler, tables, claim, effort, alpha=alpha, random=Random(_SEED))  # noqa: S311 - not noise
